using System.Globalization;
using System.Text;
using RedKite.Server.Cluster;
using RedKite.Server.Cluster.Agreement;
using RedKite.Server.Cluster.Store;
using RedKite.Store.Keyspace;

namespace RedKite.Fuzz.Tests.Cluster;

/// <summary>
/// A cluster of the real agents and controllers in virtual time, while processes die and stand still, clocks run apart, and the network loses what a seed says. It fails if a write
/// was acknowledged that the data does not have, if a node serves behind one that took over from it, or if the cluster does not serve when everything is well again. With two shards, their slots move as a whole
/// meanwhile, in a few groups: a group has one owner, the moves end, and no node has keys of others at the end. Groups may also get other owners as by CLUSTER SETSLOT, DELSLOTS and ADDSLOTS, and
/// destinations may hand their role over while slots are given to them, and get it back.
/// </summary>
internal sealed class Simulation
{
    private static readonly TimeSpan Lease = TimeSpan.FromSeconds(10);

    private readonly SimulatedNode[] _nodes; // the last one joins at some time, or never
    private readonly HashSet<(int From, int To)> _cut = [];
    private readonly HashSet<int>[] _replied; // by groups, as what follows
    private readonly (long Version, string Incarnation)[] _served;
    private readonly int _shards;
    private readonly bool _assigns;
    private readonly bool _trades;
    private readonly long[] _assignedAs; // epochs: what was written to a group before is gone
    private readonly Dictionary<int, long> _executedAs = [];
    private readonly int _acks;
    private readonly StringBuilder _history = new();
    private readonly int[] _lives;
    private int _writes;
    private int _moves;
    private bool _isHealed;

    internal Simulation(int seed, int shards = 1, bool assigns = false, bool trades = false)
    {
        (_shards, _assigns, _trades) = (shards, assigns, trades);
        Count = shards == 1 ? 3 : 5;
        Groups = shards == 1 ? 1 : 4;
        (_nodes, _lives) = (new SimulatedNode[Count + 1], new int[Count + 1]);
        (_replied, _served) = ([.. Enumerable.Range(0, Groups).Select(static _ => new HashSet<int>())], new (long, string)[Groups]);
        _assignedAs = new long[Groups];
        Random = new Random((int)(((ulong)(uint)seed * 0x9E3779B97F4A7C15) >> 33)); // seeds in a row begin alike otherwise
        Store = new SimulatedStore(Time, Random);
        _acks = Random.Next(3) == 0 ? 0 : 1;
        for (int i = 0; i < Count; i++) Start(i);
        Create();
    }

    private int Count { get; set; }

    /// <summary>How many parts the slots have, each of which moves as a whole. A write is of the part that its number says.</summary>
    internal int Groups { get; }

    internal VirtualTime Time { get; } = new();

    internal Random Random { get; }

    internal SimulatedStore Store { get; }

    /// <summary>How many writes were acknowledged.</summary>
    internal int Replied => _replied.Sum(static writes => writes.Count);

    /// <summary>How many moves have ended with the slots given, and without.</summary>
    internal (int Given, int Failed) Moves { get; private set; }

    /// <summary>How often a source did not know for longer than clients wait whether it had given slots.</summary>
    internal int Doubts { get; private set; }

    /// <summary>How often a group got another owner that did not serve it at once.</summary>
    internal int Assigned { get; private set; }

    /// <summary>How often a destination was to hand its role over and get it back while slots were given to it.</summary>
    internal int Trades { get; private set; }

    /// <summary>How often another node took over.</summary>
    internal int Takeovers { get; private set; }

    internal void Run()
    {
        Time.Run(TimeSpan.FromSeconds(3));
        for (int fault = Random.Next(1, 7); fault > 0; fault--)
        {
            if (_shards > 1) BeginMoves();
            for (int i = _assigns ? Random.Next(4) : 0; i > 0; i--)
            {
                Assign(Random.Next(Groups), mayTake: true);
                Use(TimeSpan.FromMilliseconds(Random.Next(1, Random.Next(2) == 0 ? 30 : 3000)));
            }

            DoHarm(Random.Next(Count));
            Use(TimeSpan.FromMilliseconds(Random.Next(100, 15_000)));
        }

        Heal();
        _isHealed = true;
        Use(TimeSpan.FromSeconds(45));
        CheckEnd();
    }

    internal void Fail(string what) => throw new InvalidOperationException($"{what} (after {Time.Now / TimeSpan.TicksPerMillisecond} ms)\n{_history}");

    internal void Note(string line) => _history.AppendLine(CultureInfo.InvariantCulture, $"{Time.Now / TimeSpan.TicksPerMillisecond} {line}");

