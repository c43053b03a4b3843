using RedKite.Server.Following;
using RedKite.Server.Replication;
using RedKite.TestSupport;

namespace RedKite.Server.Tests.Replication;

/// <summary>
/// Servers that follow each other in virtual time, over a virtual network that delays and loses: writes, links that are cut at any message, promotions, primaries that change,
/// backlogs that end, restarts from older files, loads that are interrupted. Who may go on is decided by what the servers use
/// (<see cref="Resumption"/>, <see cref="ReplicationState"/>). A server that goes on always has the data that its primary had at that offset.
/// </summary>
public sealed class ResumptionSimulationTests
{
    private const int Servers = 4;
    private const int Steps = 300;
    private const int QuietSteps = 20_000;

    [Fact]
    public void Thousand_schedules_never_let_a_replica_go_on_from_other_data() => Simulate(schedules: 1_000);

    [Fact]
    [Long]
    public void Many_thousand_schedules_never_let_a_replica_go_on_from_other_data() => Simulate(schedules: 50_000);

    [Fact]
    public void Replica_that_is_promoted_in_the_middle_of_a_load_has_no_earlier_history()
    {
        var state = new ReplicationState();
        state.FollowNew("primary", 1);
        state.AdoptHistory(new string('a', ReplicationState.IdLength));
        state.Promote(100, isKnown: false);
        Assert.Equal((ReplicationState.NoId, -1L), (state.Ids.SecondId, state.Ids.SecondOffset));
        Assert.False(Resumption.IsOfHistory(state.Ids, new string('a', ReplicationState.IdLength), 101));
    }

    [Theory]
    [InlineData(100, true)]
    [InlineData(101, true)] // the byte after the last one that both have
    [InlineData(102, false)]
    [InlineData(0, false)]
    [InlineData(-1, false)]
    public void Second_id_names_the_bytes_before_the_promotion(long first, bool goesOn)
    {
        string old = new('a', ReplicationState.IdLength);
        ReplicationIds ids = ReplicationIds.Only(old).GoOnAs(new string('b', ReplicationState.IdLength), 100);
        Assert.Equal(goesOn, Resumption.IsOfHistory(ids, old, first));
        Assert.Equal(first > 0, Resumption.IsOfHistory(ids, new string('B', ReplicationState.IdLength), first));
        Assert.False(Resumption.IsOfHistory(ids, Resumption.Unknown, first));
    }

    /// <summary>The simulation finds rules that are wrong.</summary>
    [Theory]
    [InlineData(Plant.PromotedInLoadIsKnown)]
    [InlineData(Plant.IdStaysWithoutBacklog)]
    [InlineData(Plant.NamesOneByteMore)]
    public void A_wrong_rule_is_found(Plant plant)
    {
        string? failure = null;
        for (int schedule = 0; schedule < 2_000 && failure is null; schedule++) failure = new Network(Servers, new Random(schedule), plant).Run(Steps, QuietSteps);
        Assert.Contains("with other data", failure, StringComparison.Ordinal);
    }

    /// <summary>A rule that is wrong on purpose.</summary>
    public enum Plant
    {
        None,
        PromotedInLoadIsKnown,
        IdStaysWithoutBacklog,
        NamesOneByteMore,
    }

    private static void Simulate(int schedules)
    {
        int seed = TestScale.GivenSeed ?? 1;
        (long partials, long fulls, long afterPromotion) = (0, 0, 0);
        for (int schedule = 0; schedule < schedules; schedule++)
        {
            var network = new Network(Servers, new Random(unchecked((seed * 1_000_003) + schedule)));
            string? failure = network.Run(Steps, QuietSteps);
            Assert.True(failure is null, $"schedule {schedule} of seed {seed}: {failure}");
            partials += network.Partials;
            fulls += network.Fulls;
            afterPromotion += network.PartialsByOldId;
        }

        // All kinds were reached, each many times.
        Assert.True(partials > schedules / 2 && fulls > schedules && afterPromotion > schedules / 20, $"{partials} partial and {fulls} full synchronizations, {afterPromotion} partial ones by an earlier id");
    }

    /// <summary>A server without sockets: its data is the list of the writes that it has executed, each of which is a byte of the stream.</summary>
    private sealed class Node(int number)
    {
        internal int Number => number;
        internal ReplicationState State { get; private set; } = new();
        internal LinkHistory History { get; private set; } = new();
        internal List<int> Data { get; set; } = [];
        internal bool HasBacklog { get; set; }
        internal long Offset { get; set; }
        internal long Released { get; set; }
        internal int Followed { get; set; } = -1;
        internal Link? Link { get; set; } // to its primary
        internal bool IsUp => Link is { IsAttached: true };
        internal (List<int> Data, string Id, long Offset)? File { get; private set; }

