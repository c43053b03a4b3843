using System.Text;
using System.Text.Json;
using RedKite.Server.Cluster;
using RedKite.Server.Cluster.Agreement;
using RedKite.Server.Cluster.Planning;
using RedKite.Store.Keyspace;

namespace RedKite.Server.Tests.Cluster;

/// <summary>What an operator's command plans, and what its steps make of the topology. Nodes have the ports 1 to 9, and ids of their digit.</summary>
public sealed class ClusterPlannerTests
{
    private const int NodesMax = 9;

    [Theory]
    [InlineData("", 3, 0, "1: 0-5460 | 2: 5461-10922 | 3: 10923-16383")]
    [InlineData("", 6, 1, "1: 0-5460 4 | 2: 5461-10922 5 | 3: 10923-16383 6")]
    [InlineData("", 1, 0, "1: 0-16383")]
    [InlineData("", 5, 1, "1: 0-8191 3 5 | 2: 8192-16383 4")]
    [InlineData("abcabc", 6, 1, "1: 0-5460 5 | 2: 5461-10922 6 | 3: 10923-16383 4")] // primaries in three zones, and no replica in its primary's
    [InlineData("aaabbb", 6, 1, "1: 0-5460 5 | 4: 5461-10922 3 | 2: 10923-16383 6")]
    [InlineData("abcabcabc", 9, 2, "1: 0-5460 5 9 | 2: 5461-10922 6 7 | 3: 10923-16383 4 8")] // each shard in all three
    public void Create_gives_slots_evenly_and_replicas_in_other_zones(string zones, int nodes, int replicas, string expected)
    {
        ClusterView view = View(nodes, zones);
        Assert.Equal(expected, Show(Done(view, ClusterPlanner.Create(view, [], shards: null, replicas))));
    }

    [Fact]
    public void Create_takes_the_nodes_that_are_named_and_their_number()
    {
        ClusterView view = View(4);
        Assert.Equal("2: 0-16383 4", Show(Done(view, ClusterPlanner.Create(view, ["127.0.0.1:2", Id(4)], shards: 1, replicas: 0))));
        Assert.Contains("too few", Refused(() => ClusterPlanner.Create(view, [], shards: 5, replicas: 0)), StringComparison.Ordinal);
        Assert.Contains("too few", Refused(() => ClusterPlanner.Create(view, [], shards: null, replicas: 4)), StringComparison.Ordinal);
        Assert.Contains("twice", Refused(() => ClusterPlanner.Create(view, [Id(1), "127.0.0.1:1"], shards: null, replicas: 0)), StringComparison.Ordinal);
        Assert.Contains("no node", Refused(() => ClusterPlanner.Create(view, ["127.0.0.1:9"], shards: null, replicas: 0)), StringComparison.Ordinal);
    }

    // The same command again: nothing is left.
    [Fact]
    public void What_is_done_is_not_planned_again()
    {
        ClusterView view = Created(6, replicas: 1);
        Assert.True(ClusterPlanner.Create(view, [], shards: null, replicas: 1).IsEmpty);
        Assert.True(ClusterPlanner.Add(view, Id(1), isReplica: false, primary: null).IsEmpty);
        Assert.True(ClusterPlanner.Add(view, Id(4), isReplica: true, primary: null).IsEmpty);
        Assert.True(ClusterPlanner.Add(view, Id(4), isReplica: true, primary: Id(1)).IsEmpty);
        Assert.True(ClusterPlanner.Rebalance(view, weights: null).IsEmpty);
        Assert.True(ClusterPlanner.Move(view, SlotSet.Of([new SlotRange(0, 5460)]), Id(1)).IsEmpty);
        ClusterView without = Behind(view, ClusterPlanner.Remove(view, Id(4), acceptsLoss: false));
        Assert.True(ClusterPlanner.Remove(without, Id(4), acceptsLoss: false).IsEmpty);
        Assert.Contains("has a cluster already", Refused(() => ClusterPlanner.Create(Registered(view, 7), [], shards: null, replicas: 0)), StringComparison.Ordinal);
    }

