using RedKite.Server.Tests.Durability;
using RedKite.Server.Tests.Execution.Eviction;
using RedKite.Store.Keyspace;
using RedKite.TestSupport;

namespace RedKite.Server.Tests.Commands.Keys;

/// <summary>BLESS: which keys must not be evicted.</summary>
public sealed class BlessCommandsTests : TranscriptTests
{
    private static readonly string Value = new('v', 400);

    [Fact]
    public void Protecting_a_key_is_dangerous_and_asking_is_not()
    {
        Run("ACL SETUSER u ON NOPASS ~* +@all -@dangerous").IsOk();
        Assert.Contains("has no permissions", Run("ACL DRYRUN u BLESS SET k NO-EVICT").Text, StringComparison.Ordinal);
        Assert.Contains("has no permissions", Run("ACL DRYRUN u BLESS CLEAR k NO-EVICT").Text, StringComparison.Ordinal);
        Run("ACL DRYRUN u BLESS GET k").IsOk();
    }

    [Fact]
    public void Flag_is_set_and_cleared_once()
    {
        Run("BLESS SET k NO-EVICT").IsError("ERR no such key");
        Run("BLESS CLEAR k NO-EVICT").IsError("ERR no such key");
        Run("BLESS GET k").IsError("ERR no such key");
        Run("SET k v").IsOk();
        Assert.Empty(Run("BLESS GET k").Items);
        Run("BLESS SET k NO-EVICT").IsInteger(1);
        Run("BLESS SET k no-evict").IsInteger(0);
        Assert.Equal(["NO-EVICT"], Run("BLESS GET k").Items.Select(flag => flag.Text));
        Run("BLESS CLEAR k NO-EVICT").IsInteger(1);
        Run("BLESS CLEAR k NO-EVICT").IsInteger(0);
        Assert.Empty(Run("BLESS GET k").Items);
        Run("BLESS SET k NOSUCH").IsError("ERR syntax error");
        Run("BLESS SET k").IsError("ERR wrong number of arguments for 'bless|set' command");
        Run("BLESS NOSUCH k").IsError("ERR unknown subcommand 'NOSUCH'. Try BLESS HELP.");
    }

    [Fact]
    public void New_values_and_a_new_name_keep_the_flag_and_copies_do_not_get_it()
    {
        Run("SET k v").IsOk();
        Run("BLESS SET k NO-EVICT").IsInteger(1);
        foreach (string change in (string[])
        [
            "SET k another", "SET k " + Value, "APPEND k x", "SETRANGE k 100000 x", "EXPIRE k 1000", "PERSIST k", "SET k 1 EX 100", "INCR k", "GETSET k v",
            "SUNIONSTORE k nosuch-but k2", "SORT list STORE k", "ZUNIONSTORE k 1 scores", "COPY list k REPLACE", "RENAME other k", "RPUSH k x",
        ])
        {
            Run("SADD k2 a b");
            Run("RPUSH list 1 2 3");
            Run("ZADD scores 1 a");
            Run("SET other v");
            Run(change);
            Assert.True(IsPinned("k"), change);
            AssertCounts();
        }

        Run("DEL k").IsInteger(1);
        AssertCounts();
        Run("HSET h a 1").IsInteger(1);
        Run("BLESS SET h NO-EVICT").IsInteger(1);
        for (int i = 0; i < 1000; i++) Run($"HSET h field{i} {i}");
        Run("HEXPIRE h 1000 FIELDS 1 a");
        Assert.True(IsPinned("h"), "it became a table, and fields expire");
        foreach ((string from, string to) in ((string, string)[])[("h", "renamed"), ("renamed", "h")])
        {
            Run($"RENAME {from} {to}").IsOk();
            Assert.True(IsPinned(to), to);
            AssertCounts();
        }

        Run("COPY h copy").IsInteger(1);
        Assert.False(IsPinned("copy"));
        Run("MOVE h 1").IsInteger(1);
        AssertCounts();
        Run("SELECT 1").IsOk();
        Assert.True(IsPinned("h"));
        Run("SET large " + new string('x', 300_000)).IsOk();
        Run("BLESS SET large NO-EVICT").IsInteger(1);
        Run("RENAME large larger").IsOk();
        Assert.True(IsPinned("larger"), "its block stays");
        AssertCounts();
        Run("FLUSHALL").IsOk();
        AssertCounts();
    }

