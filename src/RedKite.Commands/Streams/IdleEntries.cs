using System.Buffers;
using RedKite.Store.Values.Streams;

namespace RedKite.Server.Commands.Streams;

/// <summary>The entries of a group that have been pending for a time, those that have for longest first, in a rented array.</summary>
/// <remarks>
/// Pending entries are in the order of ids, so all are looked at. The group notes the earliest delivery, and a read looks only if
/// an entry may be idle for long enough.
/// </remarks>
internal ref struct IdleEntries
{
    private const int FirstCapacity = 64;

    private IdleEntry[]? _entries;
    private int _count;

    private IdleEntries(int capacity) => _entries = ArrayPool<IdleEntry>.Shared.Rent(capacity);

    internal readonly ReadOnlySpan<IdleEntry> Entries => _entries.AsSpan(0, _count);

    /// <summary>Finds the entries that were delivered at a time or before. Those that were deleted stay pending, but cannot be delivered again.</summary>
    /// <param name="stream">The stream.</param>
    /// <param name="group">The group.</param>
    /// <param name="deliveredMsMax">The time.</param>
    /// <param name="countMax">The maximum number of entries; 0: all.</param>
    internal static IdleEntries Find(StreamValue stream, StreamGroup group, long deliveredMsMax, long countMax)
    {
        var found = new IdleEntries(FirstCapacity);
        if (!group.MayHavePendingSince(deliveredMsMax)) return found;
        long earliest = long.MaxValue;
        PendingCursor cursor = group.Pending(default);
        while (cursor.MoveNext())
        {
            long deliveredMs = cursor.Entry.DeliveredMs;
            bool isIdle = deliveredMs <= deliveredMsMax;
            if (isIdle && !stream.Contains(cursor.Id)) continue; // it never can be delivered again, so the next read need not look
            earliest = Math.Min(earliest, deliveredMs);
            if (isIdle) found.Add(new IdleEntry(deliveredMs, cursor.Id), countMax);
        }

        group.SetEarliestDelivery(earliest);
        found.Sort(countMax);
        return found;
    }

    /// <summary>Returns the array.</summary>
    public readonly void Dispose()
    {
        if (_entries is not null) ArrayPool<IdleEntry>.Shared.Return(_entries);
    }

    // Those beyond the maximum are dropped whenever there are twice as many.
    private void Add(in IdleEntry entry, long countMax)
    {
        if (countMax > 0 && _count >= countMax * 2) Sort(countMax);
        if (_count == _entries!.Length)
        {
            IdleEntry[] larger = ArrayPool<IdleEntry>.Shared.Rent(_entries.Length * 2);
            _entries.CopyTo(larger, 0);
            Dispose();
            _entries = larger;
        }

        _entries[_count++] = entry;
    }

    private void Sort(long countMax)
    {
        _entries.AsSpan(0, _count).Sort();
        if (countMax > 0) _count = (int)Math.Min(_count, countMax);
    }
}

/// <summary>A pending entry and when it was delivered, in Unix milliseconds.</summary>
internal readonly record struct IdleEntry(long DeliveredMs, StreamId Id) : IComparable<IdleEntry>
{
    public int CompareTo(IdleEntry other)
    {
        int order = DeliveredMs.CompareTo(other.DeliveredMs);
        return order != 0 ? order : Id.CompareTo(other.Id);
    }
}