    [Fact]
    public void Add_makes_a_primary_without_slots_or_a_replica_where_there_are_fewest()
    {
        ClusterView view = Registered(Created(5, replicas: 1), 6); // 1: 3 5 | 2: 4
        Assert.Equal("1: 0-8191 3 5 | 2: 8192-16383 4 | 6:", Show(Done(view, ClusterPlanner.Add(view, "127.0.0.1:6", isReplica: false, primary: null))));
        Assert.Equal("1: 0-8191 3 5 | 2: 8192-16383 4 6", Show(Done(view, ClusterPlanner.Add(view, Id(6), isReplica: true, primary: null))));
        Assert.Equal("1: 0-8191 3 5 6 | 2: 8192-16383 4", Show(Done(view, ClusterPlanner.Add(view, Id(6), isReplica: true, primary: Id(3))))); // of the shard that the replica is in
        Assert.Equal("1: 0-8191 3 | 2: 8192-16383 4 | 5:", Show(Done(view, ClusterPlanner.Add(view, Id(5), isReplica: false, primary: null)))); // a replica that has joined by itself
        Assert.Equal("1: 0-8191 3 | 2: 8192-16383 4 5", Show(Done(view, ClusterPlanner.Add(view, Id(5), isReplica: true, primary: Id(2)))));
        Assert.Contains("has slots", Refused(() => ClusterPlanner.Add(view, Id(1), isReplica: true, primary: Id(2))), StringComparison.Ordinal);
    }

    [Fact]
    public void Remove_moves_slots_and_replicas_away_first()
    {
        ClusterView view = Created(6, replicas: 1);
        ClusterPlan plan = ClusterPlanner.Remove(view, Id(2), acceptsLoss: false); // 5461 to 10922, with the replica 5
        Assert.Equal([PlanStepKind.Move, PlanStepKind.Move], plan.Stages[0].Select(static step => step.Kind));
        Assert.Equal([PlanStepKind.Replicate], plan.Stages[1].Select(static step => step.Kind));
        Assert.Equal([PlanStepKind.Forget], plan.Stages[2].Select(static step => step.Kind));
        ClusterTopology behind = Done(view, plan);
        Assert.Equal([8192, 8192], ((int[])[1, 3]).Select(node => SlotsOf(behind, node)));
        Assert.Null(behind.Find(Id(2)));
        Assert.Contains(Id(2), behind.Terms.Removed);
        Assert.Equal(2, behind.ReplicasOf(behind.Find(Id(5))!.PrimaryId!).Count());

        // A replica follows none any more before it is taken out, and removes its copy of the keys.
        plan = ClusterPlanner.Remove(view, Id(4), acceptsLoss: false);
        Assert.Equal([PlanStepKind.Detach, PlanStepKind.Forget], plan.Steps.Select(static step => step.Kind));
        Assert.Equal("1: 0-5460 | 2: 5461-10922 5 | 3: 10923-16383 6", Show(Done(view, plan)));
        plan = ClusterPlanner.Remove(Gone(view, 4), Id(4), acceptsLoss: false);
        Assert.True(Assert.Single(plan.Steps).NeedsAbsence);
        Assert.Contains("failover", Refused(() => ClusterPlanner.Remove(Gone(view, 1), Id(1), acceptsLoss: false)), StringComparison.Ordinal);
        Assert.Contains("replace", Refused(() => ClusterPlanner.Remove(Gone(Created(3, 0), 1), Id(1), acceptsLoss: false)), StringComparison.Ordinal);
        Assert.Contains("no other primary", Refused(() => ClusterPlanner.Remove(Created(1, 0), Id(1), acceptsLoss: false)), StringComparison.Ordinal);
    }

