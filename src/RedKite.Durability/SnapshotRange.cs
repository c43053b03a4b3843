using RedKite.Store.Keyspace;

namespace RedKite.Server.Durability;

/// <summary>What of the data a background snapshot writes. The walk passes over everything all the same, because the next snapshot needs all entries in one epoch.</summary>
internal sealed record SnapshotRange
{
    internal static readonly SnapshotRange All = new();

    /// <summary>Whether a database is written, by its index at the snapshot point; null: all are.</summary>
    internal Func<int, bool>? Databases { get; init; }

    /// <summary>Whether a key is written; null: all are. It is asked with the key's stripe locked, once or more often for each key, and always answers the same.</summary>
    internal KeyFilter? Keys { get; init; }

    /// <summary>The keys of some slots. That needs no keyspace with slots.</summary>
    internal static SnapshotRange Of(SlotRange slots) => new() { Keys = key => slots.Contains(KeySlot.Of(key)) };

    internal bool HasDatabase(int index) => Databases?.Invoke(index) != false;
}

internal delegate bool KeyFilter(ReadOnlySpan<byte> key);
