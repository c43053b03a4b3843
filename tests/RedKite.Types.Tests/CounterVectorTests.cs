using System.Text;
using RedKite.Dashboard.Tests;
using RedKite.Persistence.Rdb;
using RedKite.Persistence.Types;
using RedKite.Server.Diagnostics;
using RedKite.TestSupport;
using RedKite.Types.Tests.CounterVectors;

namespace RedKite.Types.Tests;

/// <summary>
/// A type that this project adds (<see cref="CounterVectorCommands.Add"/>) is found everywhere where the built-in types are. Each test has it in both
/// encodings: a short vector in its entry, and a long one of many blocks.
/// </summary>
public sealed class CounterVectorTests
{
    private const int PatienceMs = 60_000;
    private const int LongCount = 5_000; // 79 blocks
    private const string HugeLast = "99999"; // 1,563 blocks: more than one slice copies, frees or writes

    [Fact]
    public async Task Commands_know_the_type_and_refuse_others()
    {
        await using TypeServer server = await TypeServer.StartAsync();
        Assert.Equal("5", server.Run("CVADD", "short", "2", "5"));
        Assert.Equal("7", server.Run("CVADD", "short", "2", "2"));
        Assert.Equal("0", server.Run("CVGET", "short", "1"));
        Assert.Equal("(nil)", server.Run("CVGET", "short", "3"));
        Assert.Equal("(nil)", server.Run("CVGET", "missing", "0"));
        server.Run("SET", "string", "x");
        Assert.StartsWith("WRONGTYPE", server.Run("CVADD", "string", "0", "1"), StringComparison.Ordinal);
        Assert.StartsWith("WRONGTYPE", server.Run("LPUSH", "short", "x"), StringComparison.Ordinal);
        Assert.StartsWith("WRONGTYPE", server.Run("GET", "short"), StringComparison.Ordinal);
    }

    [Fact]
    public async Task Key_commands_know_the_type()
    {
        await using TypeServer server = await TypeServer.StartAsync();
        Fill(server);
        server.Run("SET", "string", "x");
        Assert.Equal("cvector", server.Run("TYPE", "short"));
        Assert.Equal("cvector", server.Run("TYPE", "long"));
        Assert.Equal("counters", server.Run("OBJECT", "ENCODING", "short"));
        Assert.Equal("counterblocks", server.Run("OBJECT", "ENCODING", "long"));
        Assert.Contains("encoding:counterblocks", server.Run("DEBUG", "OBJECT", "long"), StringComparison.Ordinal);
        Assert.Equal(["long", "short"], Scanned(server, "cvector"));
        Assert.Equal(["string"], Scanned(server, "string"));
        Assert.InRange(long.Parse(server.Run("MEMORY", "USAGE", "long"), System.Globalization.CultureInfo.InvariantCulture), LongCount * sizeof(long), LongCount * sizeof(long) * 5 / 4);
        Assert.InRange(long.Parse(server.Run("MEMORY", "USAGE", "short"), System.Globalization.CultureInfo.InvariantCulture), 16, 200);
    }

    [Fact]
    public async Task Values_are_copied_renamed_moved_and_freed()
    {
        await using TypeServer server = await TypeServer.StartAsync();
        long usedBefore = server.UsedBytes;
        Fill(server);
        server.Run("CVADD", "huge", HugeLast, "7");
        foreach (string key in (string[])["short", "long", "huge"])
        {
            string digest = server.DigestOf(key);
            Assert.Equal("1", server.Run("COPY", key, "copy"));
            Assert.Equal(digest, server.DigestOf("copy"));
            server.Run("CVADD", "copy", "0", "1");
            Assert.Equal(digest, server.DigestOf(key));
            Assert.NotEqual(digest, server.DigestOf("copy"));
            Assert.Equal("OK", server.Run("RENAME", key, "renamed"));
            Assert.Equal(digest, server.DigestOf("renamed"));
            Assert.Equal("1", server.Run("MOVE", "renamed", "1"));
            Assert.Equal("0", server.Run("EXISTS", "renamed"));
            server.Run("SELECT", "1");
            Assert.Equal(digest, server.DigestOf("renamed"));
            Assert.Equal("1", server.Run("UNLINK", "renamed"));
            server.Run("SELECT", "0");
            Assert.Equal("1", server.Run("DEL", "copy"));
        }

        Fill(server);
        server.Run("SET", "long", "replaced");
        Fill(server, "other");
        server.Run("FLUSHALL");
        server.WaitForMemory(usedBefore);
    }

