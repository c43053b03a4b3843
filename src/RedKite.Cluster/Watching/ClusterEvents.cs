using RedKite.Server.Logging;

namespace RedKite.Server.Cluster.Watching;

/// <summary>The last things that happened to a node of a cluster: changes of the topology, decisions of its agent and its controller, faults. From any thread.</summary>
internal sealed class ClusterEvents(Func<long> nowMs)
{
    internal const string Topology = "topology";
    internal const string Decision = "decision";
    internal const string Store = "store";
    internal const string Refused = "refused";

    private const int ShownIdLength = 8;

    private readonly Lock _lock = new();
    private readonly Queue<ClusterEvent> _events = new();

    /// <summary>Changes of a shard's primary.</summary>
    internal long Elections { get; private set; }

    /// <summary>Those that made this node the primary.</summary>
    internal long Takeovers { get; private set; }

    /// <summary>The newest first.</summary>
    internal IReadOnlyList<ClusterEvent> All
    {
        get
        {
            lock (_lock) return [.. _events.Reverse()];
        }
    }

    internal void Note(string kind, string text)
    {
        text = text.ReplaceLineEndings(" ");
        if (text.Length > ClusterLimits.EventTextMax) text = text[..ClusterLimits.EventTextMax] + "...";
        lock (_lock)
        {
            _events.Enqueue(new ClusterEvent(nowMs(), kind, text));
            while (_events.Count > ClusterLimits.EventsKept) _events.Dequeue();
        }
    }

    /// <summary>Another topology is in force: says what is different.</summary>
    internal void NoteTopology(string selfId, ClusterTopology before, ClusterTopology next)
    {
        if (ReferenceEquals(before, next)) return;
        List<string> changes = [];
        int joined = next.Nodes.Count(node => before.Find(node.Id) is null), gone = before.Nodes.Count(node => next.Find(node.Id) is null);
        if (joined > 0) changes.Add($"{QuantityText.Times(joined, "node")} joined");
        if (gone > 0) changes.Add($"{QuantityText.Times(gone, "node")} taken out");
        foreach (ClusterNode primary in next.Nodes.Where(static node => node.IsPrimary))
        {
            if (before.Nodes.FirstOrDefault(node => node.IsPrimary && node.ShardId == primary.ShardId) is { } last && last.Id != primary.Id)
            {
                Elections++;
                if (primary.Id == selfId) Takeovers++;
                changes.Add($"{Shown(primary.Id)} is the primary of {Shown(primary.ShardId)} after {Shown(last.Id)}");
            }

            (bool was, bool isNow) = (before.Terms.Of(primary.ShardId).IsSealed, next.Terms.Of(primary.ShardId).IsSealed);
            if (!was && isNow) changes.Add($"{Shown(primary.ShardId)} is sealed");
        }

        changes.AddRange(MovedSlots(before, next));
        Note(Topology, $"version {next.Version}{(changes.Count > 0 ? ": " : "")}{string.Join("; ", changes)}");
    }

    // Slots whose shard is another one. A takeover moves none.
    private static IEnumerable<string> MovedSlots(ClusterTopology before, ClusterTopology next)
    {
        Dictionary<(string From, string To), int> moved = [];
        for (int slot = 0; slot < next.Owners.Length; slot++)
        {
            string from = before.OwnerOf(slot)?.ShardId ?? "", to = next.OwnerOf(slot)?.ShardId ?? "";
            if (from != to) moved[(from, to)] = moved.GetValueOrDefault((from, to)) + 1;
        }

        return moved.OrderByDescending(static move => move.Value).Select(static move => $"{QuantityText.Times(move.Value, "slot")} from {Shown(move.Key.From)} to {Shown(move.Key.To)}");
    }

    private static string Shown(string id) => id.Length == 0 ? "none" : id[..Math.Min(id.Length, ShownIdLength)];
}
