using RedKite.Server.Commands.Options;
using RedKite.Store.Keyspace;
using RedKite.Store.Structures;
using RedKite.Store.Values;

namespace RedKite.Server.Commands;

/// <summary>Where SORT's elements come from, by the key's type.</summary>
internal static class SortSource
{
    /// <summary>Whether there is nothing or something that can be sorted; otherwise replies WRONGTYPE.</summary>
    internal static bool IsSortableOrReply(scoped in CommandContext cmd, Entry entry) =>
        (entry.Exists && entry.Type == DataType.Set) || cmd.IsTypeOrReply(entry, DataType.List);

    /// <summary>Whether the elements have no order of their own to be kept.</summary>
    internal static bool IsUnordered(Entry entry) => entry.Exists && entry.Type == DataType.Set;

    /// <summary>Whether the elements are to be sorted, and not taken in their own order.</summary>
    internal static bool IsSorted(Entry entry, in SortOptions options) => entry.Exists && !options.KeepsOrder;

    /// <summary>Copies the elements: all that are sorted, or those that LIMIT leaves where they
    /// stay in their order, from the end if it is to be descending.</summary>
    internal static void Collect(scoped in CommandContext cmd, Entry entry, in SortOptions options, SortElements elements)
    {
        if (!entry.Exists) return;
        if (entry.Type == DataType.Set)
        {
            CollectMembers(SetAccess.View(cmd, entry), IsSorted(entry, options), options, elements);
            return;
        }

        ListValue list = cmd.ListOf(entry);
        (long first, long count) = (0, list.Count);
        if (!IsSorted(entry, options)) (first, count) = SortElements.Range(options, count);
        bool backwards = !IsSorted(entry, options) && options.Descending;
        ListReader reader = backwards ? list.Read(list.Count - 1 - first, count, backwards: true) : list.Read(first, count);
        while (reader.MoveNext()) elements.Add(reader.Current);
    }

    private static void CollectMembers(SetView set, bool isSorted, in SortOptions options, SortElements elements)
    {
        (long first, long count) = isSorted ? (0, set.Count) : SortElements.Range(options, set.Count);
        SetEnumerator members = set.Enumerate(stackalloc byte[SetEnumerator.NumberBytesMax]);
        for (long i = 0; i < first + count && members.MoveNext(); i++)
        {
            if (i >= first) elements.Add(members.Current);
        }
    }
}