        internal void Execute(int write)
        {
            Data.Add(write);
            if (HasBacklog) Offset++;
        }

        /// <summary>The write at a position of the stream.</summary>
        internal int At(long position) => Data[Data.Count - (int)(Offset - position)];

        internal IEnumerable<int> DataAt(long offset) => Data.Take(Data.Count - (int)(Offset - offset));

        internal void Begin()
        {
            if (HasBacklog) return;
            HasBacklog = true;
            Released = Offset;
        }

        internal void Reset(long offset) => (HasBacklog, Offset, Released) = (true, offset, offset);

        internal void Save()
        {
            bool hasPlace = HasBacklog && (!State.IsReplica || History.IsKnown);
            File = hasPlace ? ([.. Data], State.Id, Offset) : null;
        }

        // As at a server's start: a replica goes on where the file was, a primary begins a new history there.
        internal void Restart()
        {
            bool isReplica = State.IsReplica;
            (State, History, Data, HasBacklog, Offset, Released, Link) = (new ReplicationState(), new LinkHistory(), [], false, 0, 0, null);
            if (File is { } file)
            {
                Data = [.. file.Data];
                if (isReplica) State.AdoptHistory(file.Id);
                else State.Continue(file.Id, file.Offset);
                Reset(file.Offset);
                History.NoteLoaded(0, hasHistory: isReplica);
            }

            if (isReplica) State.FollowNew("primary", Followed);
        }
    }

    /// <summary>A replica's connection: what is under way in each direction arrives in its order, or never.</summary>
    private sealed class Link(Node replica, Node primary)
    {
        internal Node Replica => replica;
        internal Node Primary => primary;
        internal Queue<Action> ToPrimary { get; } = new();
        internal Queue<Action> ToReplica { get; } = new();
        internal long Position { get; set; } = -1; // of the stream's next byte; -1: the primary has not attached it
        internal bool IsAttached { get; set; } // the replica executes the stream
        internal bool IsCut { get; set; }
    }

    private sealed class Network
    {
        private readonly Node[] _nodes;
        private readonly Random _random;
        private readonly Plant _plant;
        private readonly List<Link> _links = [];
        private int _writes;
        private string? _failure;

        internal Network(int servers, Random random, Plant plant = Plant.None)
        {
            (_random, _plant) = (random, plant);
            _nodes = [.. Enumerable.Range(0, servers).Select(static number => new Node(number))];
        }

        internal long Partials { get; private set; }

        internal long Fulls { get; private set; }

        internal long PartialsByOldId { get; private set; }

        internal string? Run(int steps, int quietSteps)
        {
            for (int i = 0; i < steps && _failure is null; i++) Step(mayFail: true);

            // At last all follow one, and nothing fails.
            Node last = _nodes[_random.Next(_nodes.Length)];
            Promote(last);
            foreach (Node node in _nodes.Where(node => node != last)) Follow(node, last);
            Write(last);
            for (int i = 0; i < quietSteps && _failure is null && !IsSame(last); i++) Step(mayFail: false);
            return _failure ?? (IsSame(last) ? null : "not all have the data of the last primary in the end");
        }

        private bool IsSame(Node last) => Array.TrueForAll(_nodes, node => node == last || (node.IsUp && node.Offset == last.Offset && node.State.Id == last.State.Id && node.Data.SequenceEqual(last.Data)));

        private void Step(bool mayFail)
        {
            Node node = _nodes[_random.Next(_nodes.Length)];
            int choice = _random.Next(mayFail ? 100 : 70);
            if (choice < 40) Deliver();
            else if (choice < 55) Connect(node);
            else if (choice < 70) Stream();
            else if (choice < 82) Write(node);
            else if (choice < 86) Cut(node.Link);
            else if (choice < 88) Trim(node);
            else if (choice < 90) Promote(node);
            else if (choice < 94) Follow(node, _nodes[_random.Next(_nodes.Length)]);
            else if (choice < 96) node.Save();
            else if (choice < 97) EndBacklog(node);
            else if (choice < 98) Restart(node);
        }

        private void Write(Node node)
        {
            if (!node.State.IsReplica) node.Execute(++_writes);
        }

        private void Promote(Node node)
        {
            if (!node.State.IsReplica) return;
            Cut(node.Link);
            node.Followed = -1;
            node.State.Promote(node.Offset + (_plant == Plant.NamesOneByteMore ? 1 : 0), node.History.IsKnown || _plant == Plant.PromotedInLoadIsKnown);
            CloseReplicas(node);
        }

        private void Follow(Node node, Node primary)
        {
            if (node == primary || node.Followed == primary.Number) return;
            Cut(node.Link);
            if (!node.State.IsReplica) node.History.BeginToFollow(node.HasBacklog);
            node.Followed = primary.Number;
            node.State.FollowNew("primary", primary.Number);
            CloseReplicas(node);
        }