    [Fact]
    public async Task Values_are_dumped_and_restored()
    {
        await using TypeServer server = await TypeServer.StartAsync();
        Fill(server);
        foreach (string key in (string[])["short", "long"])
        {
            byte[] payload = server.Dump(key);
            Assert.Equal((byte)RdbType.Module, payload[0]);
            Assert.Equal("OK", server.Restore("restored", payload));
            Assert.Equal(server.DigestOf(key), server.DigestOf("restored"));
            Assert.Equal(server.Run("OBJECT", "ENCODING", key), server.Run("OBJECT", "ENCODING", "restored"));
            byte[] cut = [.. payload[..^30], .. payload[^10..]];
            Assert.StartsWith("ERR", server.Restore("damaged", cut), StringComparison.Ordinal);
            Assert.Equal("0", server.Run("EXISTS", "damaged"));
        }
    }

    // A snapshot in the background, DEBUG RELOAD (saved with all stripes locked), and a start from the file.
    [Fact]
    public async Task Snapshots_have_the_values()
    {
        await using TypeServer server = await TypeServer.StartAsync();
        Fill(server);
        server.Run("CVADD", "huge", HugeLast, "7");
        string digest = server.Digest;
        Assert.Equal("OK", server.Run("DEBUG", "RELOAD"));
        Assert.Equal(digest, server.Digest);
        await server.SaveWhileAsync(() =>
        {
            foreach (string key in (string[])["huge", "long", "short"]) server.Run("CVADD", key, "1", "1");
        });
    }

    [Theory]
    [InlineData("yes")]
    [InlineData("no")]
    public async Task Log_has_the_values(string preamble)
    {
        await using TypeServer server = await TypeServer.StartAsync("appendonly", "yes", "aof-use-rdb-preamble", preamble);
        Fill(server);
        server.Run("PEXPIRE", "short", "100000000");
        await server.RestartAsync();
        Assert.Equal("counterblocks", server.Run("OBJECT", "ENCODING", "long"));
        string digest = server.Digest;
        await server.RewriteLogAsync();
        string @base = Encoding.Latin1.GetString(File.ReadAllBytes(Directory.GetFiles(server.Folder, "*.base.*", SearchOption.AllDirectories).Single()));
        Assert.Equal(preamble == "yes", @base.StartsWith("REDIS", StringComparison.Ordinal));
        Assert.Equal(preamble == "no", @base.Contains("CVADD", StringComparison.Ordinal));
        Assert.Equal("OK", server.Run("DEBUG", "LOADAOF"));
        Assert.Equal(digest, server.Digest);
    }

    [Fact]
    public async Task Replicas_get_the_values()
    {
        await using TypeServer primary = await TypeServer.StartAsync("repl-diskless-sync-delay", "0");
        Fill(primary);
        await using TypeServer replica = await primary.StartReplicaAsync();
        primary.Run("CVADD", "long", "4999", "11");
        primary.Run("CVADD", "short", "0", "11");
        primary.WaitForReplica();
        Assert.Equal(primary.Digest, replica.Digest);
        Assert.Equal(primary.Run("CVGET", "long", "4999"), replica.Run("CVGET", "long", "4999"));
    }

    [Fact]
    public async Task Digest_does_not_depend_on_parts_or_encodings()
    {
        await using TypeServer server = await TypeServer.StartAsync();
        Fill(server);
        Assert.InRange(server.CheckDigestOfParts("long"), 100, LongCount);
    }

    [Fact]
    public async Task Defragmentation_moves_every_block_and_keeps_the_values()
    {
        await using TypeServer server = await TypeServer.StartAsync(guardsMemory: true, "loops", "1");
        Fill(server);
        for (int i = 0; i < 3; i++) server.MoveBlocks(80);
    }

    [Fact]
    public async Task Reports_have_the_type()
    {
        await using TypeServer server = await TypeServer.StartAsync("diagnostics", "yes", "key-survey-cpu-percent", "0"); // no walk has begun yet
        Fill(server);
        server.Run("CONFIG", "SET", "key-survey-cpu-percent", "100");
        Assert.Contains("db0_distrib_cvectors_items:4=1,4K=1", server.Run("INFO", "keysizes"), StringComparison.Ordinal);
        Assert.True(SpinWait.SpinUntil(() => server.Server.Diagnostics!.Survey.Latest?.Types[CounterVectorType.Instance.Number].Keys == 2, PatienceMs), "a survey has seen them");
        RespValue largest = server.Client.Run("BIGKEYS TYPE cvector").Items[0];
        Assert.Equal(["long", "cvector", "5000"], new[] { "key", "type", "size" }.Select(name => largest[name]!.Text));
        string report = Encoding.UTF8.GetString(server.Server.Reports!.Read("big-keys", TestContext.Current.CancellationToken)!);
        Assert.Contains("\"countervector\":{\"keys\":2", report, StringComparison.Ordinal);
        Assert.StartsWith("the key \"long\" (counter vector of 5,000 counters, ", new Culprits(server.Server.Parts, server.Server.Diagnostics!).LargestKey(), StringComparison.Ordinal);
    }

