using RedKite.Server.Commands.Lists;
using RedKite.Server.Commands.Sets;
using RedKite.Server.Commands.SortedSets;
using RedKite.Server.Model;
using RedKite.Store.Keyspace;
using RedKite.Store.Values.Lists;
using RedKite.Store.Values.Sets;
using RedKite.Store.Values.SortedSets;

namespace RedKite.Server.Commands.Sorting;

/// <summary>Where SORT's elements come from, by the key's type.</summary>
internal static class SortSource
{
    /// <summary>Whether there is nothing or something that can be sorted; otherwise replies WRONGTYPE.</summary>
    internal static bool IsSortableOrReply(scoped in CommandContext cmd, Entry entry) =>
        entry is { Exists: true, Type: DataType.SortedSet or DataType.Set } || cmd.IsTypeOrReply(entry, DataType.List);

    /// <summary>Whether the elements have no order of their own to be kept.</summary>
    internal static bool IsUnordered(Entry entry) => entry is { Exists: true, Type: DataType.Set };

    /// <summary>Whether the elements are to be sorted, and not taken in their own order.</summary>
    internal static bool IsSorted(Entry entry, in SortOptions options) => entry.Exists && !options.KeepsOrder;

    /// <summary>
    /// Copies the elements: all that are sorted, or those that LIMIT leaves where they stay in their order, from the end if
    /// it is to be descending. A packed sorted set is unpacked, so the entry may not be used any more.
    /// </summary>
    internal static void Collect(scoped in CommandContext cmd, Entry entry, in SortOptions options, SortElements elements)
    {
        if (!entry.Exists) return;
        bool isSorted = IsSorted(entry, options);
        bool backwards = !isSorted && options.Descending;
        if (entry.Type == DataType.SortedSet)
        {
            // As in Redis: OBJECT ENCODING shows it.
            var set = new SortedSetValue(cmd.Database, entry);
            if (set.IsPacked) set.Unpack();
            (long first, long count) = isSorted ? (0, set.Count) : SortElements.Range(options, set.Count);
            Collect(set, backwards ? set.Count - 1 - first : first, count, backwards, elements);
        }
        else if (entry.Type == DataType.Set)
        {
            SetView set = SetAccess.View(cmd, entry);
            (long first, long count) = isSorted ? (0, set.Count) : SortElements.Range(options, set.Count);
            Collect(set, first, count, elements);
        }
        else
        {
            ListValue list = cmd.ListOf(entry);
            (long first, long count) = isSorted ? (0, list.Count) : SortElements.Range(options, list.Count);
            ListReader reader = list.Read(backwards ? list.Count - 1 - first : first, count, backwards);
            while (reader.MoveNext()) elements.Add(reader.Current);
        }
    }

    private static void Collect(scoped in SortedSetValue set, long rank, long count, bool backwards, SortElements elements)
    {
        if (count == 0) return;
        Span<byte> digits = stackalloc byte[SortedSetAccess.DigitsMax];
        SortedSetCursor place = set.At(rank, digits);
        for (; count > 0; count--, place.Move(backwards)) elements.Add(place.Member);
    }

    private static void Collect(SetView set, long first, long count, SortElements elements)
    {
        SetEnumerator members = set.Enumerate(stackalloc byte[SetEnumerator.NumberBytesMax]);
        for (long i = 0; i < first + count && members.MoveNext(); i++)
        {
            if (i >= first) elements.Add(members.Current);
        }
    }
}
