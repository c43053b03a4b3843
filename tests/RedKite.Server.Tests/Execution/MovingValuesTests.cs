using System.Globalization;
using RedKite.Store.Keyspace;
using RedKite.TestSupport;

namespace RedKite.Server.Tests.Execution;

/// <summary>
/// The same random commands for two servers, in one of which every block of every value moves after every command. On guarded memory,
/// where a moved block's old place is poisoned, an address that was forgotten shows at once.
/// </summary>
public sealed class MovingValuesTests
{
    private static readonly int Commands = TestScale.Of(gate: 2_000, full: 6_000);
    private const int Keys = 4;

    private static readonly string[] Small =
    [
        "hash-max-listpack-entries 4", "set-max-listpack-entries 4", "set-max-intset-entries 4", "zset-max-listpack-entries 4",
        "list-max-listpack-size 3", "stream-node-max-entries 4",
    ];

    [Theory]
    [InlineData(1)]
    [InlineData(2)]
    [InlineData(3)]
    public async Task Values_that_move_constantly_keep_their_contents(int seed)
    {
        await using RedKiteServer moving = await StartAsync(guarded: true);
        await using RedKiteServer resting = await StartAsync(guarded: false);
        var moves = new Defragmentation(moving.Engine.Keyspace, 0, 1);
        var random = new Random(seed);
        for (int i = 0; i < Commands; i++)
        {
            string line = Command(random, i);
            Assert.Equal((line, Text(resting.Execute(line.Split(' ')))), (line, Text(moving.Execute(line.Split(' ')))));
            moves.MoveAll();
            if (i % 500 != 0) continue;
            using LockScope all = moving.Engine.Keyspace.LockAll(); // the loop's timer frees, too
            moving.Engine.Keyspace.CheckGuards();
        }

        DefragmentationCounts counts = moves.TakeCounts();
        Assert.True(counts.Hits > Commands * 10, $"{counts.Hits} blocks were moved.");
        Assert.Null(moving.Failure);
    }

    [Theory]
    [InlineData("HSET h {0} {1}", "HDEL h {0}", "HGET h {0}")]
    [InlineData("SADD s {0}{1}", "SREM s {0}{1}", "SISMEMBER s {0}{1}")]
    [InlineData("ZADD z {0} {0}{1}", "ZREM z {0}{1}", "ZSCORE z {0}{1}")]
    [InlineData("RPUSH l{2} {1} {0}", "DEL l{2}", "LRANGE l{2} 0 -1")]
    [InlineData("XADD x {0}-1 {1} {1}", "XDEL x {0}-1", "XRANGE x {0}-1 {0}-1")]
    [InlineData("SET k{0} {3}", "DEL k{0}", "GET k{0}")] // blocks of over 4 KiB
    public async Task Sparse_slabs_of_values_are_emptied(string add, string remove, string read)
    {
        const int Elements = 30_000;
        await using RedKiteServer server = await StartAsync(guarded: false);
        string value = new('v', 90);
        string large = new('w', 6000);
        string[] Line(string format, int i) => string.Format(CultureInfo.InvariantCulture, format, i + 1, value, i / 10, large).Split(' ');
        int elements = add.Contains("{3}", StringComparison.Ordinal) ? Elements / 10 : Elements;
        bool Stays(int i) => i / 10 % 10 == 0;
        for (int i = 0; i < elements; i++) server.Execute(Line(add, i));
        for (int i = 0; i < elements; i++)
        {
            if (!Stays(i)) server.Execute(Line(remove, i));
        }

        string[] before = [.. Enumerable.Range(0, elements).Select(i => Text(server.Execute(Line(read, i))))];
        Keyspace keyspace = server.Engine.Keyspace;
        long used = keyspace.UsedBytes;
        long free = keyspace.FragmentedBytes;
        var defragmentation = new Defragmentation(keyspace, 0, 1);
        for (int pass = 0; pass < 4; pass++) Assert.True(defragmentation.Run(long.MaxValue));
        TestContext.Current.TestOutputHelper!.WriteLine($"{used} bytes in use, {free} free before, {keyspace.FragmentedBytes} after; {defragmentation.TakeCounts()}");
        Assert.Equal(used, keyspace.UsedBytes);
        Assert.True(keyspace.FragmentedBytes < Math.Max(free / 2, 1 << 20), $"{free} bytes were free between blocks, now {keyspace.FragmentedBytes}.");
        for (int i = 0; i < elements; i++) Assert.Equal(before[i], Text(server.Execute(Line(read, i))));
    }

