using RedKite.Server.Cluster;
using static RedKite.Server.Logging.QuantityText;

namespace RedKite.Server.Diagnostics;

/// <summary>Names the nodes, shards and moves behind findings about a cluster: phrases as those of <see cref="Culprits"/>.</summary>
/// <param name="picture">The cluster; null: the server is no node of one.</param>
internal sealed class ClusterCulprits(ClusterPicture? picture)
{
    private const int NamedMax = 3;

    /// <summary>What this node has noted last about the store and its agreement.</summary>
    internal string Fault() => picture is null ? "" : Culprits.Printable(picture.StoreError.Length > 0 ? picture.StoreError : picture.Fault);

    internal string LostWrites() => picture is null ? "" : Culprits.Printable(picture.LostWrites);

    internal string ShardsDown() => Listed(picture?.Shards.Where(shard => shard.Slots.Count > 0 && (shard.IsSealed || Find(shard.PrimaryId) is not { IsAlive: not false })),
        shard => $"the shard of {Named(shard.PrimaryId)}{(shard.Hindrance.Length > 0 ? $": {shard.Hindrance}" : shard.IsSealed ? ", for which a primary is being chosen" : "")}");

    internal string ShardsAtRisk() => Listed(picture?.Shards.Where(static shard => shard.Slots.Count > 0 && shard.Hindrance.Length > 0), shard => $"the shard of {Named(shard.PrimaryId)}: {shard.Hindrance}");

    internal string NodesBehind() => Listed(picture?.Nodes.Where(node => node.ShardId.Length > 0 && node.Version >= 0 && node.Version < picture.StoreVersion), node => Text($"{Named(node.Id)} at version {node.Version} of {picture!.StoreVersion}"));

    internal string Clocks() => Listed(picture?.Nodes.Where(static node => node.Figures is { ClockAheadSeconds: > 0 }).OrderByDescending(static node => node.Figures!.ClockAheadSeconds),
        node => Text($"{Named(node.Figures!.ClockAheadId)} is ahead of {Named(node.Id)} by {node.Figures.ClockAheadSeconds:0.#} s"));

    internal string BusiestShard() => Listed(Primaries().OrderByDescending(static node => node.Figures!.CommandsPerSecond).Take(1), node => Named(node.Id));

    internal string FullestShard() => Listed(Primaries().OrderByDescending(static node => node.Figures!.UsedBytes).Take(1), node => Named(node.Id));

    internal string Doubts() => Listed(picture?.Doubtful.Values.Distinct(), id => $"given to {Named(id)}");

    internal string Awaited() => Listed(picture?.Awaited, slots => Text($"{Times(slots.Slots.Count, "slot")} of {Named(slots.OwnerId)}{(slots.WaitsFor.Count > 0 ? $", for {Listed(slots.WaitsFor, Named)}" : "")}"));

    internal string Moves()
    {
        if (picture is null) return "";
        IEnumerable<string> whole = picture.Nodes.SelectMany(static node => node.Figures?.Moves ?? []).DistinctBy(static move => move.Id).OrderByDescending(static move => move.Seconds).Select(move => Text($"{Times(move.SlotCount, "slot")} from {Named(move.SourceId)} to {Named(move.TargetId)}, {move.State}"));
        IEnumerable<string> leaving = picture.Migrating.GroupBy(static move => move.Value).Select(moves => Text($"{Times(moves.Count(), "slot")} key by key to {Named(moves.Key)}"));
        IEnumerable<string> coming = picture.Importing.GroupBy(static move => move.Value).Select(moves => Text($"{Times(moves.Count(), "slot")} key by key from {Named(moves.Key)}"));
        return Listed(whole.Concat(leaving).Concat(coming), static text => text);
    }

    private IEnumerable<PicturedNode> Primaries() => picture?.Nodes.Where(static node => node is { PrimaryId: null, ShardId.Length: > 0, Figures: not null }) ?? [];

    private PicturedNode? Find(string id) => picture?.Nodes.FirstOrDefault(node => node.Id == id);

    // By its address, and the name that it has for people.
    private string Named(string id) => Culprits.Printable(Find(id) is { } node ? $"the node {node.Address}{(node.Name.Length > 0 ? $" ({node.Name})" : "")}" : $"the node {id}");

    private static string Listed<T>(IEnumerable<T>? items, Func<T, string> describe)
    {
        string[] all = items is null ? [] : [.. items.Select(describe)];
        return string.Join(", ", all.Take(NamedMax)) + (all.Length > NamedMax ? Text($" and {all.Length - NamedMax} more") : "");
    }
}
