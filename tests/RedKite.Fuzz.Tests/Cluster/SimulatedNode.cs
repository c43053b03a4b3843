using RedKite.Server.Cluster;
using RedKite.Server.Cluster.Agreement;

namespace RedKite.Fuzz.Tests.Cluster;

/// <summary>
/// A node whose data is a list of writes, under the real agent: it executes writes and reads as a server does, sends them to its replicas, and lets their replies leave when enough have acknowledged.
/// </summary>
internal sealed partial class SimulatedNode : INode
{
    private readonly Simulation _simulation;
    private readonly List<(long Offset, int Write)> _waiting = []; // replies
    private readonly Dictionary<string, long> _acknowledged = new(StringComparer.Ordinal); // offsets of replicas, by their ids
    private bool _serves;
    private bool _isPaused;
    private bool _isSealed;
    private bool _isSynchronizing;
    private string? _follows;
    private long _link; // counts the links to a primary
    private long _released; // the greatest offset whose reply has left in this role

    internal SimulatedNode(Simulation simulation, string id, int life, VirtualTime.Process process, SimulatedStore.Client store, TimeSpan lease)
    {
        (_simulation, Id, Process, Store) = (simulation, id, process, store);
        Incarnation = $"{id[^4..]}-{life}";
        History = $"{Incarnation}-0";
        Topology = new ClusterTopology(0, 0, [new ClusterNode(id) { ShardId = ClusterNode.ShardIdOf(id) }], ClusterTopology.NoOwners());
        Deadline = new LeaseDeadline(process.Clock);
        Agent = new NodeAgent(store, this, Deadline, process.Clock, lease);
        Controller = new ClusterController(store, Incarnation, process.Clock, lease, static () => true, (_, _) => { });
    }

    internal VirtualTime.Process Process { get; }

    internal SimulatedStore.Client Store { get; }

    internal NodeAgent Agent { get; }

    internal ClusterController Controller { get; }

    internal LeaseDeadline Deadline { get; }

    public string Id { get; }

    public string Incarnation { get; }

    public ClusterTopology Topology { get; private set; }

    public int Acks { get; internal set; }

    public bool IsNoSuccessor => false;

    public bool HasKeysOfItsOwn => false;

    public IEnumerable<string> ReplicasInStep => _acknowledged.Keys;

    public bool CountedReplicasHaveAll => _released == 0 || Counted.Count(offset => offset >= _released) >= Acks;

    // Offsets that replicas have acknowledged which count by the topology.
    private IEnumerable<long> Counted
    {
        get
        {
            HashSet<string> inStep = [.. Topology.Terms.Of(Topology.Find(Id)!.ShardId).ReplicasInStep];
            return _acknowledged.Where(each => inStep.Contains(each.Key) && Topology.Find(each.Key)?.PrimaryId == Id).Select(static each => each.Value);
        }
    }

    internal string History { get; private set; }

    /// <summary>What it has.</summary>
    internal WriteList Data { get; private set; } = WriteList.Empty;

    internal bool IsPrimary { get; private set; } = true;

    /// <summary>Whether commands on the keys of its shard execute now.</summary>
    internal bool Serves => _serves && IsPrimary && !Deadline.HasEnded && !Process.IsDead;

    public DataPosition Position => _isSynchronizing ? DataPosition.None : new DataPosition(History, Data.Count);

    public ClusterNode Describe() => new(Id) { ShardId = "", Ip = "10.0.0.1", Port = 7000 };

    public async Task Apply(ClusterTopology topology, bool serves)
    {
        await Pass();
        ClusterNode self = topology.Find(Id)!;
        if (topology.Find(Id) is null) throw new InvalidOperationException("a topology without the node itself");
        Topology = topology;
        _serves = serves;
        Note($"goes by {topology.Version}, {(self.PrimaryId is null ? "primary" : "replica")}{(serves ? ", serves" : "")} at {Position}");
        string? primary = self.PrimaryId;
        bool isSealed = topology.Terms.Of(self.ShardId).IsSealed;
        if (primary is null && !IsPrimary)
        {
            (IsPrimary, _follows, _isConnected) = (true, null, false);
            _link++;
            if (_isSynchronizing) _simulation.Fail($"{Incarnation} is promoted without whole data");
            History = $"{Incarnation}-{topology.Version}";
            _acknowledged.Clear();
            _released = 0;
        }
        else if (primary is not null && IsPrimary)
        {
            IsPrimary = false;
            _reception?.End("the destination is no primary any more");
            _waiting.Clear(); // their clients get errors: the outcome is unknown
        }

        Release(); // others count
        RemoveForeign();
        if (isSealed) return;
        bool goesOn = _isSealed;
        _isSealed = false;
        if (primary is not null && (primary != _follows || goesOn)) Follow(primary);
    }