    // Some random clusters: shares differ by one slot at most, nothing moves twice, and no slot moves that need not.
    [Fact]
    public void Rebalance_shares_slots_out_with_few_moves()
    {
        var random = new Random(20261128);
        for (int round = 0; round < 12; round++)
        {
            int primaries = random.Next(1, NodesMax + 1);
            ClusterView view = Created(primaries, replicas: 0);
            int[] ends = [.. Enumerable.Range(0, primaries - 1).Select(_ => random.Next(KeySlot.Count)).Order(), KeySlot.Count];
            ClusterTopology topology = view.Topology!;
            for (int i = 0, first = 0; i < primaries; first = ends[i++]) topology = topology.WithOwner(Enumerable.Range(first, ends[i] - first), Id(i + 1));
            view = With(view, topology);
            ClusterPlan plan = ClusterPlanner.Rebalance(view, weights: null);
            ClusterTopology behind = Done(view, plan);
            int[] counts = [.. Enumerable.Range(1, primaries).Select(node => SlotsOf(behind, node))];
            Assert.True(counts.Max() - counts.Min() <= 1, string.Join(' ', counts));
            int needed = Enumerable.Range(1, primaries).Sum(node => Math.Max(0, SlotsOf(behind, node) - SlotsOf(topology, node)));
            Assert.Equal(needed, plan.Steps.Sum(static step => step.Slots.Count));
            Assert.True(ClusterPlanner.Rebalance(With(view, behind), weights: null).IsEmpty);
        }
    }

    [Fact]
    public void Rebalance_by_keys_moves_slots_with_keys_alone()
    {
        ClusterView view = Created(2, replicas: 0);
        long[] keys = new long[KeySlot.Count];
        keys[10] = 500;
        keys[20] = 300;
        keys[30] = 200;
        PlanStep move = Assert.Single(ClusterPlanner.Rebalance(view, keys).Steps);
        Assert.Equal(500, move.Slots.Slots().Sum(slot => keys[slot]));
        Assert.InRange(move.Slots.Count, 1, 2);
        Assert.True(ClusterPlanner.Rebalance(With(view, Done(view, ClusterPlanner.Rebalance(view, keys))), keys).IsEmpty);
        Array.Fill(keys, 100);
        Assert.True(ClusterPlanner.Rebalance(view, keys).IsEmpty);
    }

    [Fact]
    public void Move_takes_slots_from_each_that_has_some()
    {
        ClusterView view = Created(3, replicas: 0);
        PlanStep[] steps = [.. ClusterPlanner.Move(view, SlotSet.Of([new SlotRange(5000, 6000), new SlotRange(16383, 16383)]), Id(3)).Steps];
        Assert.Equal([(Id(1), 461), (Id(2), 540)], steps.Select(static step => (step.NodeId, step.Slots.Count)));
        Assert.Equal([16382, 16383], ClusterPlanner.Some(view, Id(3), 2).Slots());
        Assert.Contains("5461 slots", Refused(() => ClusterPlanner.Some(view, Id(3), 5462)), StringComparison.Ordinal);
        Assert.Contains("does not serve", Refused(() => ClusterPlanner.Move(Gone(view, 3), SlotSet.Of([new SlotRange(0, 0)]), Id(3))), StringComparison.Ordinal);
        Assert.Contains("no primary", Refused(() => ClusterPlanner.Move(Created(2, 1), SlotSet.Of([new SlotRange(0, 0)]), Id(2))), StringComparison.Ordinal);
    }

