using System.Globalization;
using RedKite.TestSupport;

namespace RedKite.EndToEnd.Tests;

/// <summary>redkite verify-replica says whether a replica has its primary's data, whichever server either is.</summary>
public sealed class VerifyReplicaTests
{
    private const int PatienceMs = 60_000;

    [Theory]
    [InlineData("redkite", "redkite")]
    [InlineData("redis 8", "redkite")]
    public Task Same_data_and_every_difference_are_found(string primary, string replica) => Verify(primary, replica, seed: 1, keys: 8);

    [Theory]
    [Long]
    [InlineData("redkite", "redis 8")]
    [InlineData("redis 7", "redkite")]
    [InlineData("valkey 8", "redkite")]
    [InlineData("redis 8", "redis 8")]
    public Task Same_data_and_every_difference_are_found_between_more_servers(string primary, string replica) => Verify(primary, replica, TestScale.GivenSeed ?? 2, keys: 60);

    private static async Task Verify(string primaryName, string replicaName, int seed, int keys)
    {
        using ServerProcess primary = Transfers.Start(primaryName, "--repl-diskless-sync-delay", "0");
        using RespConnection client = primary.Connect();
        RandomData.Fill(client, new Random(seed), keys, hasFieldExpiry: primaryName is "redkite" or "redis 8");
        client.Run("SELECT 0").IsOk();
        foreach (string key in (string[])["same", "value", "expiry", "gone"]) client.Run($"SET {key} v").IsOk();
        client.Run("RPUSH type a").IsInteger(1);
        using ServerProcess replica = Transfers.Start(replicaName, "--replicaof", "127.0.0.1", primary.Port.ToString(CultureInfo.InvariantCulture), "--repl-diskless-sync-delay", "0");
        using RespConnection other = replica.Connect();

        // Of one moment, then key by key. Digests of the same data differ between versions.
        ChildProgram ofMoment = (await Run(primary, replica)).Succeeded();
        if (primaryName is "redkite" or "redis 8") Assert.Contains("the data is the same: DEBUG DIGEST ", ofMoment.Output, StringComparison.Ordinal);
        Assert.Contains(": 0 differ", (await Run(primary, replica, "--keys")).Succeeded().Output, StringComparison.Ordinal);

        // A client that writes all the time does not disturb.
        using (var writes = new CancellationTokenSource())
        {
            var writer = Task.Run(() => Write(primary, writes.Token), TestContext.Current.CancellationToken);
            (await Run(primary, replica)).Succeeded();
            await writes.CancelAsync();
            await writer;
        }

        other.Run("CONFIG SET replica-read-only no").IsOk();
        foreach (string change in (string[])["SET value w", "PEXPIREAT expiry 4000000000000", "DEL gone", "DEL type", "SET type a", "SET more v"]) Assert.False(other.Run(change).IsError, change);
        await AssertDifferences(primary, replica);
    }

    [Theory]
    [InlineData("redkite", "redkite")]
    public async Task Servers_without_debug_are_compared_by_dumps(string primaryName, string replicaName)
    {
        using ServerProcess primary = Transfers.Start(primaryName, "--repl-diskless-sync-delay", "0", "--hash-max-listpack-entries", "1");
        using RespConnection client = primary.Connect();
        RandomData.Fill(client, new Random(3), 4, hasFieldExpiry: true);
        client.Run("SELECT 0").IsOk();
        foreach (string key in (string[])["same", "value", "expiry", "gone"]) client.Run($"SET {key} v").IsOk();
        client.Run("RPUSH type a").IsInteger(1);

        // The same value in another encoding has another dump.
        client.Run("HSET hash a 1 b 2 c 3").IsInteger(3);
        using ServerProcess replica = Transfers.Start(replicaName, "--enable-debug-command", "no", "--replicaof", "127.0.0.1", primary.Port.ToString(CultureInfo.InvariantCulture));
        using RespConnection other = replica.Connect();
        Assert.Contains(": 0 differ", (await Run(primary, replica)).Succeeded().Output, StringComparison.Ordinal);
        Assert.NotEqual(client.Run("DUMP hash").ToString(), other.Run("DUMP hash").ToString());
        other.Run("CONFIG SET replica-read-only no").IsOk();
        foreach (string change in (string[])["SET value w", "PEXPIREAT expiry 4000000000000", "DEL gone", "DEL type", "SET type a", "SET more v"]) Assert.False(other.Run(change).IsError, change);
        await AssertDifferences(primary, replica);
    }

