using System.Globalization;
using System.Text;
using RedKite.Server.Cluster;
using RedKite.Server.Cluster.Agreement;
using RedKite.Server.Cluster.Store;
using RedKite.Store.Keyspace;

namespace RedKite.Fuzz.Tests.Cluster;

/// <summary>
/// A cluster of the real agents and controllers in virtual time, with one shard, while processes die and stand still, clocks run apart, and the network loses what a seed says. It fails if a write
/// was acknowledged that the data does not have, if a node serves behind one that took over from it, or if the cluster does not serve when everything is well again.
/// </summary>
internal sealed class Simulation
{
    private const int Nodes = 4; // the last one joins at some time, or never
    private const int Founders = 3;
    private static readonly TimeSpan Lease = TimeSpan.FromSeconds(10);

    private readonly SimulatedNode[] _nodes = new SimulatedNode[Nodes];
    private readonly HashSet<(int From, int To)> _cut = [];
    private readonly HashSet<int> _replied = [];
    private readonly int _acks;
    private readonly StringBuilder _history = new();
    private readonly int[] _lives = new int[Nodes];
    private long _servedVersion;
    private int _writes;

    internal Simulation(int seed)
    {
        Random = new Random((int)(((ulong)(uint)seed * 0x9E3779B97F4A7C15) >> 33)); // seeds in a row begin alike otherwise
        Store = new SimulatedStore(Time, Random);
        _acks = Random.Next(3) == 0 ? 0 : 1;
        for (int i = 0; i < Founders; i++) Start(i);
        Create();
    }

    private int Count { get; set; } = Founders;

    internal VirtualTime Time { get; } = new();

    internal Random Random { get; }

    internal SimulatedStore Store { get; }

    /// <summary>How many writes were acknowledged.</summary>
    internal int Replied => _replied.Count;

    /// <summary>How often another node took over.</summary>
    internal int Takeovers { get; private set; }

    internal void Run()
    {
        Time.Run(TimeSpan.FromSeconds(3));
        for (int fault = Random.Next(1, 7); fault > 0; fault--)
        {
            DoHarm();
            Use(TimeSpan.FromMilliseconds(Random.Next(100, 15_000)));
        }

        Heal();
        Use(TimeSpan.FromSeconds(45));
        CheckEnd();
    }

    internal void Fail(string what) => throw new InvalidOperationException($"{what} (after {Time.Now / TimeSpan.TicksPerMillisecond} ms)\n{_history}");

    internal void Note(string line) => _history.AppendLine(CultureInfo.InvariantCulture, $"{Time.Now / TimeSpan.TicksPerMillisecond} {line}");

    internal void NoteExecuted(SimulatedNode node)
    {
        long version = VersionOfShard(node.Topology);
        if (version < _servedVersion) Fail($"{node.Incarnation} serves as of the epoch {version}, and another one has served as of {_servedVersion}");
        bool tookOver = version > _servedVersion;
        if (tookOver) Takeovers++;
        _servedVersion = version;
        if (_acks > 0 && (tookOver || _writes % 16 == 0) && _replied.Except(node.Data.All).FirstOrDefault() is > 0 and int lost) Fail($"{node.Incarnation} serves without the write {lost}, which was acknowledged");
    }

    internal void NoteReplied(int write) => _replied.Add(write);

    /// <summary>Sends to a node what it does with it, unless the network loses it.</summary>
    internal void Send(SimulatedNode from, string to, Action<SimulatedNode> received) => Send(from, _nodes[IndexOf(to)], received);

    internal void Send(SimulatedNode from, SimulatedNode to, Action<SimulatedNode> received)
    {
        if (to is null || _cut.Contains((IndexOf(from.Id), IndexOf(to.Id))) || _nodes[IndexOf(to.Id)] != to) return;
        Time.After(TimeSpan.FromTicks(1 + Random.Next(30_000)), to.Process, () => received(to));
    }

    private static long VersionOfShard(ClusterTopology topology) => topology.Epoch;

    private static string IdOf(int index) => (index + 1).ToString("x40", CultureInfo.InvariantCulture);

    private static int IndexOf(string id) => int.Parse(id[^2..], NumberStyles.HexNumber, CultureInfo.InvariantCulture) - 1;

    private void Start(int index)
    {
        var process = new VirtualTime.Process(Time, 1 + (Random.NextDouble() - 0.5) * 0.04);
        var node = new SimulatedNode(this, IdOf(index), ++_lives[index], process, Store.For(process), Lease) { Acks = _acks };
        _nodes[index] = node;
        process.Begin(() => node.Agent.Run(CancellationToken.None), failure => Fail(failure.ToString()));
        process.Begin(() => node.Controller.Run(CancellationToken.None), failure => Fail(failure.ToString()));
        Tick(node);
    }

    private void Tick(SimulatedNode node) => Time.After(TimeSpan.FromMilliseconds(200), node.Process, () =>
    {
        node.Tick();
        Tick(node);
    });