    [Fact]
    public void Failover_takes_the_replica_that_has_most()
    {
        ClusterView view = Created(4, replicas: 3);
        ClusterView Ahead(int node) => view with { Alive = view.Alive.ToDictionary(static pair => pair.Key, pair => pair.Key == Id(node) ? pair.Value with { Position = new DataPosition("", 9) } : pair.Value) };
        PlanStep step = Assert.Single(ClusterPlanner.Failover(Ahead(3), Id(1), acceptsLoss: false).Steps);
        Assert.Equal((PlanStepKind.HandOver, Id(3)), (step.Kind, step.NodeId));
        Assert.Equal(Id(3), Done(view, new ClusterPlan([[step]])).Terms.Of(view.Topology!.Find(Id(1))!.ShardId).HandoverTo);
        Assert.Equal(Id(2), Assert.Single(ClusterPlanner.Failover(Ahead(3), Id(2), acceptsLoss: false).Steps).NodeId); // one that is named
        Assert.Contains("is gone", Refused(() => ClusterPlanner.Failover(Gone(view, 2), Id(2), acceptsLoss: false)), StringComparison.Ordinal);
        Assert.Equal(PlanStepKind.Choose, Assert.Single(ClusterPlanner.Failover(Gone(view, 1), Id(2), acceptsLoss: false).Steps).Kind);
        Assert.Contains("no live replica", Refused(() => ClusterPlanner.Failover(Created(1, 0), Id(1), acceptsLoss: false)), StringComparison.Ordinal);
    }

    // With replica-acks 1 and a replica in step that has not spoken, an acknowledged write may be missing.
    [Fact]
    public void Failover_with_loss_needs_the_operators_word()
    {
        ClusterView view = Gone(Created(3, replicas: 2), 1, 2);
        string shard = view.Topology!.Find(Id(1))!.ShardId;
        view = With(view, view.Topology.WithTerms(shard, new ShardTerms { Acks = 1, History = "h", Incarnation = "i", InStep = $"{Id(2)},{Id(3)}", SealedAt = 5 }));
        Assert.True(Assert.Throws<PlanException>(() => ClusterPlanner.Failover(view, Id(3), acceptsLoss: false)).MayLose);
        ClusterPlan plan = ClusterPlanner.Failover(view, Id(3), acceptsLoss: true);
        Assert.Equal([PlanStepKind.AcceptLoss, PlanStepKind.Choose], plan.Steps.Select(static step => step.Kind));
        Assert.True(Done(view, plan).Terms.Of(shard).AcceptsLoss);
        Assert.True(Assert.Throws<PlanException>(() => ClusterPlanner.Remove(view, Id(2), acceptsLoss: false)).MayLose);
        Assert.Equal(Id(3), Done(view, ClusterPlanner.Remove(view, Id(2), acceptsLoss: true)).Terms.Of(shard).InStep);
        Assert.True(Assert.Throws<PlanException>(() => ClusterPlanner.Replace(Registered(view, 4), Id(2), Id(4), acceptsLoss: false)).MayLose);
        Assert.Contains("no node of the shard", Refused(() => ClusterPlanner.Failover(Gone(view, 3), Id(3), acceptsLoss: true)), StringComparison.Ordinal);
    }

    [Fact]
    public void Replace_puts_a_node_in_the_place_of_one_that_is_gone()
    {
        ClusterView view = Registered(Created(4, replicas: 1), 5); // 1: 3 | 2: 4
        Assert.Contains("is not gone", Refused(() => ClusterPlanner.Replace(view, Id(3), Id(5), acceptsLoss: false)), StringComparison.Ordinal);
        ClusterPlan plan = ClusterPlanner.Replace(Gone(view, 3), Id(3), Id(5), acceptsLoss: false);
        Assert.Equal("1: 0-8191 5 | 2: 8192-16383 4", Show(Done(view, plan)));
        Assert.True(plan.Stages.Count == 1 && plan.Steps.First().NeedsAbsence);

        // The same command once more, with the gone node's id or its address.
        ClusterView replaced = With(Gone(view, 3), Done(view, plan));
        foreach (string name in (string[])[Id(3), view.Topology!.Find(Id(3))!.Address])
        {
            ClusterPlan again = ClusterPlanner.Replace(replaced, name, Id(5), acceptsLoss: false);
            Assert.True(again.IsEmpty);
            Assert.EndsWith($"is in the cluster, and no node '{name}' is", again.Note, StringComparison.Ordinal);
        }

        Assert.Contains("there is no node", Refused(() => ClusterPlanner.Replace(Registered(view, 6), "10.9.9.9:1", Id(6), acceptsLoss: false)), StringComparison.Ordinal);
        Assert.Equal("1: 0-8191 4 | 2: 8192-16383", Show(Done(view, ClusterPlanner.Replace(Gone(view, 3), Id(3), Id(4), acceptsLoss: false)))); // a replica of another shard, as which it has joined
        Assert.Contains("failover", Refused(() => ClusterPlanner.Replace(Gone(view, 1), Id(1), Id(5), acceptsLoss: true)), StringComparison.Ordinal);
        ClusterView alone = Registered(Gone(Created(2, replicas: 0), 2), 3);
        Assert.True(Assert.Throws<PlanException>(() => ClusterPlanner.Replace(alone, Id(2), Id(3), acceptsLoss: false)).MayLose);
        Assert.Equal("1: 0-8191 | 3: 8192-16383", Show(Done(alone, ClusterPlanner.Replace(alone, Id(2), Id(3), acceptsLoss: true))));
        Assert.Contains("has slots", Refused(() => ClusterPlanner.Replace(alone, Id(2), Id(1), acceptsLoss: true)), StringComparison.Ordinal);
    }

