using System.Globalization;
using RedKite.TestSupport;

namespace RedKite.EndToEnd.Tests.Clusters;

/// <summary>
/// Clients of other makers in cluster mode write and read, while a role is handed over, a primary is killed, and slots move, key by key and as a whole: three shards with a replica each, in processes of their own, by a real etcd.
/// Every acknowledged write is there, no answer is wrong, and errors are of the kinds that docs/cluster.md names.
/// </summary>
public sealed class ClusterWorkloadTests
{
    private const int Shards = 3;
    private const int Moved = 20;
    private const int MovedAsWhole = 2_000;

    [Fact]
    public Task Clients_of_other_makers_go_on() => Run(rounds: 1, writes: 10);

    [Fact]
    [Long]
    public Task Clients_of_other_makers_go_on_for_long() => Run(rounds: 10, writes: 100);

    private static async Task Run(int rounds, int writes)
    {
        Assert.SkipWhen(EtcdProgram.FilePath is null, EtcdProgram.Missing);
        int seed = TestScale.GivenSeed ?? Random.Shared.Next();
        await using EtcdProgram etcd = await EtcdProgram.StartAsync(members: 1, certificates: null, TestContext.Current.CancellationToken);
        using var folder = new TemporaryFolder();
        NodePlace[] places = [.. Enumerable.Range(0, 2 * Shards).Select(i => new NodePlace(System.Net.IPAddress.Loopback, LoopbackPort.Next(), folder.File(i.ToString(CultureInfo.InvariantCulture))))];
        using var nodes = new ClusterNodes(places, etcd.Addresses[0].ToString());
        nodes.Create(Shards);
        using var history = new ClusterHistory();
        using var clients = new ClusterClients(nodes, history, seed, ClusterClients.Python, ClusterClients.Ioredis, ClusterClients.NodeRedis, ClusterClients.StackExchange, ClusterClients.RedisCli, ClusterClients.BullMq);
        clients.WaitForProgress(writes, "at the beginning");
        var random = new Random(seed);
        for (int round = 0; round < rounds; round++)
        {
            int[] primaries = nodes.Primaries();
            random.Shuffle(primaries);
            HandOver(nodes, primaries[0]);
            clients.WaitForProgress(writes, "behind a handover");

            nodes.Kill(primaries[1]);
            int before = primaries[1];
            nodes.WaitFor(() => nodes.Primaries().Length == Shards, "the replica as primary");
            nodes.Start(before); // with one replica, no write is acknowledged before it is back
            nodes.WaitForAll();
            clients.WaitForProgress(writes, "behind a death");

            await Reshard(nodes);
            clients.WaitForProgress(writes, "behind a reshard");

            // As a whole, while clients write, and back.
            string[] serving = [.. nodes.Primaries().Select(node => nodes.PlaceOf(node).Text)];
            await Cluster(etcd, "move", "--count", MovedAsWhole.ToString(CultureInfo.InvariantCulture), "--from", serving[0], "--to", serving[1]);
            clients.WaitForProgress(writes, "behind a move");
            await Cluster(etcd, "rebalance");
            clients.WaitForProgress(writes, "behind a rebalance");
        }

        clients.Stop();
        nodes.WaitForAll();
        clients.ReadAtEnd();
        string verdict = await history.Judge(nodes.Log);
        TestContext.Current.TestOutputHelper?.WriteLine($"seed {seed}: {verdict}\nerrors: {string.Join(' ', history.Errors)}");
        ClusterErrors.Expect(history.Errors);
    }

    private static void HandOver(ClusterNodes nodes, int primary)
    {
        int replica = nodes.ReplicaOf(primary);
        string? reply = null;
        nodes.WaitFor(() => (reply = nodes.Try(replica, "CLUSTER FAILOVER")) == "OK" || nodes.IsPrimary(replica), () => $"the handover: {reply}");
        nodes.WaitFor(() => nodes.IsPrimary(replica) && !nodes.IsPrimary(primary), "the roles");
    }

    private static async Task Cluster(EtcdProgram etcd, params string[] arguments)
    {
        ChildProgram run = (await Transfers.Run(["cluster", .. arguments, "--cluster-etcd", etcd.Addresses[0].ToString(), "--yes"])).Succeeded();
        Assert.Contains("move ", run.Output, StringComparison.Ordinal);
    }

    // Key by key, as operators do it.
    private static async Task Reshard(ClusterNodes nodes)
    {
        int[] primaries = nodes.Primaries();
        string from = nodes.Try(primaries[0], "CLUSTER MYID")!, to = nodes.Try(primaries[1], "CLUSTER MYID")!;
        ChildProgram cli = await ChildProgram.Run(
            OracleProgram.Cli,
            ["--cluster", "reshard", nodes.PlaceOf(primaries[0]).Text, "--cluster-from", from, "--cluster-to", to, "--cluster-slots", Moved.ToString(CultureInfo.InvariantCulture), "--cluster-yes"]);
        Assert.True(cli.ExitCode == 0, cli.Output + cli.Errors);
    }
}