        private void EndBacklog(Node node)
        {
            if (node.State.IsReplica || !node.HasBacklog || _links.Exists(link => link.Primary == node && link.Position >= 0)) return;
            if (_plant != Plant.IdStaysWithoutBacklog) node.State.ChangeId();
            node.HasBacklog = false;
        }

        private void Restart(Node node)
        {
            Cut(node.Link);
            CloseReplicas(node);
            node.Restart();
        }

        private void Trim(Node node)
        {
            if (!node.HasBacklog) return;
            long kept = node.Offset - _random.Next(20);
            foreach (Link link in _links.Where(link => link.Primary == node && link.Position >= 0)) kept = Math.Min(kept, link.Position);
            node.Released = Math.Max(node.Released, kept);
        }

        private void Cut(Link? link)
        {
            if (link is null) return;
            link.IsCut = true;
            link.IsAttached = false;
            if (link.Replica.Link == link) link.Replica.Link = null;
            _links.Remove(link);
        }

        private void CloseReplicas(Node node)
        {
            foreach (Link link in _links.Where(link => link.Primary == node).ToArray()) Cut(link);
        }

        private void Deliver()
        {
            if (_links.Count == 0) return;
            Link link = _links[_random.Next(_links.Count)];
            Queue<Action> queue = _random.Next(2) == 0 ? link.ToPrimary : link.ToReplica;
            if (queue.TryDequeue(out Action? arrives)) arrives();
        }

        private void Connect(Node replica)
        {
            if (!replica.State.IsReplica || replica.Link is not null) return;
            var link = new Link(replica, _nodes[replica.Followed]);
            replica.Link = link;
            _links.Add(link);
            (string id, long first) = Resumption.Request(replica.History.IsKnown ? replica.State.Id : null, replica.Offset);
            link.ToPrimary.Enqueue(() => Answer(link, id, first));
        }

        private void Answer(Link link, string id, long first)
        {
            Node primary = link.Primary, replica = link.Replica;
            if (primary.State.IsReplica && !primary.IsUp)
            {
                Cut(link); // NOMASTERLINK
                return;
            }

            ReplicationIds ids = primary.State.Ids;
            if (Resumption.IsOfHistory(ids, id, first) && primary.HasBacklog && Resumption.IsKept(first - 1, primary.Released, primary.Offset))
            {
                Partials++;
                if (id != ids.Id) PartialsByOldId++;
                if (!replica.Data.SequenceEqual(primary.DataAt(first - 1))) _failure = $"server {replica.Number} goes on at {first - 1} of {id} with other data than server {primary.Number} had there";
                link.Position = first - 1;
                link.ToReplica.Enqueue(() => GoOn(link, ids.Id));
                return;
            }

            Fulls++;
            if (!primary.HasBacklog)
            {
                if (_plant != Plant.IdStaysWithoutBacklog) primary.State.ChangeId();
                primary.Begin();
            }

            (List<int> data, string now, long offset) = ([.. primary.Data], primary.State.Id, primary.Offset);
            link.Position = offset;
            link.ToReplica.Enqueue(() => BeginLoad(link));
            link.ToReplica.Enqueue(() => EndLoad(link, data, now, offset));
        }

        private void GoOn(Link link, string id)
        {
            Node replica = link.Replica;
            replica.Begin();
            bool isNew = replica.State.Id != id;
            replica.State.AdoptId(id, replica.Offset);
            if (isNew) CloseReplicas(replica);
            link.IsAttached = true;
        }

        // A link that is cut in between leaves data of no history.
        private void BeginLoad(Link link)
        {
            Node replica = link.Replica;
            replica.History.BeginLoad();
            CloseReplicas(replica);
            replica.Data = [.. replica.Data.Where(_ => _random.Next(2) == 0)];
            if (replica.HasBacklog) replica.Released = replica.Offset; // what is behind the offset is none of the data's
        }

        private void EndLoad(Link link, List<int> data, string id, long offset)
        {
            Node replica = link.Replica;
            replica.Data = [.. data];
            replica.State.AdoptHistory(id);
            replica.Reset(offset);
            replica.History.Know(0);
            CloseReplicas(replica);
            link.IsAttached = true;
        }

        private void Stream()
        {
            if (_links.Count == 0) return;
            Link link = _links[_random.Next(_links.Count)];
            for (int bytes = _random.Next(1, 4); bytes > 0 && link.Position >= 0 && link.Position < link.Primary.Offset; bytes--)
            {
                int write = link.Primary.At(link.Position++);
                link.ToReplica.Enqueue(() => link.Replica.Execute(write));
            }
        }
    }
}