    // What another operator has done meanwhile is not undone.
    [Fact]
    public void A_step_that_has_become_impossible_is_refused()
    {
        ClusterTopology topology = Created(4, replicas: 1).Topology!;
        foreach (PlanStep step in (PlanStep[])
        [
            new(PlanStepKind.Assign, Id(1)) { Slots = SlotSet.Of([new SlotRange(16383, 16383)]) },
            new(PlanStepKind.Replicate, Id(1)) { OtherId = Id(2) },
            new(PlanStepKind.Replicate, Id(3)) { OtherId = Id(4) },
            new(PlanStepKind.Replicate, Id(9)) { OtherId = Id(1) },
            new(PlanStepKind.Forget, Id(1)),
            new(PlanStepKind.HandOver, Id(9)),
        ])
        {
            Assert.Throws<PlanException>(() => PlanStepChange.Apply(step, topology));
        }
    }

    [Fact]
    public void A_node_is_found_by_its_id_address_and_name()
    {
        ClusterView view = View(3);
        view = view with { Alive = view.Alive.ToDictionary(static pair => pair.Key, static pair => pair.Key == Id(2) ? pair.Value with { Node = pair.Value.Node with { Name = "second", HostName = "b.example", TlsPort = 102 } } : pair.Value) };
        foreach (string text in (string[])[Id(2), Id(2)[..4], "127.0.0.1:2", "localhost:2", "B.example:102", "second"]) Assert.Equal(Id(2), view.Find(text).Id);
        foreach (string text in (string[])["2", "127.0.0.1", "127.0.0.1:0", "127.0.0.1:", ":2", "", "x"]) Assert.Throws<PlanException>(() => view.Find(text));
    }

    [Fact]
    public void Faults_are_said_in_words()
    {
        Assert.Equal(["no-cluster"], FaultsOf(View(2)));
        ClusterView view = Created(4, replicas: 1);
        Assert.Empty(FaultsOf(view));
        Assert.Equal(["no-controller"], FaultsOf(view with { Controller = "" }));
        Assert.Equal(["primary-gone"], FaultsOf(Gone(view, 1)));
        Assert.Equal(["replica-gone", "no-replica"], FaultsOf(Gone(view, 3)));
        Assert.Equal(["node-not-added"], FaultsOf(Registered(view, 5)));
        Assert.Equal(["slots-without-owner"], FaultsOf(With(view, view.Topology!.WithOwner([7], null))));
        string shard = view.Topology.Find(Id(1))!.ShardId;
        Assert.Equal(["shard-sealed"], FaultsOf(With(view, view.Topology.WithTerms(shard, new ShardTerms { SealedAt = 3 }))));
        Assert.Equal(["primary-restarted"], FaultsOf(With(view, view.Topology.WithTerms(shard, new ShardTerms { Incarnation = "another" }))));
        Assert.Equal(["primary-not-serving"], FaultsOf(view with { Alive = view.Alive.ToDictionary(static pair => pair.Key, static pair => pair.Value with { Serves = pair.Key != Id(1) }) }));
        Assert.Equal(["slots-awaited"], FaultsOf(With(view, Reassignments.Note(view.Topology, view.Topology.WithOwner([7], Id(2))))));
        Assert.Equal(["handover"], FaultsOf(With(view, view.Topology.WithTerms(shard, new ShardTerms { HandoverTo = Id(3) }))));
        Assert.Equal(["replica-gone", "too-few-replicas"], FaultsOf(Gone(With(view, view.Topology.WithTerms(shard, new ShardTerms { Acks = 1 })), 3)));
        Assert.Equal(["node-taken-out"], FaultsOf(Behind(view, ClusterPlanner.Remove(view, Id(3), acceptsLoss: false))).Where(static name => name != "no-replica"));
    }

