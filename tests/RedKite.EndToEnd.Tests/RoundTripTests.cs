using RedKite.TestSupport;

namespace RedKite.EndToEnd.Tests;

/// <summary>
/// Random data of every type that one server has written, as a snapshot and as an append-only file (a base, and increments with what came
/// later), is loaded by another one.
/// </summary>
public sealed class RoundTripTests : IDisposable
{
    // Valkey does not take quotes from its command line.
    private const string LogName = "my \"app\" file.aof";
    private const string ValkeyLogName = "my file.aof";

    // What changes data of every type after the base is written: also effects that differ from the commands.
    private static readonly string[] Changes =
    [
        "SET late value PX 100000000", "APPEND late more", "SETRANGE range 5 x", "INCRBYFLOAT float 1.5", "SETBIT bits 100 1", "PFADD log a b c", "RPUSH list 1 2 3 4", "LPOP list", "LMOVE list other LEFT RIGHT",
        "SADD set a b c d", "SPOP set", "SADD set2 z", "SMOVE set set2 a", "ZADD zset 1 a 2.5 b inf c", "ZPOPMIN zset", "HSET hash a 1 b 2 c 3", "HDEL hash b", "HINCRBYFLOAT hash a 0.5", "GEOADD places 13.361389 38.115556 Palermo",
        "XADD stream * a 1", "XADD stream * b 2", "XGROUP CREATE stream g 0", "XREADGROUP GROUP g c COUNT 1 STREAMS stream >", "RENAME set2 set3", "COPY zset zset2", "DEL range", "EXPIRE hash 100000",
        "EVAL \"redis.call('SET', KEYS[1], 'script') redis.call('SELECT', 5) redis.call('SET', KEYS[1], 'five')\" 1 scripted", "MULTI", "SET unit 1", "INCR unit", "EXEC", "FUNCTION DELETE second", "SWAPDB 3 4",
    ];

    // The same for keys of a writer's own, whose name is #.
    private static readonly string[] Later =
    [
        "SET #s value PX 100000000", "APPEND #s more", "INCRBYFLOAT #float 1.5", "SETBIT #bits 100 1", "PFADD #log a b c", "RPUSH #list 1 2 3 4", "LMOVE #list #other LEFT RIGHT", "SADD #set a b c d", "SPOP #set",
        "ZADD #zset 1 a 2.5 b inf c", "ZPOPMIN #zset", "HSET #hash a 1 b 2 c 3", "HDEL #hash b", "GEOADD #places 13.361389 38.115556 Palermo", "XADD #stream * a 1", "XGROUP CREATE #stream g 0", "RENAME #other #renamed",
        "MULTI", "SET #unit 1", "INCR #unit", "EXEC", "EXPIRE #hash 100000",
    ];

    private readonly TemporaryFolder _folder = new();

    public void Dispose() => _folder.Dispose();

    [Theory]
    [InlineData("redkite", "redis 8", 1)]
    [InlineData("redis 8", "redkite", 2)]
    [InlineData("redkite", "redis 8", 9, "no")]
    public Task Files_of_one_server_are_loaded_by_another(string writer, string reader, int seed, string preamble = "yes") => RoundTrip(writer, reader, seed, keys: 8, preamble);

    [Theory]
    [Long]
    [InlineData("redkite", "redis 8", 3)]
    [InlineData("redis 8", "redkite", 4)]
    [InlineData("redis 7", "redkite", 5)]
    [InlineData("valkey 8", "redkite", 6)]
    [InlineData("redkite", "redkite", 7)]
    [InlineData("valkey 9", "redkite", 8)]
    [InlineData("redkite", "redis 8", 10, "no")]
    [InlineData("redis 8", "redkite", 11, "no")]
    [InlineData("redkite", "redkite", 12, "no")]
    public Task More_files_of_one_server_are_loaded_by_another(string writer, string reader, int seed, string preamble = "yes") =>
        RoundTrip(writer, reader, TestScale.GivenSeed ?? seed, keys: 80, preamble);

