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