    [Fact]
    public void Dump_has_no_flag_and_restore_keeps_that_of_the_key()
    {
        Run("SET k v").IsOk();
        Run("BLESS SET k NO-EVICT").IsInteger(1);
        ReadOnlyMemory<byte> payload = Run("DUMP k").Bytes;
        using RedKiteSession client = Server.CreateSession();
        Assert.Equal("OK", client.Execute("RESTORE"u8.ToArray(), "new"u8.ToArray(), "0"u8.ToArray(), payload).Text);
        Assert.False(IsPinned("new"));
        Assert.Equal("OK", client.Execute("RESTORE"u8.ToArray(), "k"u8.ToArray(), "0"u8.ToArray(), payload, "REPLACE"u8.ToArray()).Text);
        Assert.True(IsPinned("k"));
        AssertCounts();
    }

    [Fact]
    public void Expired_and_deleted_keys_lose_the_flag()
    {
        Run("SET k v PX 100").IsOk();
        Run("BLESS SET k NO-EVICT").IsInteger(1);
        AssertCounts();
        Clock.Advance(1000);
        Assert.Null(Run("GET k").Text);
        AssertCounts();
        Run("SET k v").IsOk();
        Assert.False(IsPinned("k"));
    }

    [Fact]
    public void Scan_returns_the_keys_with_the_flag()
    {
        for (int i = 0; i < 3000; i++) Run($"SET k{i} v").IsOk();
        Assert.Equal(["0"], Scan("BLESS SCAN 0 NO-EVICT").Cursors);
        for (int i = 0; i < 3000; i += 100) Run($"BLESS SET k{i} NO-EVICT").IsInteger(1);
        foreach (string count in (string[])["", " COUNT 10", " COUNT 100000"])
        {
            var keys = new HashSet<string>();
            string cursor = "0";
            do
            {
                RedKiteReply reply = Run($"BLESS SCAN {cursor} NO-EVICT{count}");
                cursor = reply.Items[0].Text!;
                foreach (RedKiteReply key in reply.Items[1].Items) keys.Add(key.Text!);
            }
            while (cursor != "0");

            Assert.Equal(Enumerable.Range(0, 30).Select(i => $"k{i * 100}").Order(StringComparer.Ordinal), keys.Order(StringComparer.Ordinal));
        }

        Run("BLESS SCAN 0 NOSUCH").IsError("ERR syntax error");
        Run("BLESS SCAN 0 NO-EVICT COUNT 0").IsError("ERR syntax error");
        Run("BLESS SCAN x NO-EVICT").IsError("ERR invalid cursor");
    }

    [Theory]
    [InlineData("allkeys-lru", "")]
    [InlineData("allkeys-lrm", "")]
    [InlineData("allkeys-lfu", "")]
    [InlineData("allkeys-random", "")]
    [InlineData("volatile-lru", " EX 1000")]
    [InlineData("volatile-random", " EX 1000")]
    [InlineData("volatile-ttl", " EX 1000")]
    public void Blessed_keys_are_not_evicted_and_writes_are_refused_when_no_others_are_left(string policy, string expiry)
    {
        Run($"CONFIG SET maxmemory-policy {policy}").IsOk();
        Server.LimitMemory(1_500_000);
        for (int i = 0; i < 500; i++)
        {
            Run($"SET stays{i} {Value}{expiry}").IsOk();
            Run($"BLESS SET stays{i} NO-EVICT").IsInteger(1);
        }

        for (int i = 0; i < 5000; i++) Run($"SET goes{i} {Value}{expiry}").IsOk();
        Assert.InRange(Server.Info("evicted_keys"), 2000, 5000);
        Assert.Equal(500, Existing());

        // Once all are blessed, writes are refused, BLESS SET included; BLESS CLEAR is not.
        int written = 0;
        bool isRefused = false;
        while (!isRefused && written < 20_000)
        {
            isRefused = Run($"SET more{written} {Value}{expiry}").IsError || Run($"BLESS SET more{written} NO-EVICT").IsError;
            if (!isRefused) written++;
        }

        Assert.True(isRefused, "writes are refused");
        while (Run($"DEL more{written}").Integer == 1)
        {
        }

        Assert.Equal(500, Existing());
        for (int i = 0; i < 500; i++) Run($"BLESS CLEAR stays{i} NO-EVICT").IsInteger(1);
        for (int i = 0; i < 500; i++) Run($"SET again{i} {Value}{expiry}").IsOk();
        AssertCounts();

        int Existing() => Enumerable.Range(0, 500).Count(i => Run($"EXISTS stays{i}").Integer == 1);
    }

