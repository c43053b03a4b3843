using System.Text;
using RedKite.Server.Cluster;
using RedKite.Server.Cluster.Agreement;
using RedKite.Server.Cluster.Store;
using RedKite.Server.Cluster.Watching;
using RedKite.Store.Keyspace;

namespace RedKite.Server.Tests.Cluster;

/// <summary>What follows from what the store has, for metrics, findings and the page; and the documents by which nodes say it.</summary>
public sealed class ClusterReadingTests
{
    private static readonly string A = new('a', 40), B = new('b', 40), C = new('c', 40), D = new('d', 40);

    private static readonly NodeFigures Figures = new()
    {
        UnixMs = 1_700_000_000_123,
        Serves = true,
        Keys = 12,
        UsedBytes = 1 << 20,
        MaxBytes = 1 << 30,
        CommandsPerSecond = 123.5,
        History = "h",
        Offset = 77,
        IsLinkUp = true,
        LeaseSeconds = 8.25,
        RenewalMicroseconds = 900,
        Fault = "it rains",
        ClockAheadSeconds = 2.5,
        ClockAheadId = B,
        HottestSlot = 5,
        HottestSlotPercent = 12.5,
        KeysByPart = [.. Enumerable.Range(0, NodeFigures.PartsOfSlots).Select(static part => (long)part)],
        Moves = [new MoveProgress("m", true, A, B, "0-9", 10, "streaming", "", 3, 100, 5000, 70, 1, HasEnded: false)],
    };

    [Fact]
    public void A_node_s_words_are_read_as_they_were_written()
    {
        NodeFigures read = NodeFiguresDocument.Read(NodeFiguresDocument.Write(Figures))!;
        Assert.Equal(Figures with { KeysByPart = [], Moves = [] }, read with { KeysByPart = [], Moves = [] });
        Assert.Equal(Figures.KeysByPart, read.KeysByPart);
        Assert.Equal(Figures.Moves, read.Moves);
        Assert.Null(NodeFiguresDocument.Read(NodeFiguresDocument.Write(new NodeFigures()))!.IsLinkUp);
    }

    [Theory]
    [InlineData("")]
    [InlineData("7")]
    [InlineData("[]")]
    [InlineData("{\"keys\": \"many\"}")]
    [InlineData("{\"keysByPart\": 7}")]
    [InlineData("{\"moves\": [7]}")]
    [InlineData("{\"fault\": 7}")]
    public void Words_that_are_none_are_passed_over(string text) => Assert.Null(NodeFiguresDocument.Read(Encoding.UTF8.GetBytes(text)));

    [Fact]
    public void Words_of_another_version_are_read_as_far_as_they_are_understood()
    {
        NodeFigures read = NodeFiguresDocument.Read("""{"keys": 7, "mood": {"is": "good"}, "keysByPart": [1, 2]}"""u8.ToArray())!;
        Assert.Equal((7, -1, -1, ""), (read.Keys, read.Offset, read.HottestSlot, read.Fault));
        Assert.Empty(read.KeysByPart);
    }

    [Fact]
    public void Keys_that_are_not_understood_hinder_nothing()
    {
        var reading = ClusterReading.Of(new StoreSnapshot(9, [Entry(StoreKeys.Topology, "{}"), Entry(StoreKeys.Node(A), "x"), Entry(StoreKeys.Figures + A, "x"), Entry("others/x", "x"), Entry(StoreKeys.Controller, C)]));
        Assert.Equal(C, reading.Controller);
        Assert.Null(reading.Topology);
        Assert.Empty(reading.Alive);
        Assert.Empty(reading.Primaries);
        Assert.Empty(reading.NodesBehind(5));
    }

    // A replica that may have acknowledged a write must answer, unless fewer than `replica-acks` are missing.
    [Theory]
    [InlineData(0, "", "", "2 of its 2 replicas do not answer, or have no complete data")]
    [InlineData(0, "", "b", "")]
    [InlineData(1, "b,c", "b,c", "")]
    [InlineData(1, "b", "b", "")]
    [InlineData(1, "b,c", "b", "1 of 2 replicas that may have acknowledged writes do not answer, and replica-acks is 1: fewer than 1 may be missing")]
    [InlineData(2, "b,c", "b", "")]
    [InlineData(1, "b,c", "", "2 of its 2 replicas do not answer, or have no complete data")]
    [InlineData(1, "b,e", "b", "1 of 2 replicas that may have acknowledged writes do not answer, and replica-acks is 1: fewer than 1 may be missing")] // e was taken out
    public void A_shard_is_at_risk_when_too_few_replicas_answer(int acks, string inStep, string answering, string hindrance)
    {
        ClusterTopology topology = Topology().WithTerms(A, new ShardTerms { Acks = acks, History = "h", InStep = string.Join(',', inStep.Split(',', StringSplitOptions.RemoveEmptyEntries).Select(static id => new string(id[0], 40))) });
        var reading = ClusterReading.Of(new StoreSnapshot(9, [Entry(topology), Status(A), Status(D), .. answering.Split(',', StringSplitOptions.RemoveEmptyEntries).Select(static id => Status(new string(id[0], 40)))]));
        Assert.Equal(hindrance, reading.Hindrance(reading.Topology!.Find(A)!));
        Assert.Equal("", reading.Hindrance(reading.Topology!.Find(D)!)); // it has no replicas
    }

