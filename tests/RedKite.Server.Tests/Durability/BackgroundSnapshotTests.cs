using System.Globalization;
using RedKite.TestSupport;

namespace RedKite.Server.Tests.Durability;

public class BackgroundSnapshotTests
{
    [Fact]
    public async Task File_holds_the_data_at_the_cut_whatever_is_written_meanwhile()
    {
        int seed = TestScale.GivenSeed ?? Random.Shared.Next();
        for (int round = 0; round < TestScale.Of(gate: 4, full: 60); round++)
        {
            await CompareAsync(seed + round, hasSmallSlices: round % 2 == 0);
        }
    }

    [Fact]
    public async Task Failed_snapshot_leaves_the_next_one_whole()
    {
        await using DiskServer disk = await DiskServer.StartAsync();
        Fill(disk, new Random(1));
        int writes = 0;
        disk.Files.Plan = call => call.Operation == "write" && ++writes == 3 ? new FileFault(FileFault.NoSpace) : null;
        disk.Run("BGSAVE");
        disk.WaitFor(() => disk.Info("rdb_last_bgsave_status") == "err" && disk.Info("rdb_bgsave_in_progress") == "0", "the failure");
        Assert.Equal(("1", "1"), (disk.Info("rdb_saves_consecutive_failures"), disk.Info("rdb_saves")));
        disk.Files.Plan = null;
        disk.Run("SET more 1");
        string digest = disk.Digest();
        disk.Run("BGSAVE");
        disk.WaitFor(() => disk.Info("rdb_saves") == "2", "the save"); // as in Redis, the one that failed counts
        disk.WaitFor(() => disk.Info("rdb_saves_consecutive_failures") == "0", "its success");
        Assert.Equal(["dump.rdb"], disk.Files.List(disk.Folder));
        await disk.RestartAsync();
        Assert.Equal(digest, disk.Digest());
    }

    private static async Task CompareAsync(int seed, bool hasSmallSlices)
    {
        await using DiskServer disk = await DiskServer.StartAsync("loops", "2");
        if (hasSmallSlices) disk.Server.Parts.Durability.Bounds = SteppedSnapshot.SmallBounds;
        Fill(disk, new Random(seed));
        disk.Run("DEBUG SET-ACTIVE-EXPIRE 0"); // what expires does so by commands alone
        string digest = disk.Digest();
        using var cut = new ManualResetEventSlim();
        disk.Server.Parts.Durability.SnapshotPointReached += cut.Set;
        bool stops = false;
        var writers = new Thread[2];
        for (int i = 0; i < writers.Length; i++)
        {
            var random = new Random(seed + 1 + i);
            writers[i] = new Thread(() =>
            {
                cut.Wait();
                using RedKiteSession client = disk.Server.CreateSession();
                for (int step = 0; step < 20_000 && !Volatile.Read(ref stops); step++) Change(client, random);
            });
            writers[i].Start();
        }

        Assert.Equal("Background saving started", disk.Run("BGSAVE").Text);
        disk.WaitFor(() => disk.Info("rdb_saves") == "1", "the save");
        Volatile.Write(ref stops, true);
        foreach (Thread writer in writers) writer.Join();
        await disk.RestartAsync();
        Assert.True(digest == disk.Digest(), $"the file is not the data at the cut, seed {seed}");
    }

    private static void Fill(DiskServer disk, Random random)
    {
        using RedKiteSession client = disk.Server.CreateSession();
        for (int database = 0; database < 3; database++)
        {
            client.Execute("SELECT", Text(database));
            for (int i = 0; i < 2000; i++) Add(client, "k" + Text(i), random);
        }

        client.Execute("SELECT", "0");
        for (int i = 0; i < 3000; i++)
        {
            client.Execute("HSET", "large", "f" + Text(i), "v");
            client.Execute("SADD", "large set", "m" + Text(i));
            client.Execute("ZADD", "large sorted set", Text(i), "m" + Text(i));
            client.Execute("RPUSH", "large list", "e" + Text(i));
            client.Execute("XADD", "large stream", "*", "f", Text(i));
            client.Execute("ARSET", "large array", Text(i * 3), "some words and " + Text(i));
            client.Execute("APPEND", "large string", "some words and " + Text(i));
        }

        client.Execute("FUNCTION", "LOAD", "#!lua name=lib\nredis.register_function('f', function() return 7 end)");
    }

