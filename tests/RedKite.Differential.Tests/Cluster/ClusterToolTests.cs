using System.Diagnostics;
using RedKite.TestSupport;

namespace RedKite.Differential.Tests.Cluster;

/// <summary>redis-cli --cluster with nodes of its own, whose slots it moves.</summary>
public sealed class ClusterToolTests(ClusterServers servers) : IClassFixture<ClusterServers>
{
    // redis-cli moves slots with their keys, and finds nothing wrong before and behind that.
    [Fact]
    public async Task Redis_cli_checks_and_reshards()
    {
        Assert.SkipWhen(OracleProgram.Redis8Cli is null, "redis-cli is not set up");
        using (ClusterConnection node = servers.Pair.Open(0))
        {
            for (int i = 0; i < 30; i++) node.RunUncompared($"SET {{06S}}{i} {i}");
        }

        string ids = $"--cluster-from {servers.Pair.Ids[0]} --cluster-to {servers.Pair.Ids[1]}";
        Assert.Contains("All 16384 slots covered", await CliAsync($"--cluster check 127.0.0.1:{servers.Pair.Port(2)}"), StringComparison.Ordinal);
        await CliAsync($"--cluster reshard 127.0.0.1:{servers.Pair.Port(0)} {ids} --cluster-slots 3 --cluster-yes"); // 0, which has the keys, to 2
        string after = await CliAsync($"--cluster check 127.0.0.1:{servers.Pair.Port(2)}");
        Assert.Contains("All 16384 slots covered", after, StringComparison.Ordinal);
        Assert.Contains("All nodes agree", after, StringComparison.Ordinal);
        using (RespConnection target = RespConnection.Connect(servers.Pair.Port(1)))
        {
            for (int i = 0; i < 30; i++) Assert.Equal($"{i}", target.Run($"GET {{06S}}{i}").Text);
            target.Run("CLUSTER COUNTKEYSINSLOT 0").IsInteger(30);
        }

        Assert.Contains("30 keys in 3 masters", await CliAsync($"--cluster info 127.0.0.1:{servers.Pair.Port(2)}"), StringComparison.Ordinal);
        Assert.Contains($"127.0.0.1:{servers.Pair.Port(0)}: PONG", await CliAsync($"--cluster call 127.0.0.1:{servers.Pair.Port(2)} PING"), StringComparison.Ordinal);

        // As many slots for each node again; one has one more.
        Assert.Contains("Rebalancing across", await CliAsync($"--cluster rebalance 127.0.0.1:{servers.Pair.Port(0)} --cluster-threshold 0.01"), StringComparison.Ordinal);
        after = await CliAsync($"--cluster check 127.0.0.1:{servers.Pair.Port(2)}");
        Assert.Equal((2, 1), (after.Split("| 5461 slots |").Length - 1, after.Split("| 5462 slots |").Length - 1));
        Assert.Contains("30 keys in 3 masters", after, StringComparison.Ordinal);
    }

    private static async Task<string> CliAsync(string arguments)
    {
        using Process cli = Process.Start(new ProcessStartInfo(OracleProgram.Redis8Cli!, arguments) { RedirectStandardOutput = true, RedirectStandardError = true })!;
        string output = await cli.StandardOutput.ReadToEndAsync();
        await cli.WaitForExitAsync();
        Assert.True(cli.ExitCode == 0, output);
        return output;
    }
}
