using RedKite.Protocol;
using RedKite.Server.Changes;
using RedKite.Server.Commands.Lists;
using RedKite.Server.Model;
using RedKite.Store.Keyspace;
using RedKite.Store.Values.Lists;
using static RedKite.Server.Model.CommandFlags;
using static RedKite.Server.Model.KeyFlags;

namespace RedKite.Server.Commands.Sorting;

/// <summary>
/// SORT and SORT_RO. The table is their single declaration and this file's contents. The elements are copied and then sorted
/// (<see cref="SortElements"/>). A request with patterns has all stripes locked, because the elements determine the keys; a request
/// without patterns locks only the stripes of its own keys.
/// </summary>
internal static class SortCommands
{
    private const string Complexity = "O(N+M*log(M)) where N is the number of elements in the list or set to sort, and M the number of returned elements. When the elements are not sorted, complexity is O(N).";
    private const string ReadSyntax = "key [BY by-pattern{pattern}:pattern#1] [LIMIT limit:(offset count)] [GET get-pattern{pattern}:pattern#1 [GET get-pattern{pattern}:pattern#1 ...]] order:[ASC | DESC] [sorting:ALPHA]";
    private const string SortSyntax = ReadSyntax + " [STORE destination:key#2]";
    private const AclCategory Types = AclCategory.Set | AclCategory.SortedSet | AclCategory.List | AclCategory.Dangerous;

    // Elements times GET patterns is the product of two sizes that clients choose: a second or two. Few patterns are always allowed.
    private const int GetsAlways = 8;
    private const long LookupsMax = 1 << 24;

    // So are elements times the bytes of patterns, which are copied and hashed with all stripes locked: a second. Short patterns are always allowed.
    private const int PatternBytesAlways = 1024;
    private const long NameBytesTotalMax = 1L << 30;

    private static readonly KeySpec Source = new(1, 1, 1, KeyFlags.ReadOnly | Access);
    private static readonly KeySpec Patterns = new(0, 0, 0, KeyFlags.ReadOnly | Access, Notes: "keys of the BY and GET patterns, which the elements determine") { IsUnknown = true };
    private static readonly KeySpec Destination = new(1, 1, 1, Overwrite | Update, Notes: "follows STORE, which may be anywhere among the options") { IsUnknown = true, Keyword = "STORE", FindsKeyword = SortOptions.FindStore };

    internal static readonly CommandFamily Family = new("generic", "",
    [
        new("SORT", -2, Write | DenyOom, [Source, Patterns, Destination], Sort,
            new("1.0.0", Complexity, "Sorts the elements of a list, set or sorted set, optionally by external keys, and returns or stores them.", SortSyntax)) { Categories = Types, NeedsAllStripes = SortOptions.UsesPatterns },
        new("SORT_RO", -2, CommandFlags.ReadOnly, [Source, Patterns], SortReadOnly,
            new("7.0.0", Complexity, "Sorts the elements of a list, set or sorted set, optionally by external keys, and returns them.", ReadSyntax)) { Categories = Types, NeedsAllStripes = SortOptions.UsesPatterns },
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

        long count = SortSource.Count(cmd, entry);
        if (options.Gets > GetsAlways && SortElements.Range(options, count).Count * options.Gets > LookupsMax)
        {
            cmd.Reply.Error($"ERR SORT would look up more than {LookupsMax} keys for its GET patterns");
            return;
        }

        long byBytes = options.By > 0 && !options.KeepsOrder ? cmd[options.By].Length : 0;
        if (byBytes + options.GetBytes > PatternBytesAlways && (count * byBytes) + (SortElements.Range(options, count).Count * options.GetBytes) > NameBytesTotalMax)
        {
            cmd.Reply.Error($"ERR SORT would compose names of more than {NameBytesTotalMax} bytes for its patterns");
            return;
        }

        if (count > SortElements.CountMax || SortElements.Range(options, count).Count * Math.Max(1, options.Gets) > SortElements.CountMax)
        {
            cmd.Reply.Error("ERR value is out of range, too many elements to sort"u8);
            return;
        }

        // A stored result, and a script's, must not depend on the internal order of a set.
        if (options.KeepsOrder && (options.Store > 0 || cmd.Environment.IsInScript) && SortSource.IsUnordered(entry)) options.OrderByText();
        using var text = new SortText();
        using var elements = new SortElements(text);
        SortPattern[] gets;
        using SortElements? values = options.Store > 0 && options.Gets > 0 ? new SortElements(text) : null;
        try
        {
            if (!TrySortOrReply(cmd, entry, options, elements)) return;
            gets = options.ReadGets(cmd);
            if (values is not null) CollectValues(cmd, gets, elements, values);
        }
        catch (OutOfMemoryException)
        {
            // Nothing has changed yet.
            cmd.Reply.Error("ERR Insufficient memory, failed allocating transient memory for SORT"u8);
            return;
        }

        if (options.Store > 0) Store(cmd, options.Store, values ?? elements);
        else Reply(cmd, gets, elements);
    }

    private static bool TrySortOrReply(scoped in CommandContext cmd, Entry entry, in SortOptions options, SortElements elements)
    {
        bool isSorted = SortSource.IsSorted(entry, options);
        bool isUnordered = SortSource.IsUnordered(entry);
        SortSource.Collect(cmd, entry, options, elements);
        if (!isSorted) return true;
        if (!elements.TryWeigh(cmd, options))
        {
            cmd.Reply.Error("ERR One or more scores can't be converted into double"u8);
            return false;
        }

        elements.Sort(options, isUnordered);
        elements.Narrow(options);
        return true;
    }

    private static void Reply(scoped in CommandContext cmd, SortPattern[] gets, SortElements elements)
    {
        ReplyWriter reply = cmd.Reply;
        reply.Array(elements.Count * Math.Max(1, gets.Length));
        for (int i = 0; i < elements.Count && !reply.Overflowed; i++)
        {
            ReadOnlySpan<byte> element = elements[i];
            if (gets.Length == 0) reply.Bulk(element);
            foreach (SortPattern get in gets)
            {
                if (get.TryFind(cmd, element, out ReadOnlySpan<byte> value)) reply.Bulk(value);
                else reply.Null();
            }
        }
    }

    private static void Store(scoped in CommandContext cmd, int key, SortElements stored)
    {
        Entry existing = cmd.FindToReplace(key);
        if (stored.Count > 0)
        {
            ListValue list = cmd.CreateList(key, existing);
            long bytes = 0;
            for (int i = 0; i < stored.Count; i++) bytes += stored[i].Length;
            list.PrepareFor(bytes, stored.Count);
            for (int i = 0; i < stored.Count; i++) list.PushLast(stored[i]);
            cmd.Changed(key, KeyEvent.SortStore, stored.Count);
        }
        else if (existing.Exists)
        {
            cmd.Database.Unlink(existing, UnlinkReason.Deleted);
            cmd.Changed(key, KeyEvent.Del);
        }

        cmd.Reply.Integer(stored.Count);
    }

    // All values are looked up before the destination changes, which may be one of the keys. A missing value is stored as an empty string.
    private static void CollectValues(scoped in CommandContext cmd, SortPattern[] gets, SortElements elements, SortElements values)
    {
        for (int i = 0; i < elements.Count; i++)
        {
            foreach (SortPattern get in gets)
            {
                if (get.IsElement)
                {
                    values.Add(elements.SliceOf(i));
                    continue;
                }

                get.TryFind(cmd, elements[i], out ReadOnlySpan<byte> value);
                values.Add(value);
            }
        }
    }
}