    internal void NoteExecuted(SimulatedNode node, int group, int write)
    {
        long version = node.Topology.OwnerOf(SlotOf(group))!.Epoch;
        (long Version, string Incarnation) before = _served[group];
        if (version < before.Version || (version == before.Version && node.Incarnation != before.Incarnation)) Fail($"{node.Incarnation} serves the group {group} as of the epoch {version}, and {before.Incarnation} has served it as of {before.Version}");
        _executedAs[write] = version;
        bool tookOver = version > before.Version;
        if (tookOver) Takeovers++;
        _served[group] = (version, node.Incarnation);
        if (_acks > 0 && (tookOver || _writes % 16 == 0) && _replied[group].Except(node.Data.Of(group, Groups)).FirstOrDefault() is > 0 and int lost) Fail($"{node.Incarnation} serves without the write {lost}, which was acknowledged");
    }

    internal void NoteReplied(int write)
    {
        if (_executedAs[write] >= _assignedAs[GroupOf(write)]) _replied[GroupOf(write)].Add(write);
    }

    internal void NoteMoved(bool areGiven) => Moves = areGiven ? (Moves.Given + 1, Moves.Failed) : (Moves.Given, Moves.Failed + 1);

    internal void NoteDoubt() => Doubts++;

    internal int GroupOf(int write) => write % Groups;

    internal int SlotOf(int group) => group * (KeySlot.Count / Groups);

    internal SlotSet SlotsOf(int group) => SlotSet.Of([new SlotRange(SlotOf(group), SlotOf(group + 1) - 1)]);

    /// <summary>Sends to a node what it does with it, unless the network loses it.</summary>
    internal void Send(SimulatedNode from, string to, Action<SimulatedNode> received) => Send(from, _nodes[IndexOf(to)], received);

    internal void Send(SimulatedNode from, SimulatedNode to, Action<SimulatedNode> received)
    {
        if (to is null || _cut.Contains((IndexOf(from.Id), IndexOf(to.Id))) || _nodes[IndexOf(to.Id)] != to) return;
        Time.After(TimeSpan.FromTicks(1 + Random.Next(30_000)), to.Process, () => received(to));
    }

    private SharedTopology Shared => SharedTopology.Of(Store.Find(StoreKeys.Topology)!);

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
        short[] owners = [.. Enumerable.Range(0, KeySlot.Count).Select(slot => (short)(slot * _shards / KeySlot.Count))];
        var topology = new ClusterTopology(1, _shards,
            [.. Enumerable.Range(0, Count).Select(i => new ClusterNode(IdOf(i)) { ShardId = ClusterNode.ShardIdOf(IdOf(i % _shards)), PrimaryId = i < _shards ? null : IdOf(i % _shards), Epoch = i < _shards ? i + 1 : 0 })], owners,
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

    // Faults come at all of their steps, and between them. Most moves last less than half a second.
    private void BeginMoves()
    {
        for (int i = Random.Next(3); i >= 0; i--)
        {
            int group = Random.Next(Groups);
            ClusterTopology now = Shared.Topology;
            if (now.OwnerOf(SlotOf(group))?.Id is not { } owner) continue;
            string[] others = [.. now.Nodes.Where(node => node.IsPrimary && node.Id != owner).Select(static node => node.Id)];
            if (others.Length == 0) continue;
            (SimulatedNode source, string to, string id) = (_nodes[IndexOf(owner)], others[Random.Next(others.Length)], $"{++_moves}");
            Time.After(TimeSpan.FromTicks(1), source.Process, () => source.BeginMove(group, _nodes[IndexOf(to)], id));
            Use(TimeSpan.FromMilliseconds(Random.Next(1, 400)));
        }
    }

    // The first step of CLUSTER SETSLOT ... NODE, and of ADDSLOTS; or DELSLOTS. The command has ended then, as if its client had died: the rest is its owner's. The keys are lost.
    private void Assign(int group, bool mayTake)
    {
        ClusterTopology now = Shared.Topology;
        string? owner = now.OwnerOf(SlotOf(group))?.Id;
        ClusterNode[] others = [.. now.Nodes.Where(node => node.IsPrimary && node.Id != owner)];
        if (others.Length == 0) return;
        ClusterNode? to = mayTake && owner is not null && Random.Next(4) == 0 ? null : others[Random.Next(others.Length)];
        long epoch = Math.Max(now.Epoch, now.Nodes.Max(static node => node.Epoch)) + 1;
        ClusterTopology next = now.WithOwner(SlotsOf(group).Slots(), to?.Id).WithEpoch(epoch);
        if (to is not null) next = next.WithNode(to.Id, to with { Epoch = epoch });
        next = Reassignments.Note(now, next).WithVersion(now.Version + 1);
        Store.TryCommit([], [new StorePut(StoreKeys.Topology, TopologyDocument.WriteShared(next))]);
        Note($"the group {group} is {to?.Id[^4..] ?? "no node"}'s by the version {next.Version}, and was {owner?[^4..] ?? "no node"}'s");
        _assignedAs[group] = epoch;
        _replied[group].Clear();
        Assigned++;
    }

    /// <summary>A move has come to one of its steps: now and then something happens to who takes part in it, then or soon.</summary>
    internal void NoteStep(string id, SimulatedNode source, SimulatedNode target)
    {
        if (_isHealed || Random.Next(8) > 0) return;
        SimulatedNode harmed = Random.Next(2) == 0 ? source : target;
        bool cancels = Random.Next(3) == 0;
        Time.After(TimeSpan.FromTicks(1 + Random.NextInt64(60 * TimeSpan.TicksPerMillisecond)), process: null, () =>
        {
            if (_isHealed) return;
            if (cancels) Time.After(TimeSpan.FromTicks(1), target.Process, () => target.EndReception(id, "the destination has canceled the move"));
            else DoHarm(IndexOf(harmed.Id));
        });
        if (Random.Next(2) == 0) Time.After(TimeSpan.FromMilliseconds(Random.Next(100, 14_000)), process: null, HealNetwork);
    }

    /// <summary>
    /// A source is about to give slots. Now and then the destination hands its role over and gets it back meanwhile: the store is slow to answer the source, so that it may see the last of these changes alone, and the destination cannot take
    /// its promise back.
    /// </summary>
    internal void NoteGiving(SimulatedNode source, SimulatedNode target)
    {
        if (!_trades || _isHealed || Random.Next(2) == 0 || Shared.Topology.ReplicasOf(target.Id).FirstOrDefault() is not { } replica) return;
        Trades++;
        source.Store.DelayMax = TimeSpan.FromMilliseconds(Random.Next(500, 1900));
        HandOver(replica.Id);
        Time.After(TimeSpan.FromMilliseconds(Random.Next(150, 900)), process: null, () =>
        {
            if (_isHealed) return;
            target.Store.LosesRequests = true;
            HandOver(target.Id);
        });
        Time.After(TimeSpan.FromMilliseconds(Random.Next(2000, 7000)), process: null, HealNetwork);
    }

    private void DoHarm(int index)
    {
        SimulatedNode node = _nodes[index];
        int kind = Random.Next(_shards == 1 ? 11 : 12);
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
                if (Count < _nodes.Length) Start(Count++);
                break;
            case 9:
                Forget(IdOf(index));
                break;
            case 11:
                node.Store.DelayMax = TimeSpan.FromMilliseconds(Random.Next(1500, 15_000)); // what it has sent may arrive when its registration has ended
                break;
            default:
                HealNetwork();
                break;
        }
    }