    // Its names are an interface: scripts read them.
    [Fact]
    public void The_report_has_the_documented_names()
    {
        ClusterView view = Registered(Created(2, replicas: 1), 3);
        Dictionary<string, NodeAnswer> answers = new()
        {
            [Id(1)] = new NodeAnswer { Offset = 100, Keys = 5, Moves = [new RunningMove(Id(1), Id(2), "0-9", "snapshotting", 7)] },
            [Id(2)] = new NodeAnswer { Offset = 90, Keys = 5, IsLinked = true },
        };
        using JsonDocument report = Json(json => ClusterReport.Write(json, view, answers, ClusterFaults.Of(view)));
        Assert.Equal(["state", "cluster", "version", "controller", "slots_assigned", "shards", "other_nodes", "moves", "awaited", "faults"], NamesOf(report.RootElement));
        JsonElement shard = report.RootElement.GetProperty("shards")[0];
        Assert.Equal(["id", "slot_count", "slots", "sealed", "handover_to", "replica_acks", "primary", "replicas"], NamesOf(shard));
        Assert.Equal(["id", "address", "name", "zone", "registered", "answers", "serves", "version", "offset", "keys"], NamesOf(shard.GetProperty("primary")));
        JsonElement replica = shard.GetProperty("replicas")[0];
        Assert.Equal(["id", "address", "name", "zone", "registered", "answers", "serves", "version", "offset", "keys", "in_step", "lag_bytes"], NamesOf(replica));
        Assert.Equal(10, replica.GetProperty("lag_bytes").GetInt64());
        Assert.Equal("[[0,16383]]", shard.GetProperty("slots").GetRawText());
        Assert.Equal(["slots", "from", "to", "state", "waiting_bytes"], NamesOf(report.RootElement.GetProperty("moves")[0]));
        Assert.Equal(["name", "severity", "text"], NamesOf(report.RootElement.GetProperty("faults")[0]));
        Assert.Equal("warning", report.RootElement.GetProperty("state").GetString());

        ClusterView two = Created(2, replicas: 0);
        ClusterView moving = With(two, Reassignments.Note(two.Topology!, two.Topology!.WithOwner([7], Id(2))));
        using JsonDocument waiting = Json(json => ClusterReport.Write(json, moving, new Dictionary<string, NodeAnswer>(), ClusterFaults.Of(moving)));
        string raw = Assert.Single(waiting.RootElement.GetProperty("awaited").EnumerateArray()).GetRawText();
        Assert.Equal($$"""{"slots":[[7,7]],"owner":"{{Id(2)}}","from":"{{Id(1)}}","since":{{two.Topology.Version + 1}},"waits_for":["{{Id(1)}}"]}""", raw);
        Assert.Contains("1 slot (7) of 127.0.0.1:2 (22222222) not served yet: 127.0.0.1:1 (11111111) may serve them", waiting.RootElement.GetProperty("faults")[0].GetProperty("text").GetString(), StringComparison.Ordinal);
        ClusterView gone = Gone(moving, 1);
        Assert.Empty(Assert.Single(Reassignments.Awaited(gone.Topology!, gone.Alive.Values)).WaitsFor);

        using JsonDocument plan = Json(json => ClusterReport.WritePlan(json, view, ClusterPlanner.Add(view, Id(3), isReplica: true, primary: null), "planned", "", 0));
        Assert.Equal(["outcome", "error", "note", "stages", "stages_done", "steps"], NamesOf(plan.RootElement));
        Assert.Equal(["stage", "step", "node", "to", "text"], NamesOf(plan.RootElement.GetProperty("steps")[0]));
    }