    public Task Keep() => Task.CompletedTask; // a new life knows nothing of the one before: what a file has kept decides nothing

    public async Task<DataPosition> Seal()
    {
        await Pass();
        _isSealed = true;
        _link++;
        Note($"is sealed at {Position}");
        return Position;
    }

    public async Task<bool> PrepareHandover(ClusterNode replica, string incarnation, CancellationToken cancellation)
    {
        bool isReady = false;
        try
        {
            return isReady = await ConfirmHandover(replica, incarnation, cancellation);
        }
        finally
        {
            _isPaused = isReady; // also when the registration has ended meanwhile
        }
    }

    public async Task<bool> ConfirmHandover(ClusterNode replica, string incarnation, CancellationToken cancellation)
    {
        _isPaused = true;
        await Pass();
        for (int i = 0; i < 50; i++)
        {
            if (_acknowledged.GetValueOrDefault(replica.Id) == Data.Count && !_isSynchronizing && _replicas.TryGetValue(replica.Id, out (SimulatedNode Node, long Link, bool IsOnline) known) && known.Node.Incarnation == incarnation)
            {
                Note($"may hand over to {replica.Id[^4..]} at {Position}");
                return true;
            }

            await Wake.Delay(Process.Clock, TimeSpan.FromMilliseconds(20), cancellation);
        }

        return false;
    }

    public void EndHandover()
    {
        _isPaused = false;
        Note("has ended handing over");
    }

    public void Log(AgreementEvent what, string text) => Note($"{what}: {text}");

    private void Note(string text) => _simulation.Note($"{Incarnation} {text}");

    /// <summary>A client writes. The reply leaves at once or later, or never.</summary>
    internal void Write(int write)
    {
        int group = _simulation.GroupOf(write);
        if (!ServesGroup(group) || _isPaused || _isHeld) return;
        _simulation.NoteExecuted(this, group, write);
        Data = Data.With(write);
        if (write < 10) Note($"writes {write}");
        Send();
        if (Acks == 0) _simulation.NoteReplied(write);
        else _waiting.Add((Data.Count, write));
        Release();
    }

    internal void Kill()
    {
        Process.Kill();
        _waiting.Clear();
    }

    private async Task Pass() => await Wake.Delay(Process.Clock, TimeSpan.FromTicks(1 + _simulation.Random.Next(50_000)), CancellationToken.None);

    private void Follow(string primary)
    {
        _follows = primary;
        long link = ++_link;
        _isConnected = false;
        Connect(primary, link);
    }

    private void Connect(string primary, long link)
    {
        if (link != _link || _isSealed) return;
        _simulation.Send(this, primary, other => other.Synchronize(this, link));
        _simulation.Time.After(TimeSpan.FromMilliseconds(400), Process, () =>
        {
            if (link == _link && !_isConnected) Follow(primary); // by another connection
        });
    }

    private bool _isConnected;
    private readonly Dictionary<string, (SimulatedNode Node, long Link, bool IsOnline)> _replicas = new(StringComparer.Ordinal);

    // At the primary.
    private void Synchronize(SimulatedNode replica, long link)
    {
        if (!IsPrimary || !_serves || Deadline.HasEnded || _isSynchronizing) return;
        WriteList data = Data;
        string history = History;
        _acknowledged.Remove(replica.Id);
        _replicas[replica.Id] = (replica, link, false);
        _simulation.Send(this, replica, _ => replica.Begin(this, link, data, history));
    }