    // The base is the first one's, and each of the others has written an increment.
    [Theory]
    [Long]
    [InlineData("redis 7", "redis 8", "redkite")]
    [InlineData("redis 7", "valkey 8")]
    [InlineData("redis 7", "redkite", "redis 8")]
    [InlineData("valkey 8", "valkey 9")]
    [InlineData("valkey 8", "redkite")]
    [InlineData("valkey 9", "redkite")]
    [InlineData("redis 8", "redkite", "redis 8")]
    [InlineData("redkite", "redis 8", "redkite")]
    public async Task Folder_in_which_several_servers_have_written_is_loaded(params string[] writers)
    {
        const int Keys = 20;
        bool hasFieldExpiries = writers[^1] is not ("redis 7" or "valkey 8");
        for (int i = 0; i < writers.Length; i++)
        {
            using ServerProcess source = Transfers.Start(writers[i], "--dir", _folder.Path, "--appendonly", "yes", "--appendfsync", "always", "--auto-aof-rewrite-percentage", "0");
            using RespConnection client = Transfers.ConnectWhenLoaded(source);
            foreach (string change in i == 0 ? [] : Later) Assert.False(client.Run(change.Replace("#", $"w{i}", StringComparison.Ordinal)).IsError, change);
            if (i == 0)
            {
                RandomData.Fill(client, new Random(100), Keys, hasFieldExpiry: hasFieldExpiries && writers[0] is not ("redis 7" or "valkey 8"));
                client.Run("SELECT 0").IsOk();
                client.Run("BGREWRITEAOF");
                Wait(client, "aof_rewrite_scheduled:0");
                Wait(client, "aof_rewrite_in_progress:0");
            }

            client.Run($"SET writer{i} {writers[i].Replace(' ', '-')}").IsOk();
            if (i < writers.Length - 1) continue;
            client.Run("CONFIG SET appendonly no").IsOk();
            (await Transfers.Run("check", _folder.File("appendonlydir"))).Succeeded();
            using ServerProcess target = Transfers.Start("redkite", "--dir", _folder.Path, "--appendonly", "yes");
            using RespConnection other = Transfers.ConnectWhenLoaded(target);
            Assert.True(SameData.Check(client, other, isExact: false, hasFieldExpiries) > Keys);
            other.Run("SELECT 0").IsOk();
            for (int writer = 0; writer < writers.Length; writer++) Assert.Equal(writers[writer].Replace(' ', '-'), other.Run($"GET writer{writer}").Text);
        }
    }

    private async Task RoundTrip(string writer, string reader, int seed, int keys, string preamble)
    {
        string logName = writer.StartsWith("valkey", StringComparison.Ordinal) ? ValkeyLogName : LogName;
        bool hasFieldExpiries = writer is not ("redis 7" or "valkey 8");
        using ServerProcess source = Transfers.Start(writer, "--dir", _folder.Path, "--appendonly", "yes", "--appendfilename", logName, "--aof-use-rdb-preamble", preamble);
        using RespConnection client = Transfers.ConnectWhenLoaded(source);
        RandomData.Fill(client, new Random(seed), keys, hasFieldExpiries);
        client.Run("BGREWRITEAOF");
        Wait(client, "aof_rewrite_scheduled:0");
        Wait(client, "aof_rewrite_in_progress:0");
        client.Run("SELECT 0").IsOk();

        // The log of Redis 7 does not say how many entries a group has read.
        foreach (string change in writer == "redis 7" ? Changes.Where(change => !change.StartsWith("XREADGROUP", StringComparison.Ordinal)) : Changes) Assert.False(client.Run(change).IsError, change);
        if (hasFieldExpiries) client.Run("HPEXPIREAT hash 4000000000000 FIELDS 1 a").IsIntegers(1);
        client.Run("SAVE").IsOk();
        client.Run("CONFIG SET appendonly no").IsOk();
        Assert.NotEqual(0, new FileInfo(Directory.GetFiles(_folder.File("appendonlydir"), "*.incr.aof").Order(StringComparer.Ordinal).Last()).Length);
        (await Transfers.Run("check", _folder.File("appendonlydir"))).Succeeded();
        if (writer != "valkey 9") // it has a format of its own, which Redis does not read, as it does not read Redis 8's
        {
            await AssertAccepted("redis-check-aof", Path.Combine(_folder.File("appendonlydir"), logName + ".manifest"));
            await AssertAccepted("redis-check-rdb", _folder.File("dump.rdb"));
        }

        foreach (string appendOnly in (string[])["yes", "no"])
        {
            using ServerProcess target = Transfers.Start(reader, "--dir", _folder.Path, "--appendonly", appendOnly, "--appendfilename", logName);
            using RespConnection other = Transfers.ConnectWhenLoaded(target);
            int count = SameData.Check(client, other, isExact: false, hasFieldExpiries);
            Assert.True(count > 3 * keys, $"{count} keys");
        }
    }

    private static void Wait(RespConnection client, string line) =>
        Assert.True(SpinWait.SpinUntil(() => client.Run("INFO persistence").Text.Contains(line, StringComparison.Ordinal), 60_000), $"timed out waiting for {line}");

    private static async Task AssertAccepted(string tool, string path)
    {
        if (OracleProgram.Redis8Path is null) return;
        string program = Path.Combine(Path.GetDirectoryName(OracleProgram.Redis8Path)!, tool);
        if (!File.Exists(program)) return;
        ChildProgram check = await ChildProgram.Run(program, [path]);
        Assert.True(check.ExitCode == 0, check.Output + check.Errors);
    }
}