    private static void Add(RedKiteSession client, string key, Random random)
    {
        string value = new('x', random.Next(100));
        switch (random.Next(8))
        {
            case 0: client.Execute("SET", key, value); break;
            case 1: client.Execute("SET", key, value, "PX", Text(random.Next(1, 3) * 1_000_000)); break;
            case 2: client.Execute("RPUSH", key, "a", value, "b"); break;
            case 3: client.Execute("HSET", key, "f", value, "g", "1"); break;
            case 4: client.Execute("SADD", key, "1", "2", value); break;
            case 5: client.Execute("ZADD", key, "1", "a", "2.5", value + "b"); break;
            case 6: client.Execute("ARINSERT", key, "1", value, "c"); break;
            default: client.Execute("XADD", key, "*", "f", value); break;
        }
    }

    private static void Change(RedKiteSession client, Random random)
    {
        string key = "k" + Text(random.Next(2000)), other = "k" + Text(random.Next(2000));
        switch (random.Next(20))
        {
            case 0: client.Execute("SELECT", Text(random.Next(3))); break;
            case 1: client.Execute("DEL", key); break;
            case 2: client.Execute("RENAME", key, other); break;
            case 3: client.Execute("COPY", key, other, "REPLACE"); break;
            case 4: client.Execute("EXPIRE", key, Text(random.Next(-1, 1000))); break;
            case 5: client.Execute("APPEND", key, "more"); break;
            case 6: client.Execute("HSET", "large", "f" + Text(random.Next(4000)), "new"); break;
            case 7: ChangeLarge(client, random); break;
            case 8: client.Execute("HDEL", key, "f"); break;
            case 9: client.Execute("SPOP", key); break;
            case 10: client.Execute("ZINCRBY", key, "1", "a"); break;
            case 11: client.Execute("MOVE", key, Text(random.Next(3))); break;
            case 12: client.Execute("EVAL", "redis.call('set', KEYS[1], '1') return redis.call('incr', KEYS[1])", "1", key); break;
            case 13 when random.Next(400) == 0: client.Execute("FLUSHDB"); break;
            case 14 when random.Next(200) == 0: client.Execute("SWAPDB", "0", Text(random.Next(1, 3))); break;
            case 15 when random.Next(1000) == 0: client.Execute("FUNCTION", "FLUSH"); break;
            case 16: client.Execute("PERSIST", key); break;
            default: Add(client, key, random); break;
        }
    }

    private static void ChangeLarge(RedKiteSession client, Random random)
    {
        string n = Text(random.Next(3000));
        switch (random.Next(13))
        {
            case 0: client.Execute("SADD", "large set", "new" + n); break;
            case 1: client.Execute("ZADD", "large sorted set", n, "m5"); break;
            case 2: client.Execute("LSET", "large list", n, "new"); break;
            case 3: client.Execute("XADD", "large stream", "*", "f", n); break;
            case 4: client.Execute("SETRANGE", "large string", n, "new"); break;
            case 5: client.Execute("LPUSH", "k" + n, "z"); break;
            case 6: client.Execute("LMOVE", "large list", "k" + n, "LEFT", "RIGHT"); break;
            case 7: client.Execute("EVAL", "return redis.call('hdel', 'large', ARGV[1])", "0", "f" + n); break;
            case 8: client.Execute("PEXPIRE", "large set", "100000000"); break;
            case 11: client.Execute("ARSET", "large array", n, "new"); break;
            case 12: client.Execute("ARDELRANGE", "large array", n, n + "0"); break;
            case 9 when random.Next(50) == 0: client.Execute("RENAME", "large list", "large"); break;
            case 10 when random.Next(50) == 0: client.Execute("DEL", "large string", "large stream"); break;
        }
    }

    private static string Text(int number) => number.ToString(CultureInfo.InvariantCulture);
}