    private static async Task<RedKiteServer> StartAsync(bool guarded)
    {
        RedKiteServer server = await RedKiteServer.StartAsync(
            new RedKiteOptions { Port = 0, GuardsMemory = guarded, TimeProvider = new ManualClock(), Settings = { ["loops"] = "1", ["stripes"] = "4" } });
        foreach (string setting in Small) server.Execute(["CONFIG", "SET", .. setting.Split(' ')]).IsOk();
        return server;
    }

    private static string Text(RedKiteReply reply) => reply.Items.Count > 0 ? string.Join(" ", reply.Items.Select(Text)) : reply.ToString();

    private static string Command(Random random, int number)
    {
        int key = random.Next(Keys);
        string value = new((char)('a' + random.Next(26)), random.Next(4) == 0 ? random.Next(3000) + 1 : random.Next(40) + 1);
        int member = random.Next(400);
        int rank = random.Next(200);
        return random.Next(42) switch
        {
            0 => $"SET s{key} {value}",
            1 => $"APPEND s{key} {value}",
            2 => $"SETRANGE s{key} {rank} {value}",
            3 => $"GET s{key}",
            4 => $"EXPIRE s{key} {rank + 1}",
            5 => $"PERSIST s{key}",
            6 or 7 or 8 => $"HSET h{key} f{member} {value} f{member + 1} {value}",
            9 => $"HDEL h{key} f{member} f{rank}",
            10 => $"HGET h{key} f{member}",
            11 => $"HEXPIRE h{key} 100 FIELDS 1 f{member}",
            12 => $"HLEN h{key}",
            13 or 14 => $"SADD t{key} {member} {value}{member}",
            15 => $"SREM t{key} {member} {rank}",
            16 => $"SISMEMBER t{key} {member}",
            17 => $"SMOVE t{key} t{(key + 1) % Keys} {member}",
            18 or 19 or 20 => $"ZADD z{key} {member % 37} m{member} {rank} {value}{rank}",
            21 => $"ZINCRBY z{key} {rank - 100} m{member}",
            22 => $"ZREM z{key} m{member} m{rank}",
            23 => $"ZRANGE z{key} {rank} {rank + 5} WITHSCORES",
            24 => $"ZREMRANGEBYRANK z{key} {rank} {rank + 3}",
            25 => $"ZRANK z{key} m{member}",
            26 or 27 => $"RPUSH l{key} {value} {member}",
            28 => $"LPUSH l{key} {value} {member} {rank}",
            29 => $"LINDEX l{key} {rank}",
            30 => $"LSET l{key} {rank} {value}",
            31 => $"LREM l{key} 1 {member}",
            32 => random.Next(3) == 0 ? $"LTRIM l{key} {rank / 4} -1" : $"LPOP l{key} 3",
            33 => $"LRANGE l{key} {rank} {rank + 4}",
            34 or 35 => $"XADD x{key} {number + 1}-1 f {value}",
            36 => $"XDEL x{key} {random.Next(number + 1)}-1",
            37 => random.Next(4) == 0 ? $"XTRIM x{key} MAXLEN 20" : $"XLEN x{key}",
            38 => $"XRANGE x{key} {random.Next(number + 1)} + COUNT 3",
            39 => $"COPY {"shtzlx"[random.Next(6)]}{key} c{key} REPLACE",
            40 => random.Next(4) == 0 ? $"RENAME {"htzl"[random.Next(4)]}{key} r{key}" : $"TYPE r{key}",
            _ => random.Next(8) == 0 ? $"DEL {"shtzlx"[random.Next(6)]}{key}" : string.Create(CultureInfo.InvariantCulture, $"EXISTS c{key}"),
        };
    }
}
