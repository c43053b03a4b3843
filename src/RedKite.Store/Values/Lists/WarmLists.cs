using System.Runtime.CompilerServices;
using RedKite.Store.Memory;

namespace RedKite.Store.Values.Lists;

/// <summary>
/// One stripe's long lists with nodes that pushes have filled and that can be compacted, in a ring through their headers. The
/// background sweep visits each list once per round: a list that has not grown since is compacted completely, in slices; a growing
/// list gets a single slice. A push therefore never pays for compaction, short-lived elements of queues are never compacted for
/// nothing, and slowly growing logs stay small although they never pause. Used with the stripe's lock held.
/// </summary>
/// <remarks>
/// Compaction takes about 30 ns for an element, as much as the push itself. With it on the push's path a list took its
/// least memory at any moment; now one that grows without a pause, by more than two nodes of 8 KiB a round, is packed lists
/// until it pauses.
/// </remarks>
internal sealed unsafe class WarmLists(Arena arena)
{
    // A node of the usual size: 40 to 150 microseconds under the lock.
    private const int BytesPerSlice = 4 * 1024;

    // The ring's own link, which no list has. Pinned, as headers point to it.
    private readonly QuickListHeader[] _ring = NewRing();

    /// <summary>Whether there are any. Needs no lock.</summary>
    internal bool AreWaiting => Ring->NextWarm != Ring;

    private QuickListHeader* Ring => (QuickListHeader*)Unsafe.AsPointer(ref _ring[0]);

    /// <summary>Adds a list that has grown by a node or is new, if it may have nodes to make compact.</summary>
    internal void Note(byte* list)
    {
        var header = (QuickListHeader*)list;
        if (header->NextWarm == null && Math.Max(header->WarmFirst, header->WarmLast) > header->PlainNodes) Append(header);
    }

    /// <summary>Removes a list that is being freed, if it is here.</summary>
    internal static void Forget(QuickListHeader* list)
    {
        if (list->NextWarm == null) return;
        list->NextWarm->PreviousWarm = list->PreviousWarm;
        list->PreviousWarm->NextWarm = list->NextWarm;
        list->NextWarm = null;
        list->PreviousWarm = null;
    }

    /// <summary>Makes a slice of one list's nodes compact.</summary>
    /// <param name="round">A number that differs from that of the round before.</param>
    /// <returns>Whether the round has work left here.</returns>
    internal bool CoolSlice(byte round)
    {
        QuickListHeader* list = Ring->NextWarm;
        if (list == Ring || list->Round == round) return false;
        bool more = new QuickList(arena, (byte*)list, default).Cool(BytesPerSlice);
        if (more && !list->HasGrown) return true;
        Forget(list);
        if (more) Append(list);
        list->Round = round;
        list->HasGrown = false;
        return true;
    }

    private void Append(QuickListHeader* list)
    {
        list->NextWarm = Ring;
        list->PreviousWarm = Ring->PreviousWarm;
        list->PreviousWarm->NextWarm = list;
        Ring->PreviousWarm = list;
    }

    private static QuickListHeader[] NewRing()
    {
        QuickListHeader[] ring = GC.AllocateArray<QuickListHeader>(1, pinned: true);
        ring[0].NextWarm = ring[0].PreviousWarm = (QuickListHeader*)Unsafe.AsPointer(ref ring[0]);
        return ring;
    }
}
