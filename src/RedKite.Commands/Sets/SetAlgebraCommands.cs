using RedKite.Protocol;
using RedKite.Server.Changes;
using RedKite.Server.Commands.Arguments;
using RedKite.Server.Model;
using RedKite.Store.Keyspace;
using RedKite.Store.Values.Packed;
using RedKite.Store.Values.Sets;
using RedKite.Store.Values.Strings;
using static RedKite.Server.Model.CommandFlags;
using static RedKite.Server.Model.KeyFlags;

namespace RedKite.Server.Commands.Sets;

/// <summary>
/// Intersections, unions and differences of sets, replied, counted or stored. A result that is stored is built as a set without
/// a key and then replaces the destination, because the destination may be one of the sources.
/// </summary>
internal static class SetAlgebraCommands
{
    // In a union of up to this many sets, a member is looked up in the sets before its own; beyond, in the result built so far.
    private const int SetsSearchedMax = 4;

    private const string IntersectionComplexity = "O(N*M) worst case where N is the cardinality of the smallest set and M is the number of sets.";
    private const string UnionComplexity = "O(N) where N is the total number of elements in all given sets.";

    private static readonly string[] UnorderedTips = ["nondeterministic_output_order"];

    internal static readonly CommandFamily Family = new("set", "set",
    [
        new("SINTER", -2, CommandFlags.ReadOnly, KeySpecs.Range(1, -1, 1, KeyFlags.ReadOnly | Access), SInter,
            new("1.0.0", IntersectionComplexity, "Returns the members that all of several sets contain.", "key [key ...]")) { Tips = UnorderedTips },
        new("SINTERCARD", -3, CommandFlags.ReadOnly, [new(2, -1, 1, KeyFlags.ReadOnly | Access, CountAt: 1)], SInterCard,
            new("7.0.0", IntersectionComplexity, "Counts the members that all of several sets contain, optionally up to a limit.", "numkeys key [key ...] [LIMIT limit]")),
        new("SINTERSTORE", -3, Write | DenyOom, [new(1, 1, 1, Overwrite | Update), new(2, -1, 1, KeyFlags.ReadOnly | Access)], SInterStore,
            new("1.0.0", IntersectionComplexity, "Stores the members that all of several sets contain at a key.", "destination key [key ...]")),
        new("SUNION", -2, CommandFlags.ReadOnly, KeySpecs.Range(1, -1, 1, KeyFlags.ReadOnly | Access), SUnion,
            new("1.0.0", UnionComplexity, "Returns the members that at least one of several sets contains.", "key [key ...]")) { Tips = UnorderedTips },
        new("SUNIONCARD", -3, CommandFlags.ReadOnly, [new(2, -1, 1, KeyFlags.ReadOnly | Access, CountAt: 1)], SUnionCard,
            new("8.10.0", UnionComplexity, "Counts the members that at least one of several sets contains, optionally up to a limit or by an estimate.", "numkeys key [key ...] [APPROX] [LIMIT limit]")),
        new("SDIFFCARD", -3, CommandFlags.ReadOnly, [new(2, -1, 1, KeyFlags.ReadOnly | Access, CountAt: 1)], SDiffCard,
            new("8.10.0", UnionComplexity, "Counts the members of the first set that no other set contains, optionally up to a limit.", "numkeys key [key ...] [LIMIT limit]")),
        new("SUNIONSTORE", -3, Write | DenyOom, [new(1, 1, 1, Overwrite | Update), new(2, -1, 1, KeyFlags.ReadOnly | Access)], SUnionStore,
            new("1.0.0", UnionComplexity, "Stores the members that at least one of several sets contains at a key.", "destination key [key ...]")),
        new("SDIFF", -2, CommandFlags.ReadOnly, KeySpecs.Range(1, -1, 1, KeyFlags.ReadOnly | Access), SDiff,
            new("1.0.0", UnionComplexity, "Returns the members of the first set that no other set contains.", "key [key ...]")) { Tips = UnorderedTips },
        new("SDIFFSTORE", -3, Write | DenyOom, [new(1, 1, 1, Overwrite | Update), new(2, -1, 1, KeyFlags.ReadOnly | Access)], SDiffStore,
            new("1.0.0", UnionComplexity, "Stores the members of the first set that no other set contains at a key.", "destination key [key ...]")),
    ]);

    // SINTER key [key ...]
    private static void SInter(ref CommandContext cmd) => ReplySelection(cmd, inAll: true);

    // SDIFF key [key ...]
    private static void SDiff(ref CommandContext cmd) => ReplySelection(cmd, inAll: false);

    // SINTERCARD numkeys key [key ...] [LIMIT limit]
    private static void SInterCard(ref CommandContext cmd) => CountSelection(cmd, inAll: true);

    // SDIFFCARD numkeys key [key ...] [LIMIT limit]
    private static void SDiffCard(ref CommandContext cmd) => CountSelection(cmd, inAll: false);