    [Fact]
    public async Task Flag_survives_restarts_and_rewrites()
    {
        foreach (string[] settings in (string[][])[["save", "3600 1"], ["appendonly", "yes"], ["appendonly", "yes", "aof-use-rdb-preamble", "no"]])
        {
            await using DiskServer disk = await DiskServer.StartAsync(settings);
            foreach (string request in (string[])["SET a 1", "BLESS SET a NO-EVICT", "HSET b f v", "BLESS SET b NO-EVICT", "BLESS CLEAR b NO-EVICT", "SET c 1 EX 1000", "BLESS SET c NO-EVICT", "SET d 1"])
            {
                Assert.False(disk.Run(request).IsError, request);
            }

            bool rewrites = settings[0] == "appendonly";
            for (int round = 0; round < 2; round++)
            {
                if (!rewrites) disk.Run("SAVE");
                await disk.RestartAsync();
                Assert.Equal("NO-EVICT||NO-EVICT|", string.Join('|', ((string[])["a", "b", "c", "d"]).Select(key => string.Join(',', disk.Run("BLESS GET " + key).Items.Select(flag => flag.Text)))));
                if (!rewrites) continue;
                disk.Run("BGREWRITEAOF");
                disk.WaitFor(() => disk.Info("aof_rewrites") != "0", "the rewrite");
            }
        }
    }

    // The flag is a field about the file, which every server passes over.
    [Fact]
    public async Task Redis_loads_a_file_with_blessed_keys()
    {
        using TemporaryFolder folder = new();
        await using (LiveServer server = await LiveServer.StartAsync("dir", folder.Path, "save", ""))
        {
            server.Run("SET a 1 EX 1000");
            server.Run("BLESS SET a NO-EVICT");
            server.Run("SET b 2");
            server.Run("SAVE").IsOk();
        }

        using Oracle oracle = new("--save", "", "--enable-debug-command", "yes");
        File.Copy(Path.Combine(folder.Path, "dump.rdb"), Path.Combine(oracle.Folder, "dump.rdb"), overwrite: true);
        Assert.Equal("OK", oracle.RunText("DEBUG", "RELOAD", "NOSAVE"));
        Assert.Equal("1", oracle.RunText("GET", "a"));
        Assert.Equal("2", oracle.RunText("GET", "b"));
    }

    [Fact]
    public async Task Replicas_and_subscribers_get_the_flag()
    {
        await using LiveServer primary = await LiveServer.StartAsync("notify-keyspace-events", "Eg");
        primary.Run("SET before 1");
        primary.Run("BLESS SET before NO-EVICT").IsInteger(1);
        await using LiveServer replica = await LiveServer.StartAsync("save", "");
        replica.Run($"REPLICAOF 127.0.0.1 {primary.Server.Port}");
        Assert.True(SpinWait.SpinUntil(() => replica.Info("replication", "master_link_status") == "up", TimeSpan.FromSeconds(60)), "the link is up");
        using RespConnection subscriber = RespConnection.Connect(primary.Server.Port);
        subscriber.Run("PSUBSCRIBE *");
        primary.Run("SET behind 1");
        primary.Run("BLESS SET behind NO-EVICT").IsInteger(1);
        primary.Run("BLESS SET behind NO-EVICT").IsInteger(0);
        Assert.True(SpinWait.SpinUntil(() => replica.Run("BLESS GET behind") is { IsError: false, Items.Count: 1 }, TimeSpan.FromSeconds(60)), "by the stream");
        Assert.Single(replica.Run("BLESS GET before").Items);
        primary.Run("BLESS CLEAR behind NO-EVICT").IsInteger(1);
        Assert.True(SpinWait.SpinUntil(() => replica.Run("BLESS GET behind").Items.Count == 0, TimeSpan.FromSeconds(60)), "cleared");
        Assert.Equal("__keyevent@0__:bless", subscriber.ReadAny().Items[2].Text);
        Assert.Equal("__keyevent@0__:unbless", subscriber.ReadAny().Items[2].Text);
    }

    private bool IsPinned(string key) => Run("BLESS GET " + key).Items.Count == 1;

    private (HashSet<string> Keys, string[] Cursors) Scan(string request)
    {
        RedKiteReply reply = Run(request);
        return ([.. reply.Items[1].Items.Select(key => key.Text!)], [reply.Items[0].Text!]);
    }

    // The tables' counts are those of their entries.
    private void AssertCounts()
    {
        foreach (Database database in Server.Engine.Keyspace.Databases)
        {
            long blessed = 0, expiring = 0;
            var entries = new EntryList();
            for (int stripe = 0; stripe < Stripes; stripe++)
            {
                if (database.TableIn(stripe) is not { } table) continue;
                entries.Clear();
                uint prefix = 0;
                while (table.NextSegment(ref prefix, entries))
                {
                }

                foreach (Entry entry in entries)
                {
                    if (entry.IsPinned) blessed++;
                    if (entry.IsPinned && entry.Expires) expiring++;
                }
            }

            Assert.Equal((blessed, expiring), (database.Pinned, database.PinnedExpiring));
        }
    }
}
