using RedKite.Server.Commands.Options;
using RedKite.Store.Keyspace;
using RedKite.Store.Structures;
using RedKite.Store.Values;

namespace RedKite.Server.Commands;

/// <summary>Where SORT's elements come from, by the key's type.</summary>
internal static class SortSource
{
    /// <summary>Whether there is nothing or something that can be sorted; otherwise replies WRONGTYPE.</summary>
    internal static bool IsSortableOrReply(scoped in CommandContext cmd, Entry entry) => cmd.IsTypeOrReply(entry, DataType.List);

    /// <summary>Whether the elements are to be sorted, and not taken in their own order.</summary>
    internal static bool IsSorted(Entry entry, in SortOptions options) => entry.Exists && !options.KeepsOrder;

    /// <summary>Copies the elements: all that are sorted, or those that LIMIT leaves where they
    /// stay in their order, from the end if it is to be descending.</summary>
    internal static void Collect(scoped in CommandContext cmd, Entry entry, in SortOptions options, SortElements elements)
    {
        if (!entry.Exists) return;
        ListValue list = cmd.ListOf(entry);
        (long first, long count) = (0, list.Count);
        if (!IsSorted(entry, options)) (first, count) = SortElements.Range(options, count);
        bool backwards = !IsSorted(entry, options) && options.Descending;
        ListReader reader = backwards ? list.Read(list.Count - 1 - first, count, backwards: true) : list.Read(first, count);
        while (reader.MoveNext()) elements.Add(reader.Current);
    }
}