    private void Create()
    {
        string shard = ClusterNode.ShardIdOf(IdOf(0));
        short[] owners = new short[KeySlot.Count];
        var topology = new ClusterTopology(1, 1,
            [.. Enumerable.Range(0, Founders).Select(i => new ClusterNode(IdOf(i)) { ShardId = shard, PrimaryId = i == 0 ? null : IdOf(0), Epoch = i == 0 ? 1 : 0 })], owners,
            new ClusterTerms { ClusterId = new string('c', 40) });
        Store.TryCommit([], [new StorePut(StoreKeys.Topology, TopologyDocument.WriteShared(topology))]);
    }

    // Clients write to the node that serves, while time passes.
    private void Use(TimeSpan time)
    {
        long end = Time.Now + time.Ticks;
        while (Time.Now < end)
        {
            Time.Run(TimeSpan.FromMilliseconds(Random.Next(1, 60)));
            SimulatedNode node = _nodes[Random.Next(Count)];
            if (node.Process.IsDead) continue;
            int write = ++_writes;
            Time.After(TimeSpan.FromTicks(1), node.Process, () => node.Write(write));
        }
    }

    private void DoHarm()
    {
        int index = Random.Next(Count);
        SimulatedNode node = _nodes[index];
        int kind = Random.Next(11);
        Note($"harm {kind} to {node.Incarnation}");
        switch (kind)
        {
            case 0:
                node.Kill();
                break;
            case 1:
                node.Kill();
                Start(index);
                break;
            case 2:
                node.Process.Stop();
                Time.After(TimeSpan.FromMilliseconds(Random.Next(100, 25_000)), process: null, node.Process.Continue);
                break;
            case 3:
                node.Store.LosesRequests = true;
                break;
            case 4:
                node.Store.LosesAnswers = true;
                break;
            case 5:
                int other = Random.Next(Count);
                _cut.Add((index, other));
                if (Random.Next(2) == 0) _cut.Add((other, index));
                break;
            case 6:
                node.Store.DelayMax = TimeSpan.FromMilliseconds(Random.Next(20, 1500));
                break;
            case 7:
                HandOver(IdOf(index));
                break;
            case 8:
                if (Count < Nodes) Start(Count++);
                break;
            case 9:
                Forget(IdOf(index));
                break;
            default:
                HealNetwork();
                break;
        }
    }

    private void HandOver(string to)
    {
        SharedTopology now = SharedTopology.Of(Store.Find(StoreKeys.Topology)!);
        if (now.Topology.Find(to) is not { IsPrimary: false } replica) return;
        ClusterTopology next = now.Topology.WithTerms(replica.ShardId, now.Topology.Terms.Of(replica.ShardId) with { HandoverTo = to }).WithVersion(now.Topology.Version + 1);
        Store.TryCommit([], [new StorePut(StoreKeys.Topology, TopologyDocument.WriteShared(next))]);
    }

    // As CLUSTER FORGET does; not the last replica, and not while a primary is chosen, which says that what it alone has may be lost.
    private void Forget(string id)
    {
        ClusterTopology now = SharedTopology.Of(Store.Find(StoreKeys.Topology)!).Topology;
        if (now.Find(id) is not { PrimaryId: { } primary, ShardId: var shard } || now.ReplicasOf(primary).Count() < 2 || now.Terms.Of(shard).IsSealed) return;
        ClusterTopology next = now.Without(id);
        next = next.WithTerms(next.Terms with { Removed = next.Terms.Removed.Add(id) }).WithVersion(now.Version + 1);
        Store.TryCommit([], [new StorePut(StoreKeys.Topology, TopologyDocument.WriteShared(next))]);
    }

    private void HealNetwork()
    {
        _cut.Clear();
        foreach (SimulatedNode node in _nodes.Take(Count))
        {
            (node.Store.LosesRequests, node.Store.LosesAnswers) = (false, false);
            node.Store.DelayMax = TimeSpan.FromMilliseconds(20);
        }
    }

    private void Heal()
    {
        HealNetwork();
        for (int i = 0; i < Count; i++)
        {
            _nodes[i].Process.Continue();
            if (_nodes[i].Process.IsDead) Start(i);
        }
    }

    private void CheckEnd()
    {
        SimulatedNode[] serving = [.. _nodes.Take(Count).Where(static node => node.Serves)];
        ClusterTopology topology = SharedTopology.Of(Store.Find(StoreKeys.Topology)!).Topology;
        if (serving.Length == 0 && _acks > 0)
        {
            // More was lost than the terms allow: then an operator decides, and nothing else may have done so.
            ClusterNode primary = topology.Nodes.Single(static node => node.IsPrimary);
            Dictionary<string, NodeStatus> alive = Store.Entries.Where(static entry => entry.Key.StartsWith(StoreKeys.Nodes, StringComparison.Ordinal)).Select(static entry => NodeStatus.Read(entry.Value)).ToDictionary(static status => status.Node.Id);
            if (Succession.Hindrance(topology, primary, alive) is not null) return;
        }

        if (serving.Length != 1) Fail($"{serving.Length} nodes serve at the end");
        int[] lost = [.. _replied.Except(serving[0].Data.All)];
        if (_acks > 0 && lost.Length > 0) Fail($"acknowledged writes are lost: {string.Join(' ', lost.Take(5))} of {_replied.Count}");
    }
}