    private static void CountSelection(scoped in CommandContext cmd, bool inAll)
    {
        if (!TryCountOptionsOrReply(cmd, mayEstimate: false, out int keys, out long limit, out _)) return;
        if (!cmd.OpenToReadSetsOrReply(2, keys, out SetView[] rented)) return;
        long count = 0;
        SetSources sources = SetSources.InOrder(cmd, cmd.HashOf(2), rented.AsSpan(0, keys), inAll);
        var selection = new SetSelection(sources.Sets[0], sources.Sets[1..], inAll, stackalloc byte[SetEnumerator.NumberBytesMax]);
        while (count < limit && selection.MoveNext()) count++;
        sources.Free();
        SetAccess.Return(rented);
        cmd.Reply.Integer(count);
    }

    // SUNIONCARD numkeys key [key ...] [APPROX] [LIMIT limit]
    private static void SUnionCard(ref CommandContext cmd)
    {
        if (!TryCountOptionsOrReply(cmd, mayEstimate: true, out int keys, out long limit, out bool estimates)) return;
        if (!cmd.OpenToReadSetsOrReply(2, keys, out SetView[] rented)) return;
        Span<SetView> sets = rented.AsSpan(0, keys);
        cmd.Reply.Integer(estimates ? Math.Min(limit, EstimateUnion(sets)) : CountUnion(cmd, sets, limit));
        SetAccess.Return(rented);
    }

    // As for the members of a union: of few sets they are looked up in the sets before, of many in what was counted so far.
    private static long CountUnion(scoped in CommandContext cmd, Span<SetView> sets, long limit)
    {
        Span<byte> number = stackalloc byte[SetEnumerator.NumberBytesMax];
        long count = 0;
        if (sets.Length <= SetsSearchedMax)
        {
            sets.Sort(static (a, b) => b.Count.CompareTo(a.Count));
            count = Math.Min(limit, sets[0].Count);
            for (int i = 1; i < sets.Length; i++)
            {
                var others = new SetSelection(sets[i], sets[..i], inAll: false, number);
                while (count < limit && others.MoveNext()) count++;
            }

            return count;
        }

        SetValue union = SetValue.CreateDetached(cmd.Database, cmd.HashOf(2), cmd.SetLimits(), isIntegers: true);
        foreach (ref readonly SetView set in sets)
        {
            SetEnumerator members = set.Enumerate(number);
            while (count < limit && members.MoveNext())
            {
                if (union.Add(members.Current)) count++;
            }
        }

        union.Free();
        return count;
    }

    // The estimate of a HyperLogLog with all members.
    private static long EstimateUnion(ReadOnlySpan<SetView> sets)
    {
        Span<byte> number = stackalloc byte[SetEnumerator.NumberBytesMax];
        Span<byte> ranks = stackalloc byte[HyperLogLog.Registers];
        ranks.Clear();
        foreach (ref readonly SetView set in sets)
        {
            SetEnumerator members = set.Enumerate(number);
            while (members.MoveNext())
            {
                ref byte register = ref ranks[HyperLogLog.RegisterOf(members.Current, out int rank)];
                register = (byte)Math.Max(register, rank);
            }
        }

        Span<int> histogram = stackalloc int[HyperLogLog.Ranks];
        histogram.Clear();
        foreach (byte rank in ranks) histogram[rank]++;
        return HyperLogLog.Estimate(histogram);
    }

    private static bool TryCountOptionsOrReply(scoped in CommandContext cmd, bool mayEstimate, out int keys, out long limit, out bool estimates)
    {
        keys = 0;
        limit = 0;
        estimates = false;
        if (!cmd.TryPositiveOrReply(1, "ERR numkeys should be greater than 0"u8, out long count)) return false;
        if (count > cmd.Count - 2)
        {
            cmd.Reply.Error("ERR Number of keys can't be greater than number of args"u8);
            return false;
        }

        keys = (int)count;
        var options = new OptionReader(cmd, first: 2 + keys);
        while (options.More)
        {
            if (mayEstimate && options.Take("APPROX"u8))
            {
                estimates = true;
                continue;
            }

            if (!options.TakeWithValue("LIMIT"u8, out int value))
            {
                cmd.ReplySyntaxError();
                return false;
            }

            if (!cmd.TryCountOrReply(value, "ERR LIMIT can't be negative"u8, out limit)) return false;
        }

        if (limit == 0) limit = long.MaxValue;
        return true;
    }

    // SINTERSTORE destination key [key ...]
    private static void SInterStore(ref CommandContext cmd) => StoreSelection(cmd, inAll: true, KeyEvent.SInterStore);

    // SDIFFSTORE destination key [key ...]
    private static void SDiffStore(ref CommandContext cmd) => StoreSelection(cmd, inAll: false, KeyEvent.SDiffStore);

