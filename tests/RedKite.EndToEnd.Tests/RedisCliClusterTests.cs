using RedKite.TestSupport;

namespace RedKite.EndToEnd.Tests;

/// <summary>What people do with redis-cli --cluster, with nodes that agree by a real etcd: its commands become changes of the one topology.</summary>
public sealed class RedisCliClusterTests
{
    private const int PatienceMs = 90_000;

    [Fact]
    public async Task Redis_cli_makes_changes_and_mends_a_cluster_with_a_store()
    {
        Assert.SkipWhen(EtcdProgram.FilePath is null, EtcdProgram.Missing);
        await using EtcdProgram etcd = await EtcdProgram.StartAsync(members: 1, certificates: null, TestContext.Current.CancellationToken);
        ServerProcess[] nodes = [.. Enumerable.Range(0, 5).AsParallel().AsOrdered().WithDegreeOfParallelism(5).Select(_ => Transfers.Start(
            "redkite", "--save", "", "--cluster-enabled", "yes", "--cluster-etcd", etcd.Addresses[0].ToString(), "--cluster-announce-ip", "127.0.0.1", "--cluster-auto-join", "no", "--repl-diskless-sync-delay", "0"))];
        try
        {
            string[] names = [.. nodes.Select(static node => $"127.0.0.1:{node.Port}")];
            string[] ids = [.. nodes.Select(static node => Run(node, "CLUSTER MYID"))];
            string first = names[0];
            await Cli("[OK] All 16384 slots covered.", "create", names[0], names[1], names[2], "--cluster-yes");
            foreach (ServerProcess node in nodes[..3]) Until(() => Run(node, "CLUSTER INFO").Contains("cluster_state:ok", StringComparison.Ordinal), "the cluster");
            Assert.Equal("OK", Run(nodes[2], "SET {a} 1")); // the slot 15495, of the third
            Assert.Equal("OK", Run(nodes[0], "SET {b} 1")); // the slot 3300, of the first
            await Cli("2 keys in 3 masters", "info", first);

            // A primary without slots, and a replica.
            await Cli("New node added correctly", "add-node", names[3], first);
            await Cli("New node added correctly", "add-node", names[4], first, "--cluster-slave", "--cluster-master-id", ids[0]);
            Until(() => Run(nodes[4], "ROLE").StartsWith("slave", StringComparison.Ordinal) || Run(nodes[4], "INFO replication").Contains("role:slave", StringComparison.Ordinal), "the replica");
            await Cli("All 16384 slots covered", "check", names[3]);

            // Slots with a key and without, key by key.
            await Cli("Moving slot", "reshard", first, "--cluster-from", ids[2], "--cluster-to", ids[3], "--cluster-slots", "3", "--cluster-yes");
            Assert.Equal(3, SlotsOf(nodes[0], ids[3]));
            await Cli("Rebalancing across", "rebalance", first, "--cluster-threshold", "0.01", "--cluster-weight", $"{ids[3]}=0");
            Assert.Equal(0, SlotsOf(nodes[0], ids[3]));
            await Cli($"{names[4]}: PONG", "call", first, "PING");

            await Cli("CLUSTER RESET SOFT", "del-node", first, ids[3]);
            foreach (ServerProcess node in nodes[..3]) Until(() => !Run(node, "CLUSTER NODES").Contains(ids[3], StringComparison.Ordinal), "the node is out");

            // The keys of a server without a cluster.
            using (ServerProcess alone = Transfers.Start("redis 8"))
            {
                foreach (string key in (string[])["{a}import", "{b}import"]) Assert.Equal("OK", Run(alone, $"SET {key} kept"));
                await Cli("Importing data from", "import", first, "--cluster-from", $"127.0.0.1:{alone.Port}", "--cluster-copy", "--cluster-replace");
                Assert.Equal("2", Run(alone, "DBSIZE"));
            }

            Assert.Equal(("kept", "kept"), (Run(nodes[2], "GET {a}import"), Run(nodes[0], "GET {b}import")));
            await Cli("4 keys in 3 masters", "info", first);

            // A move that was interrupted is ended, and a slot without an owner gets one, which redis-cli chooses at random.
            Assert.Equal("OK", Run(nodes[0], $"CLUSTER SETSLOT 3300 MIGRATING {ids[1]}"));
            Assert.Equal("OK", Run(nodes[1], $"CLUSTER SETSLOT 3300 IMPORTING {ids[0]}"));
            await Cli("Fixing open slot 3300", "fix", first);
            Assert.Equal("OK", Run(nodes[0], "CLUSTER DELSLOTS 7"));
            await Cli("Covering slot 7", "fix", first);
            await Cli("All 16384 slots covered", "check", names[1]);
            await Cli("4 keys in 3 masters", "info", first);
        }
        finally
        {
            foreach (ServerProcess node in nodes) node.Dispose();
        }
    }

    // What it asks is answered with yes. As with Redis, it refuses while a node is behind, and does nothing then.
    private static async Task Cli(string expected, params string[] arguments)
    {
        ChildProgram run;
        long deadline = Environment.TickCount64 + PatienceMs;
        do run = await ChildProgram.Run(OracleProgram.Cli, ["--cluster", .. arguments], input: "yes\nyes\nyes\n");
        while (run.Output.Contains("Nodes don't agree about configuration", StringComparison.Ordinal) && Environment.TickCount64 < deadline);
        Assert.True(run.ExitCode == 0 && run.Output.Contains(expected, StringComparison.Ordinal) && !run.Output.Contains("ERR ", StringComparison.Ordinal), $"{string.Join(' ', arguments)}: {run.ExitCode}\n{run.Output}{run.Errors}");
    }

    private static int SlotsOf(ServerProcess node, string id) => Run(node, "CLUSTER NODES").Split('\n').First(line => line.StartsWith(id, StringComparison.Ordinal)).Split(' ')[8..]
        .Where(static word => word.Length > 0 && word[0] != '[')
        .Sum(static range => range.Split('-') is [var from, var to] ? int.Parse(to, System.Globalization.CultureInfo.InvariantCulture) - int.Parse(from, System.Globalization.CultureInfo.InvariantCulture) + 1 : 1);

    private static string Run(ServerProcess node, string command)
    {
        using RespConnection client = node.Connect();
        return client.Run(command) is var reply && reply.Text.Length > 0 ? reply.Text : reply.ToString()!;
    }

    private static void Until(Func<bool> holds, string what) => Assert.True(SpinWait.SpinUntil(
        () =>
        {
            if (holds()) return true;
            Thread.Sleep(20);
            return false;
        },
        PatienceMs), what);
}