    [Fact]
    public async Task Server_that_does_not_follow_the_primary_is_one_line()
    {
        using ServerProcess one = Transfers.Start("redkite"), two = Transfers.Start("redkite");
        await Refused("PRIMARY and REPLICA are required", 2, Transfers.Address(one));
        await Refused("--wait needs a number", 2, Transfers.Address(one), Transfers.Address(two), "--wait", "x");
        using RespConnection client = two.Connect();
        client.Run($"REPLICAOF 127.0.0.1 {LoopbackPort.Next()}").IsOk();
        await Refused("its link to its primary is down", 1, Transfers.Address(one), Transfers.Address(two), "--wait", "1");
        using ServerProcess three = Transfers.Start("redkite");
        client.Run($"REPLICAOF 127.0.0.1 {three.Port}").IsOk();
        Assert.True(SpinWait.SpinUntil(() => client.Run("INFO replication").Text.Contains("master_link_status:up", StringComparison.Ordinal), PatienceMs));
        await Refused($"it does not follow 127.0.0.1:{one.Port}", 1, Transfers.Address(one), Transfers.Address(two), "--wait", "1");
    }

    [Fact]
    public async Task Servers_that_follow_nobody_are_compared_as_they_are()
    {
        using ServerProcess one = Transfers.Start("redkite"), two = Transfers.Start("redkite");
        using RespConnection first = one.Connect(), second = two.Connect();
        foreach (RespConnection client in (RespConnection[])[first, second]) client.Run("SET same v").IsOk();
        ChildProgram same = (await Transfers.Run(["verify-replica", $"127.0.0.1:{one.Port}", $"127.0.0.1:{two.Port}"])).Succeeded();
        Assert.Contains($"127.0.0.1:{two.Port} is no replica: both are compared as they are", same.Output, StringComparison.Ordinal);
        Assert.Contains("the data is the same", same.Output, StringComparison.Ordinal);
        second.Run("SET more v").IsOk();
        ChildProgram differs = await Transfers.Run(["verify-replica", $"127.0.0.1:{one.Port}", $"127.0.0.1:{two.Port}"]);
        Assert.Equal(1, differs.ExitCode);
        Assert.Contains("comparing key by key: their digests differ", differs.Output, StringComparison.Ordinal);
        Assert.Contains("key 'more': only the replica has it", differs.Output, StringComparison.Ordinal);
    }

    private static async Task AssertDifferences(ServerProcess primary, ServerProcess replica)
    {
        ChildProgram verify = await Run(primary, replica);
        Assert.Equal(1, verify.ExitCode);
        string[] differences = [.. verify.Lines.Where(static line => line.StartsWith("database ", StringComparison.Ordinal)).Order(StringComparer.Ordinal)];
        Assert.Equal(
            [
                "database 0, key 'expiry': it expires at no time on the primary, at 4000000000000 on the replica",
                "database 0, key 'gone': only the primary has it",
                "database 0, key 'more': only the replica has it",
                "database 0, key 'type': its value differs",
                "database 0, key 'value': its value differs",
            ],
            differences);
        Assert.EndsWith(": 5 differ", verify.Lines[^1], StringComparison.Ordinal);
    }

    private static void Write(ServerProcess primary, CancellationToken end)
    {
        using RespConnection client = primary.Connect();
        for (int i = 0; !end.IsCancellationRequested; i++)
        {
            foreach (string write in (string[])[$"INCR written:{i % 1000}", $"RPUSH written:list:{i % 700} {i}", $"SET written:soon:{i % 300} v PX 5"]) client.Run(write);
        }
    }

    private static Task<ChildProgram> Run(ServerProcess primary, ServerProcess replica, params string[] options) =>
        Transfers.Run(["verify-replica", Transfers.Address(primary), Transfers.Address(replica), .. options]);

    private static async Task Refused(string reason, int status, params string[] arguments)
    {
        ChildProgram verify = await Transfers.Run(["verify-replica", .. arguments]);
        Assert.Equal(status, verify.ExitCode);
        string line = Assert.Single(verify.Errors.TrimEnd().Split('\n'));
        Assert.StartsWith("redkite verify-replica: ", line, StringComparison.Ordinal);
        Assert.Contains(reason, line, StringComparison.Ordinal);
    }
}