    // SUNION key [key ...]
    private static void SUnion(ref CommandContext cmd)
    {
        int keys = cmd.Count - 1;
        if (!cmd.OpenToReadSetsOrReply(1, keys, out SetView[] rented)) return;
        Span<SetView> sets = rented.AsSpan(0, keys);
        if (keys <= SetsSearchedMax)
        {
            // The largest set comes first, because the members of the first one are not looked up.
            sets.Sort(static (a, b) => b.Count.CompareTo(a.Count));
            ReplySearchedUnion(cmd.Reply, sets);
        }
        else
        {
            SetValue union = SetSources.Union(cmd, cmd.HashOf(1), sets);
            cmd.Reply.Set((int)union.Count);
            SetCommands.ReplyMembers(cmd.Reply, union.View);
            union.Free();
        }

        SetAccess.Return(rented);
    }

    // SUNIONSTORE destination key [key ...]
    private static void SUnionStore(ref CommandContext cmd)
    {
        int keys = cmd.Count - 2;
        if (!cmd.OpenToReadSetsOrReply(2, keys, out SetView[] rented)) return;
        SetValue union = SetSources.Union(cmd, cmd.HashOf(1), rented.AsSpan(0, keys));
        SetAccess.Return(rented);
        Store(cmd, union, KeyEvent.SUnionStore);
    }

    private static void ReplySelection(scoped in CommandContext cmd, bool inAll)
    {
        int keys = cmd.Count - 1;
        if (!cmd.OpenToReadSetsOrReply(1, keys, out SetView[] rented)) return;
        ReplyWriter reply = cmd.Reply;
        long start = reply.Length;
        int count = 0;
        SetSources sources = SetSources.InOrder(cmd, cmd.HashOf(1), rented.AsSpan(0, keys), inAll);
        var selection = new SetSelection(sources.Sets[0], sources.Sets[1..], inAll, stackalloc byte[SetEnumerator.NumberBytesMax]);
        for (; selection.MoveNext(); count++) reply.Bulk(selection.Current);
        sources.Free();
        long end = reply.Length;
        reply.Set(count);
        reply.MoveToFront(start, end);
        SetAccess.Return(rented);
    }

    private static void StoreSelection(scoped in CommandContext cmd, bool inAll, KeyEvent stored)
    {
        int keys = cmd.Count - 2;
        if (!cmd.OpenToReadSetsOrReply(2, keys, out SetView[] rented)) return;
        // As in Redis, a result begins as a set of integers. An intersection whose smallest set is packed begins packed, unless all of its
        // members are integers and there are few enough.
        SetSources sources = SetSources.InOrder(cmd, cmd.HashOf(1), rented.AsSpan(0, keys), inAll);
        ReadOnlySpan<SetView> sets = sources.Sets;
        bool isIntegers = !inAll || sets[0].Encoding != ValueEncoding.ListPack || IsOfIntegers(sets, cmd.SetLimits().IntegersMax);
        SetValue result = SetValue.CreateDetached(cmd.Database, cmd.HashOf(1), cmd.SetLimits(), isIntegers);
        var selection = new SetSelection(sets[0], sets[1..], inAll, stackalloc byte[SetEnumerator.NumberBytesMax]);
        while (selection.MoveNext()) result.AddNew(selection.Current);
        sources.Free();
        SetAccess.Return(rented);
        Store(cmd, result, stored);
    }

    private static bool IsOfIntegers(ReadOnlySpan<SetView> sets, long countMax)
    {
        var selection = new SetSelection(sets[0], sets[1..], inAll: true, stackalloc byte[SetEnumerator.NumberBytesMax]);
        for (long count = 1; selection.MoveNext(); count++)
        {
            if (count > countMax || !CanonicalInteger.TryParse(selection.Current, out _)) return false;
        }

        return true;
    }

    private static void ReplySearchedUnion(ReplyWriter reply, ReadOnlySpan<SetView> sets)
    {
        Span<byte> number = stackalloc byte[SetEnumerator.NumberBytesMax];
        long start = reply.Length;
        int count = 0;
        for (int i = 0; i < sets.Length; i++)
        {
            var others = new SetSelection(sets[i], sets[..i], inAll: false, number);
            for (; others.MoveNext(); count++) reply.Bulk(others.Current);
        }

        long end = reply.Length;
        reply.Set(count);
        reply.MoveToFront(start, end);
    }

    // Replaces the destination by a result, or removes it if the result is empty.
    private static void Store(scoped in CommandContext cmd, SetValue result, KeyEvent stored)
    {
        Entry destination = cmd.FindToReplace(1);
        long count = result.Count;
        if (count > 0)
        {
            result.AttachTo(cmd[1], cmd.HashOf(1), destination, cmd.Accesses.ClockOfRewritten(destination));
            cmd.Changed(1, stored);
        }
        else
        {
            result.Free();
            if (destination.Exists)
            {
                cmd.Database.Unlink(destination, UnlinkReason.Deleted);
                cmd.Changed(1, KeyEvent.Del);
            }
        }

        cmd.Reply.Integer(count);
    }
}
