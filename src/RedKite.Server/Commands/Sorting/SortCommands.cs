using RedKite.Protocol;
using RedKite.Server.Acl;
using RedKite.Server.Commands.Lists;
using RedKite.Server.Model;
using RedKite.Store.Keyspace;
using RedKite.Store.Values.Lists;
using static RedKite.Server.Model.CommandFlags;
using static RedKite.Server.Model.KeyFlags;

namespace RedKite.Server.Commands.Sorting;

/// <summary>
/// SORT and SORT_RO. The table is their single declaration and this file's contents. The elements are copied and sorted
/// apart (<see cref="SortElements"/>). A request that looks keys up by patterns has every stripe locked, as nothing tells
/// which keys those are; without patterns only its own keys' stripes are.
/// </summary>
internal static class SortCommands
{
    private const string Complexity = "O(N+M*log(M)) where N is the number of elements in the list or set to sort, and M the number of returned elements. When the elements are not sorted, complexity is O(N).";
    private const string ReadSyntax = "key [BY pattern:pattern#1] [LIMIT offset:integer count:integer] [GET pattern:pattern#1 [GET pattern:pattern#1 ...]] order:[ASC | DESC] [sorting:ALPHA]";
    private const string SortSyntax = ReadSyntax + " [STORE destination:key#2]";
    private const AclCategory Types = AclCategory.Set | AclCategory.SortedSet | AclCategory.List | AclCategory.Dangerous;

    private static readonly KeySpec Source = new(1, 1, 1, KeyFlags.ReadOnly | Access);
    private static readonly KeySpec Patterns = new(0, 0, 0, KeyFlags.ReadOnly | Access, Notes: "keys of BY's and GET's patterns: which ones, only the elements tell") { IsUnknown = true };
    private static readonly KeySpec Destination = new(1, 1, 1, Overwrite | Update, Notes: "behind STORE, which may be anywhere among the options") { IsUnknown = true, Keyword = "STORE", FindsKeyword = SortOptions.FindStore };

    internal static readonly CommandFamily Family = new("generic", "",
    [
        new("SORT", -2, Write | DenyOom, [Source, Patterns, Destination], Sort,
            new("1.0.0", Complexity, "Sorts a list's, set's or sorted set's elements, by other keys if wished, and replies or stores them.", SortSyntax)) { Categories = Types, NeedsAllStripes = SortOptions.UsesPatterns },
        new("SORT_RO", -2, CommandFlags.ReadOnly, [Source, Patterns], SortReadOnly,
            new("7.0.0", Complexity, "Sorts a list's, set's or sorted set's elements, by other keys if wished, and replies them.", ReadSyntax)) { Categories = Types, NeedsAllStripes = SortOptions.UsesPatterns },
    ]);

    // SORT key [BY pattern] [LIMIT offset count] [GET pattern [GET pattern ...]] [ASC | DESC] [ALPHA] [STORE destination]
    private static void Sort(ref CommandContext cmd) => Sort(ref cmd, mayStore: true);

    // SORT_RO key [BY pattern] [LIMIT offset count] [GET pattern [GET pattern ...]] [ASC | DESC] [ALPHA]
    private static void SortReadOnly(ref CommandContext cmd) => Sort(ref cmd, mayStore: false);

    private static void Sort(ref CommandContext cmd, bool mayStore)
    {
        if (!SortOptions.TryParseOrReply(cmd, mayStore, out SortOptions options)) return;
        Entry entry = cmd.Find(1);
        if (!SortSource.IsSortableOrReply(cmd, entry)) return;

        // What is stored must not be left to chance.
        if (options.KeepsOrder && options.Store > 0 && SortSource.IsUnordered(entry)) options.OrderByText();
        using var elements = new SortElements();
        bool isSorted = SortSource.IsSorted(entry, options);
        SortSource.Collect(cmd, entry, options, elements);
        if (isSorted)
        {
            if (!elements.TryWeigh(cmd, options))
            {
                cmd.Reply.Error("ERR One or more scores can't be converted into double"u8);
                return;
            }

            elements.Sort(options);
            elements.Narrow(options);
        }

        if (options.Store > 0) Store(ref cmd, options, elements);
        else Reply(cmd, options, elements);
    }

    private static void Reply(scoped in CommandContext cmd, in SortOptions options, SortElements elements)
    {
        ReplyWriter reply = cmd.Reply;
        reply.Array(elements.Count * Math.Max(1, options.Gets));
        for (int i = 0; i < elements.Count && !reply.Overflowed; i++)
        {
            ReadOnlySpan<byte> element = elements[i];
            if (options.Gets == 0) reply.Bulk(element);
            int position = 0;
            for (int get = 0; get < options.Gets; get++)
            {
                if (SortPattern.TryFind(cmd, SortOptions.NextGet(cmd, ref position), element, out ReadOnlySpan<byte> value)) reply.Bulk(value);
                else reply.Null();
            }
        }
    }

    private static void Store(ref CommandContext cmd, in SortOptions options, SortElements elements)
    {
        // All is looked up before the destination changes, which may be one of the keys.
        int count = elements.Count * Math.Max(1, options.Gets);
        using var values = options.Gets == 0 ? null : Values(cmd, options, elements);
        Entry existing = cmd.Peek(options.Store);
        if (existing.Exists) cmd.Database.Unlink(existing, UnlinkReason.Deleted);
        if (count > 0)
        {
            SortElements stored = values ?? elements;
            ListValue list = cmd.NewList(options.Store);
            long bytes = 0;
            for (int i = 0; i < stored.Count; i++) bytes += stored[i].Length;
            list.PrepareFor(bytes, stored.Count);
            for (int i = 0; i < stored.Count; i++) list.PushLast(stored[i]);
            cmd.Changed(count);
        }
        else if (existing.Exists)
        {
            cmd.Changed();
        }

        cmd.Reply.Integer(count);
    }

    // What is not found is stored as an empty string.
    private static SortElements Values(scoped in CommandContext cmd, in SortOptions options, SortElements elements)
    {
        var values = new SortElements();
        for (int i = 0; i < elements.Count; i++)
        {
            int position = 0;
            for (int get = 0; get < options.Gets; get++)
            {
                SortPattern.TryFind(cmd, SortOptions.NextGet(cmd, ref position), elements[i], out ReadOnlySpan<byte> value);
                values.Add(value);
            }
        }

        return values;
    }
}