    private void Begin(SimulatedNode primary, long link, WriteList data, string history)
    {
        if (link != _link || _isConnected) return;
        _isConnected = true;
        bool isPrefix = data.BeginsWith(Data);
        _isSynchronizing = !isPrefix;
        _simulation.Time.After(TimeSpan.FromMilliseconds(isPrefix ? 1 : 300), Process, () =>
        {
            if (link != _link) return;
            if (!isPrefix || data.Count > Data.Count) Data = data; // the stream may have brought more meanwhile
            (History, _isSynchronizing) = (history, false);
            Acknowledge(primary, link);
        });
        Watch(primary, link);
    }

    // The link breaks when nothing was heard for a second.
    private long _heardAt;

    private void Watch(SimulatedNode primary, long link)
    {
        _heardAt = _simulation.Time.Now;
        Look();

        void Look() => _simulation.Time.After(TimeSpan.FromMilliseconds(500), Process, () =>
        {
            if (link != _link) return;
            if (_simulation.Time.Now - _heardAt > TimeSpan.TicksPerSecond)
            {
                Follow(primary.Id);
                return;
            }

            Look();
        });
    }

    private void Send()
    {
        foreach ((SimulatedNode replica, long link, _) in _replicas.Values.ToArray()) SendTo(replica, link);
    }

    internal void SendTo(SimulatedNode replica, long link)
    {
        WriteList data = Data;
        string history = History;
        _simulation.Send(this, replica, _ => replica.Receive(this, link, data, history));
    }

    // The stream up to here. What was lost in between comes with it.
    private void Receive(SimulatedNode primary, long link, WriteList data, string history)
    {
        if (link != _link || !_isConnected) return;
        _heardAt = _simulation.Time.Now;
        if (_isSynchronizing || history != History) return;
        if (data.Count > Data.Count) Data = data;
        Acknowledge(primary, link);
    }

    private void Acknowledge(SimulatedNode primary, long link)
    {
        long offset = Data.Count;
        _simulation.Send(this, primary, _ => primary.Acknowledged(this, link, offset));
    }

    private void Acknowledged(SimulatedNode replica, long link, long offset)
    {
        if (!IsPrimary || !_replicas.TryGetValue(replica.Id, out (SimulatedNode Node, long Link, bool IsOnline) known) || known.Node != replica || known.Link != link) return;
        if (!_acknowledged.ContainsKey(replica.Id)) Agent.LookAgain();
        _acknowledged[replica.Id] = Math.Max(offset, _acknowledged.GetValueOrDefault(replica.Id));
        Release();
    }

    private void Release()
    {
        if (_waiting.Count == 0) return;
        long[] counted = [.. Counted];
        _waiting.RemoveAll(each =>
        {
            if (counted.Count(offset => offset >= each.Offset) < Acks) return false;
            _released = Math.Max(_released, each.Offset);
            _simulation.NoteReplied(each.Write);
            return true;
        });
    }

    /// <summary>Tells replicas that the link is alive.</summary>
    internal void Tick()
    {
        if (IsPrimary) Send();
        TickMoves();
    }
}

/// <summary>Writes in their order. Lists that go on from one another share what they have in common.</summary>
internal sealed class WriteList
{
    private readonly List<int> _writes; // longer, if others went on from this one
    private readonly int _count;

    private WriteList(List<int> writes, int count) => (_writes, _count) = (writes, count);

    internal static WriteList Empty => new([], 0);

    internal int Count => _count;

    internal IEnumerable<int> All => _writes.Take(_count);

    /// <summary>What it has of a group of slots now.</summary>
    internal HashSet<int> Of(int group, int groups)
    {
        HashSet<int> left = [];
        foreach (int write in All)
        {
            if (write == RemovalOf(group)) left.Clear();
            else if (write > 0 && write % groups == group) left.Add(write);
        }

        return left;
    }

    /// <summary>The write that removes all of a group.</summary>
    internal static int RemovalOf(int group) => -1 - group;

    internal WriteList With(int write)
    {
        List<int> writes = _writes.Count == _count ? _writes : [.. All];
        writes.Add(write);
        return new WriteList(writes, _count + 1);
    }

    internal bool BeginsWith(WriteList other) => other._count <= _count && (other._writes == _writes || other.All.SequenceEqual(All.Take(other._count)));
}
