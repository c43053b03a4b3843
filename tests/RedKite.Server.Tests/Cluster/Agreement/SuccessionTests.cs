using RedKite.Server.Cluster;
using RedKite.Server.Cluster.Agreement;
using RedKite.Store.Keyspace;

namespace RedKite.Server.Tests.Cluster.Agreement;

/// <summary>Whom a controller makes the primary of a sealed shard, and when it waits.</summary>
public class SuccessionTests
{
    private const long Sealed = 7;
    private static readonly string P = new('1', 40), A = new('a', 40), B = new('b', 40), Shard = ClusterNode.ShardIdOf(P);

    // It goes by the id of the new history from +CONTINUE on, before it has what the primary had when it took over.
    [Fact]
    public void A_replica_that_has_not_caught_up_with_what_its_primary_took_over_is_not_chosen()
    {
        ShardTerms terms = Terms() with { InStep = $"{A},{B}", TakenOverAt = 100 };
        Assert.Null(Next(terms, Told(A, 90), Told(B, 99)));
        Assert.Equal(B, Next(terms, Told(A, 90), Told(B, 100))?.Next.ReplicasOf(B).First(static node => node.Id == A).PrimaryId);
    }

    // It counts for replica-acks as the others do, so what it alone has may be acknowledged.
    [Fact]
    public void A_replica_that_must_not_become_the_primary_is_not_passed_over_while_it_has_more_than_the_others()
    {
        ShardTerms terms = Terms() with { InStep = $"{A},{B}" };
        NodeStatus kept = Told(B, 100) with { IsNoSuccessor = true };
        Assert.Null(Next(terms, Told(A, 90), kept));
        Assert.Equal(A, Next(terms, Told(A, 100), kept)?.Next.Find(B)?.PrimaryId);
        Assert.Equal(B, Next(terms, Told(A, 90), kept with { IsNoSuccessor = false })?.Next.Find(A)?.PrimaryId); // the setting was changed
        Assert.NotNull(Next(terms with { AcceptsLoss = true }, Told(A, 90), kept));
        Assert.NotNull(Next(terms with { Acks = 0 }, Told(A, 90), kept));
    }

    // What it alone has may be acknowledged, until the primary says that it does not count any more.
    [Fact]
    public void A_node_that_was_taken_out_of_the_topology_is_missed_while_it_was_in_step()
    {
        ShardTerms terms = Terms() with { InStep = $"{A},{new string('c', 40)}" };
        Assert.Null(Next(terms, Told(A, 5), Told(B, 5)));
        Assert.NotNull(Next(terms with { InStep = A }, Told(A, 5), Told(B, 5)));
        Assert.NotNull(Next(terms with { AcceptsLoss = true }, Told(A, 5), Told(B, 5)));
    }

    // It would become a replica, and lose them.
    [Fact]
    public void A_new_node_that_has_keys_of_its_own_does_not_join()
    {
        NodeStatus[] told = [Told(P, 5), Told(A, 5), Told(B, 5), Told(new string('d', 40), 5)];
        ShardTerms serving = Terms() with { SealedAt = 0, Incarnation = P };
        Assert.NotNull(Next(serving, joins: true, told)?.Next.Find(told[3].Node.Id));
        told[3] = told[3] with { HasKeysOfItsOwn = true };
        Assert.Null(Next(serving, joins: true, told));
    }

    // Otherwise the topology with it would be refused, and no change be made any more.
    [Fact]
    public void A_node_whose_names_cannot_stand_in_a_topology_does_not_join()
    {
        var topology = new ClusterTopology(8, 1, [new ClusterNode(P) { ShardId = Shard }], new short[KeySlot.Count], new ClusterTerms { ClusterId = new string('f', 40) });
        NodeStatus bad = Told(A, 0) with { Node = new ClusterNode(A) { ShardId = "", Ip = "a b,c" } };
        var alive = new Dictionary<string, NodeStatus> { [P] = Told(P, 0), [A] = bad };
        Assert.Null(Succession.Next(topology, alive, static _ => TimeSpan.Zero, joins: true));
        alive[B] = Told(B, 0);
        Assert.Equal(P, Succession.Next(topology, alive, static _ => TimeSpan.Zero, joins: true)?.Next.Find(B)?.PrimaryId);
    }