    private static string Id(int node) => new((char)('0' + node), ClusterNode.IdLength);

    private static ClusterView View(int nodes, string zones = "") => new(null, Enumerable.Range(1, nodes).ToDictionary(Id, node => Status(node, zones.Length > 0 ? zones[node - 1].ToString() : "")), Controller: Id(1));

    private static NodeStatus Status(int node, string zone) => new() { Node = new ClusterNode(Id(node)) { ShardId = "", Ip = "127.0.0.1", Port = node, Zone = zone }, Incarnation = "i", Serves = true };

    private static ClusterView Created(int nodes, int replicas)
    {
        ClusterView view = View(nodes);
        return Behind(view, ClusterPlanner.Create(view, [], shards: null, replicas));
    }

    private static ClusterView With(ClusterView view, ClusterTopology topology) => view with { Shared = new SharedTopology(topology, Revision: 1) };

    private static ClusterView Behind(ClusterView view, ClusterPlan plan) => With(view, Done(view, plan));

    private static ClusterView Registered(ClusterView view, int node) => view with { Alive = view.Alive.Append(new(Id(node), Status(node, ""))).ToDictionary() };

    private static ClusterView Gone(ClusterView view, params int[] nodes) => view with { Alive = view.Alive.Where(pair => !nodes.Any(node => pair.Key == Id(node))).ToDictionary() };

    // The topology behind a plan whose moves have succeeded.
    private static ClusterTopology Done(ClusterView view, ClusterPlan plan)
    {
        ClusterTopology topology = view.Topology ?? new ClusterTopology(0, 0, [], ClusterTopology.NoOwners(), ClusterTerms.None with { ClusterId = Id(9) });
        foreach (PlanStep step in plan.Steps)
        {
            if (step.Kind == PlanStepKind.Move) Assert.All(step.Slots.Slots(), slot => Assert.Equal(step.NodeId, topology.OwnerOf(slot)!.Id));
            topology = step.Kind == PlanStepKind.Move ? topology.WithOwner(step.Slots.Slots(), step.OtherId) : PlanStepChange.Apply(step, topology);
            Assert.NotEmpty(step.Text(view));
        }

        return TopologyDocument.ReadShared(TopologyDocument.WriteShared(topology));
    }

    private static int SlotsOf(ClusterTopology topology, int node) => SlotSet.Of(topology.RangesOf(Id(node))).Count;

    private static string Show(ClusterTopology topology) => string.Join(" | ", ClusterReport.Primaries(With(View(0), topology)).Select(primary => string.Join(' ',
        [$"{primary.Id[0]}:", .. topology.RangesOf(primary.Id).Select(static range => $"{range.First}-{range.Last}"), .. topology.ReplicasOf(primary.Id).Select(static replica => replica.Id[..1]).Order()])));

    private static string Refused(Func<ClusterPlan> plan) => Assert.Throws<PlanException>(plan).Message;

    private static string Refused(Func<SlotSet> slots) => Assert.Throws<PlanException>(slots).Message;

    private static string[] FaultsOf(ClusterView view) => [.. ClusterFaults.Of(view).Select(static fault => fault.Name)];

    private static string[] NamesOf(JsonElement element) => [.. element.EnumerateObject().Select(static member => member.Name)];

    private static JsonDocument Json(Action<Utf8JsonWriter> write)
    {
        using var bytes = new MemoryStream();
        using (var json = new Utf8JsonWriter(bytes)) write(json);
        return JsonDocument.Parse(Encoding.UTF8.GetString(bytes.ToArray()));
    }
}