    [Fact]
    public async Task Page_shows_the_values()
    {
        await using PageServer page = await PageServer.StartAsync();
        page.Server.Execute("CVADD", "short", "2", "5");
        page.Server.Execute("CVADD", "short", "0", "9");
        Assert.Contains("""{"key":"short","database":0,"type":"cvector","ttl_ms":-1,"size":3}""", await page.Http.GetStringAsync("/api/keys?pattern=*", TestContext.Current.CancellationToken), StringComparison.Ordinal);
        Assert.Equal("""{"type":"cvector","size":3,"elements":["9"]}""", await page.Http.GetStringAsync("/api/keys/value?key=short", TestContext.Current.CancellationToken));
    }

    // The module's name is of a type that no one has added.
    [Fact]
    public async Task Value_of_an_unknown_type_is_refused_by_its_name()
    {
        await using TypeServer server = await TypeServer.StartAsync();
        Fill(server);
        server.Run("SAVE");
        string path = Path.Combine(server.Folder, "dump.rdb");
        await server.StopAsync();
        byte[] file = await File.ReadAllBytesAsync(path, TestContext.Current.CancellationToken);
        byte[] id = Id(RdbModule.IdOf(PersistedCounterVector.ModuleName)), other = Id(RdbModule.IdOf("no-module"));
        for (int at = file.AsSpan().IndexOf(id); at >= 0; at = file.AsSpan().IndexOf(id)) other.CopyTo(file, at);
        file.AsSpan(^8..).Clear(); // no checksum
        await File.WriteAllBytesAsync(path, file, TestContext.Current.CancellationToken);
        Exception refusal = await Assert.ThrowsAnyAsync<Exception>(server.StartAsync);
        Assert.Contains("data of the module 'no-module', which RedKite does not have", refusal.Message + server.Log, StringComparison.Ordinal);
    }

    [Fact]
    public void Types_with_a_name_or_an_id_that_is_taken_are_refused()
    {
        Assert.Throws<InvalidOperationException>(() => PersistedTypes.Add(new PersistedCounterVector()));
        Assert.Equal(RdbModule.VectorSet, RdbModule.IdOf("vectorset"));
        Assert.Equal(RdbModule.Array, RdbModule.IdOf("rkt-array"));
        Assert.Equal(RdbModule.ExpiringSet, RdbModule.IdOf("rkset-exp"));
        Assert.Equal(PersistedCounterVector.ModuleName, RdbModule.NameOf(RdbModule.IdOf(PersistedCounterVector.ModuleName, 1023)));
    }

    [Fact]
    public async Task Events_of_the_type_are_published()
    {
        await using TypeServer server = await TypeServer.StartAsync("notify-keyspace-events", "Kd");
        using RespConnection subscriber = RespConnection.Connect(server.Server.Port);
        subscriber.Run("SUBSCRIBE __keyspace@0__:short");
        server.Run("CVADD", "short", "0", "1");
        Assert.Equal("cvadd", subscriber.Read().Items[2].Text);
    }

    private static void Fill(TypeServer server, string suffix = "")
    {
        for (int i = 0; i < 7; i++) server.Run("CVADD", "short" + suffix, i.ToString(System.Globalization.CultureInfo.InvariantCulture), (i - 3).ToString(System.Globalization.CultureInfo.InvariantCulture));
        server.Run("CVADD", "long" + suffix, "3", "-9000000000000000000");
        server.Run("EVAL", "for i = 4, tonumber(ARGV[1]) - 1 do redis.call('CVADD', KEYS[1], i, i * 1000003) end", "1", "long" + suffix, LongCount.ToString(System.Globalization.CultureInfo.InvariantCulture));
    }

    private static List<string> Scanned(TypeServer server, string type)
    {
        RespValue page = server.Client.Run($"SCAN 0 COUNT 10000 TYPE {type}");
        Assert.Equal("0", page.Items[0].Text);
        return [.. page.Items[1].Items.Select(key => key.Text).Order(StringComparer.Ordinal)];
    }

    // A length of 64 bits.
    private static byte[] Id(ulong id)
    {
        using var output = new RdbOutput();
        output.Length(id);
        return output.Written.ToArray();
    }
}
