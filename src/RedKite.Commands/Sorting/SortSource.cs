using RedKite.Server.Commands.Lists;
using RedKite.Server.Commands.Sets;
using RedKite.Server.Commands.SortedSets;
using RedKite.Server.Model;
using RedKite.Store.Keyspace;
using RedKite.Store.Values.Lists;
using RedKite.Store.Values.Sets;
using RedKite.Store.Values.SortedSets;

namespace RedKite.Server.Commands.Sorting;

/// <summary>The source of SORT's elements: a list, set or sorted set.</summary>
internal static class SortSource
{
    /// <summary>Whether a key is missing or of a type that can be sorted; otherwise replies WRONGTYPE.</summary>
    internal static bool IsSortableOrReply(scoped in CommandContext cmd, Entry entry) =>
        entry is { Exists: true, Type: DataType.SortedSet or DataType.Set } || cmd.IsTypeOrReply(entry, DataType.List);

    /// <summary>Whether the elements have no order.</summary>
    internal static bool IsUnordered(Entry entry) => entry is { Exists: true, Type: DataType.Set };

    /// <summary>Whether the elements are sorted rather than kept in their own order.</summary>
    internal static bool IsSorted(Entry entry, in SortOptions options) => entry.Exists && !options.KeepsOrder;

    /// <summary>
    /// Copies the elements: all if they are sorted; otherwise only those that LIMIT selects, from the end if the order is descending.
    /// Unpacks a packed sorted set, which makes the entry invalid.
    /// </summary>
    internal static void Collect(scoped in CommandContext cmd, Entry entry, in SortOptions options, SortElements elements)
    {
        if (!entry.Exists) return;
        bool isSorted = IsSorted(entry, options);
        bool backwards = !isSorted && options.Descending;
        if (entry.Type == DataType.SortedSet)
        {
            // As in Redis, which OBJECT ENCODING shows.
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

    /// <summary>The number of elements of an entry.</summary>
    internal static long Count(scoped in CommandContext cmd, Entry entry) => entry switch
    {
        { Exists: false } => 0,
        { Type: DataType.SortedSet } => new SortedSetValue(cmd.Database, entry).Count,
        { Type: DataType.Set } => SetAccess.View(cmd, entry).Count,
        _ => cmd.ListOf(entry).Count,
    };

    private static void Collect(scoped in SortedSetValue set, long rank, long count, bool backwards, SortElements elements)
    {
        if (count == 0) return;
        Span<byte> digits = stackalloc byte[SortedSetAccess.DigitsMax];
        SortedSetCursor cursor = set.At(rank, digits);
        for (; count > 0; count--, cursor.Move(backwards)) elements.Add(cursor.Member);
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