    [Fact]
    public void Replicas_that_may_not_or_cannot_take_over_do_not_count()
    {
        ClusterTopology topology = Topology().WithTerms(A, new ShardTerms { Acks = 1, History = "h", InStep = B });
        Assert.Equal("cluster-replica-no-failover is set on every replica that answers", Of(Status(B, isNoSuccessor: true)));
        Assert.Equal("no replica that answers has caught up with the present primary", Of(Status(B, history: "other")));
        Assert.Equal("2 of its 2 replicas do not answer, or have no complete data", Of(Status(B, offset: -1)));
        topology = topology.WithTerms(A, new ShardTerms { Acks = 1, History = "h", InStep = B, TakenOverAt = 1_000_000 });
        Assert.Equal("no replica that answers has caught up with the present primary", Of(Status(B)));

        string Of(StoreEntry replica)
        {
            var reading = ClusterReading.Of(new StoreSnapshot(9, [Entry(topology), Status(A), replica]));
            return reading.Hindrance(reading.Topology!.Find(A)!);
        }
    }

    [Fact]
    public void Versions_shards_and_loads_are_counted()
    {
        ClusterTopology topology = Topology();
        var reading = ClusterReading.Of(new StoreSnapshot(9,
        [
            Entry(topology), Status(A, version: 7), Status(B, version: 5), Status(C, version: 7),
            Words(A, Figures with { CommandsPerSecond = 300, UsedBytes = 100 }), Words(D, Figures with { CommandsPerSecond = 100, UsedBytes = 100 }), Words(B, Figures with { CommandsPerSecond = 9000 }),
        ]));
        Assert.Equal([B], reading.NodesBehind(7));
        Assert.Empty(reading.NodesBehind(5));
        Assert.Equal([A, D], reading.Primaries.Select(static node => node.Id).Order());
        Assert.Equal([D], reading.Primaries.Where(reading.IsDown).Select(static node => node.Id)); // its lease has ended
        Assert.Equal((300, 3), reading.Spread(static node => node.CommandsPerSecond)); // of replicas nothing counts
        Assert.Equal((100, 1), reading.Spread(static node => node.UsedBytes));
        Assert.Equal((0, 1), reading.Spread(static _ => 0));
        Assert.Equal((300, 100), reading.Spread(static node => node.CommandsPerSecond == 300 ? 300 : 0));
    }

    [Fact]
    public void Events_say_what_another_topology_changes()
    {
        var events = new ClusterEvents(static () => 5);
        ClusterTopology before = Topology();
        events.NoteTopology(B, before, before.WithPrimary(B, 9).WithVersion(8));
        Assert.Equal((1, 1), (events.Elections, events.Takeovers));
        events.NoteTopology(B, before, before.WithOwner(Enumerable.Range(0, 100), D).WithVersion(9));
        events.NoteTopology(B, before, before.WithTerms(A, new ShardTerms { SealedAt = 9 }).WithVersion(10));
        events.NoteTopology(B, before, before.Without(C).WithVersion(11));
        events.NoteTopology(B, before, before);
        Assert.Equal(
            ["version 11: 1 node taken out", "version 10: aaaaaaaa is sealed", "version 9: 100 slots from aaaaaaaa to dddddddd", "version 8: bbbbbbbb is the primary of aaaaaaaa after aaaaaaaa"],
            events.All.Select(static each => each.Text));
        Assert.Equal((1, 1), (events.Elections, events.Takeovers));
    }

    [Fact]
    public void As_many_events_are_kept_as_may_be_and_each_is_a_line_that_is_not_too_long()
    {
        var events = new ClusterEvents(static () => 5);
        for (int i = 0; i < ClusterLimits.EventsKept + 5; i++) events.Note(ClusterEvents.Decision, $"{i}\r\n" + new string('x', 10_000));
        Assert.Equal(ClusterLimits.EventsKept, events.All.Count);
        Assert.StartsWith($"{ClusterLimits.EventsKept + 4} xxx", events.All[0].Text, StringComparison.Ordinal);
        Assert.All(events.All, static each => Assert.InRange(each.Text.Length, 10, ClusterLimits.EventTextMax + 3));
    }

    private static ClusterTopology Topology()
    {
        short[] owners = new short[KeySlot.Count];
        Array.Fill(owners, (short)3, 8000, KeySlot.Count - 8000);
        return new ClusterTopology(version: 7, epoch: 1, [new ClusterNode(A) { ShardId = A }, new ClusterNode(B) { ShardId = A, PrimaryId = A }, new ClusterNode(C) { ShardId = A, PrimaryId = A }, new ClusterNode(D) { ShardId = D }], owners)
            .WithTerms(ClusterTerms.None with { ClusterId = C });
    }

    private static StoreEntry Entry(ClusterTopology topology) => new(StoreKeys.Topology, TopologyDocument.WriteShared(topology), Revision: 1);

    private static StoreEntry Entry(string key, string value) => new(key, Encoding.UTF8.GetBytes(value), Revision: 1);

    private static StoreEntry Words(string id, NodeFigures figures) => new(StoreKeys.Figures + id, NodeFiguresDocument.Write(figures), Revision: 1);

    private static StoreEntry Status(string id, long version = 7, string history = "h", long offset = 5, bool isNoSuccessor = false) =>
        new(StoreKeys.Node(id), new NodeStatus { Node = new ClusterNode(id) { ShardId = "" }, Incarnation = A, Version = version, Position = new DataPosition(history, offset), IsNoSuccessor = isNoSuccessor }.Write(), Revision: 1);
}
