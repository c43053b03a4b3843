using RedKite.Store.Memory;
using RedKite.Store.Values.Streams;

namespace RedKite.Server.Commands.Streams;

/// <summary>The entries of a group that have been pending for a time, those that have for longest first.</summary>
/// <remarks>
/// Pending entries are in the order of ids, so all are looked at. The group notes the earliest delivery, and a read looks only if
/// an entry may be idle for long enough.
/// </remarks>
internal ref struct IdleEntries
{
    // There may be twice as many as are wanted, in a list that doubles.
    private const int RoomForEach = 4;

    private NativeList<IdleEntry> _entries;

    internal readonly ReadOnlySpan<IdleEntry> Entries => _entries.Items;

    /// <summary>Finds the entries that were delivered at a time or before. Those that were deleted stay pending, but cannot be delivered again.</summary>
    /// <param name="stream">The stream.</param>
    /// <param name="group">The group.</param>
    /// <param name="deliveredMsMax">The time.</param>
    /// <param name="countMax">The maximum number of entries; 0: as many as there is memory for.</param>
    internal static IdleEntries Find(StreamValue stream, StreamGroup group, long deliveredMsMax, long countMax)
    {
        var found = new IdleEntries();
        long roomFor = NativeList<IdleEntry>.CountMax / RoomForEach;
        countMax = countMax == 0 ? roomFor : Math.Min(countMax, roomFor);
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

    public void Dispose() => _entries.Dispose();

    // Those beyond the maximum are dropped whenever there are twice as many.
    private void Add(in IdleEntry entry, long countMax)
    {
        if (_entries.Count >= countMax * 2) Sort(countMax);
        _entries.Add(entry);
    }

    private void Sort(long countMax)
    {
        _entries.Items.Sort();
        _entries.Truncate((int)Math.Min(int.MaxValue, countMax));
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