    private void HandOver(string to)
    {
        SharedTopology now = Shared;
        if (now.Topology.Find(to) is not { IsPrimary: false } replica) return;
        ClusterTopology next = now.Topology.WithTerms(replica.ShardId, now.Topology.Terms.Of(replica.ShardId) with { HandoverTo = to }).WithVersion(now.Topology.Version + 1);
        Store.TryCommit([], [new StorePut(StoreKeys.Topology, TopologyDocument.WriteShared(next))]);
    }

    // As CLUSTER FORGET does; not the last replica, and not while a primary is chosen, which says that what it alone has may be lost.
    private void Forget(string id)
    {
        ClusterTopology now = Shared.Topology;
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

        for (int group = 0; group < Groups; group++)
        {
            if (Shared.Topology.OwnerOf(SlotOf(group)) is null) Assign(group, mayTake: false);
        }
    }

    private void CheckEnd()
    {
        ClusterTopology topology = Shared.Topology;
        Dictionary<string, NodeStatus> alive = Store.Entries.Where(static entry => entry.Key.StartsWith(StoreKeys.Nodes, StringComparison.Ordinal)).Select(static entry => NodeStatus.Read(entry.Value)).ToDictionary(static status => status.Node.Id);
        for (int group = 0; group < Groups; group++)
        {
            SimulatedNode[] serving = [.. _nodes.Take(Count).Where(node => node.ServesGroup(group))];

            // More was lost than the terms allow: then an operator decides, and nothing else may have done so.
            if (serving.Length == 0 && _acks > 0 && Succession.Hindrance(topology, topology.OwnerOf(SlotOf(group))!, alive) is not null) continue;
            if (serving.Length != 1) Fail($"{serving.Length} nodes serve the group {group} at the end");
            int[] lost = [.. _replied[group].Except(serving[0].Data.Of(group, Groups))];
            if (_acks > 0 && lost.Length > 0) Fail($"acknowledged writes are lost: {string.Join(' ', lost.Take(5))} of {_replied[group].Count}");
        }

        foreach (SimulatedNode node in _nodes.Take(Count)) CheckMoves(node, topology);
    }

    private void CheckMoves(SimulatedNode node, ClusterTopology topology)
    {
        if (node.Moving is { } moving) Fail($"{node.Incarnation} has not ended a move: {moving}");
        if (topology.Find(node.Id) is not { } self || topology.Terms.Of(self.ShardId).IsSealed || node.Position == DataPosition.None) return;
        string owner = self.PrimaryId ?? self.Id;
        if (_nodes[IndexOf(owner)].History != node.History) return; // a replica that does not follow: it hears of no removal
        for (int group = 0; group < Groups; group++)
        {
            if (topology.OwnerOf(SlotOf(group))!.Id != owner && node.Data.Of(group, Groups).FirstOrDefault() is > 0 and int foreign) Fail($"{node.Incarnation} has the key {foreign} of the group {group}, which is another node's");
        }
    }
}