    // Two shards with primaries in the zones 0 and 1, and a new node in each of the zones 2, 0, 1 and 2: wherever they are by their ids, each shard is in three zones at the end.
    [Theory]
    [InlineData(2, 1, 0, 2)]
    [InlineData(2, 0, 2, 1)]
    [InlineData(0, 1, 2, 2)]
    [InlineData(1, 0, 2, 2)]
    [InlineData(2, 2, 1, 0)]
    [InlineData(0, 2, 1, 2)]
    public void New_nodes_go_where_their_zone_is_missing(params int[] zones)
    {
        ClusterNode[] primaries = [.. Enumerable.Range(0, 2).Select(static i => new ClusterNode(new string((char)('0' + i), 40)) { ShardId = ClusterNode.ShardIdOf(new string((char)('0' + i), 40)), Zone = $"{i}" })];
        var topology = new ClusterTopology(8, 1, [.. primaries], [.. Enumerable.Range(0, KeySlot.Count).Select(static slot => (short)(slot % 2))], new ClusterTerms { ClusterId = new string('f', 40) });
        foreach (ClusterNode primary in primaries) topology = topology.WithTerms(primary.ShardId, ShardTerms.None with { Incarnation = primary.Id });
        IEnumerable<NodeStatus> all = [.. primaries.Select(static node => Told(node.Id, 5)), .. zones.Select(static (zone, i) => Told(new string((char)('a' + i), 40), 5) is var told ? told with { Node = told.Node with { Zone = $"{zone}" } } : told)];
        Dictionary<string, NodeStatus> alive = all.ToDictionary(static status => status.Node.Id);
        while (Succession.Next(topology, alive, static _ => TimeSpan.Zero, joins: true) is { } change) topology = change.Next;
        Assert.Equal(6, topology.Nodes.Length);
        Assert.All(primaries, primary => Assert.Equal(["0", "1", "2"], topology.Nodes.Where(node => node.ShardId == primary.ShardId).Select(static node => node.Zone).Order()));
    }

    // A zone is gone, and what was about each shard was one topology each: all shards are sealed by two, and have primaries by two, on the condition that none of the primaries has come back.
    [Fact]
    public void What_happens_to_many_shards_is_few_changes()
    {
        const int Shards = Succession.ChangesAtOnce + 10;
        ClusterNode[] primaries = [.. Enumerable.Range(0, Shards).Select(static i => new ClusterNode(i.ToString("x40", null)) { ShardId = ClusterNode.ShardIdOf(i.ToString("x40", null)) })];
        ClusterNode[] replicas = [.. primaries.Select(static primary => new ClusterNode("f" + primary.Id[1..]) { ShardId = primary.ShardId, PrimaryId = primary.Id })];
        var topology = new ClusterTopology(8, 1, [.. primaries, .. replicas], [.. Enumerable.Range(0, KeySlot.Count).Select(static slot => (short)(slot % Shards))], new ClusterTerms { ClusterId = new string('f', 40) });
        foreach (ClusterNode primary in primaries) topology = topology.WithTerms(primary.ShardId, Terms() with { Acks = 0, SealedAt = 0, Incarnation = primary.Id });
        Dictionary<string, NodeStatus> alive = replicas.ToDictionary(static node => node.Id, static node => Told(node.Id, 5) with { SealedAt = 0 });

        PlannedChange sealing = Succession.Next(topology, alive, static _ => TimeSpan.Zero, joins: false)!;
        Assert.Equal((Succession.ChangesAtOnce, Succession.ChangesAtOnce), (sealing.Conditions.Distinct().Count(), sealing.Texts.Count));
        topology = Succession.Next(sealing.Next, alive, static _ => TimeSpan.Zero, joins: false)!.Next;
        Assert.All(primaries, primary => Assert.Equal(9, topology.Terms.Of(primary.ShardId).SealedAt)); // the version that follows
        Assert.Null(Succession.Next(topology, alive, static _ => TimeSpan.Zero, joins: false)); // no replica has told its position for that

        foreach (ClusterNode replica in replicas) alive[replica.Id] = Told(replica.Id, 5) with { SealedAt = 9 };
        topology = Succession.Next(topology, alive, static _ => TimeSpan.Zero, joins: false)!.Next;
        topology = Succession.Next(topology, alive, static _ => TimeSpan.Zero, joins: false)!.Next;
        Assert.All(replicas, replica => Assert.True(topology.Find(replica.Id)!.IsPrimary));
        Assert.Equal(Shards, topology.Nodes.Where(static node => node.IsPrimary).Select(static node => node.Epoch).Distinct().Count());
        Assert.Null(Succession.Next(topology, alive, static _ => TimeSpan.Zero, joins: false));
    }

    private static ShardTerms Terms() => ShardTerms.None with { Acks = 1, History = "h", Incarnation = "life", SealedAt = Sealed };

    private static NodeStatus Told(string id, long offset) => new() { Node = new ClusterNode(id) { ShardId = "" }, Incarnation = id, SealedAt = Sealed, Position = new DataPosition("h", offset) };

    private static PlannedChange? Next(ShardTerms terms, params NodeStatus[] told) => Next(terms, joins: false, told);

    private static PlannedChange? Next(ShardTerms terms, bool joins, NodeStatus[] told)
    {
        ClusterNode[] nodes = [new(P) { ShardId = Shard }, new(A) { ShardId = Shard, PrimaryId = P }, new(B) { ShardId = Shard, PrimaryId = P }];
        var topology = new ClusterTopology(8, 1, [.. nodes], new short[KeySlot.Count], new ClusterTerms { ClusterId = new string('f', 40) }).WithTerms(Shard, terms);
        return Succession.Next(topology, told.ToDictionary(static status => status.Node.Id), static _ => TimeSpan.FromMinutes(1), joins);
    }
}
