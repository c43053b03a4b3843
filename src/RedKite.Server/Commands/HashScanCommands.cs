using System.Buffers;
using System.Globalization;
using RedKite.Protocol;
using RedKite.Server.Commands.Options;
using RedKite.Store.Values;
using static RedKite.Server.Commands.KeyFlags;

namespace RedKite.Server.Commands;

/// <summary>Hash commands over all fields or drawn ones. The table is their single declaration and this file's contents.</summary>
internal static class HashScanCommands
{
    private const long CountDefault = 10;

    // A sparse table's buckets may be empty: a call looks at so many for each field that COUNT asks for.
    private const long BucketsForEachField = 10;

    // Up to a third of a table is drawn field by field, more in one pass over it.
    private const int DrawnShare = 3;

    private static readonly KeySpec[] Accessed = Keys.One(1, KeyFlags.ReadOnly | Access);

    internal static readonly CommandFamily Family = new("hash", "hash",
    [
        new("HGETALL", 2, CommandFlags.ReadOnly, Accessed, HGetAll,
            new("2.0.0", "O(N) where N is the size of the hash.", "Returns all fields of a hash with their values.", "key")) { Tips = ["nondeterministic_output_order"] },
        new("HKEYS", 2, CommandFlags.ReadOnly, Accessed, HKeys,
            new("2.0.0", "O(N) where N is the size of the hash.", "Returns all fields of a hash.", "key")) { Tips = ["nondeterministic_output_order"] },
        new("HVALS", 2, CommandFlags.ReadOnly, Accessed, HVals,
            new("2.0.0", "O(N) where N is the size of the hash.", "Returns the values of all fields of a hash.", "key")) { Tips = ["nondeterministic_output_order"] },
        new("HRANDFIELD", -2, CommandFlags.ReadOnly, Accessed, HRandField,
            new("6.2.0", "O(N) where N is the number of fields returned", "Draws fields of a hash at random.", "key options:[count [WITHVALUES]]")) { Tips = ["nondeterministic_output"] },
        new("HSCAN", -3, CommandFlags.ReadOnly, Accessed, HScan,
            new("2.8.0", "O(1) for every call. O(N) for a complete iteration, including enough command calls for the cursor to return back to 0. N is the number of elements inside the collection..", "Lists fields of a hash a few at a time; the next call goes on from the cursor.", "key cursor [MATCH pattern] [COUNT count] [NOVALUES@7.4.0]")) { Tips = ["nondeterministic_output"] },
    ]);

    /// <summary>What is replied of each field.</summary>
    [Flags]
    private enum Parts
    {
        Field = 1,
        Value = 2,
    }

    // HGETALL key
    private static void HGetAll(ref CommandContext cmd) => ReplyAll(ref cmd, Parts.Field | Parts.Value);

    // HKEYS key
    private static void HKeys(ref CommandContext cmd) => ReplyAll(ref cmd, Parts.Field);

    // HVALS key
    private static void HVals(ref CommandContext cmd) => ReplyAll(ref cmd, Parts.Value);

    private static void ReplyAll(ref CommandContext cmd, Parts parts)
    {
        if (!cmd.OpenHashOrReply(out HashValue hash)) return;
        hash.RemoveExpired();
        int count = hash.Exists ? (int)hash.Count : 0;
        ReplyWriter reply = cmd.Reply;
        if (parts == (Parts.Field | Parts.Value)) reply.Map(count);
        else reply.Array(count);
        if (count == 0) return;

        HashFields fields = hash.Fields();
        while (fields.MoveNext() && !reply.Overflowed) ReplyField(reply, fields, parts);
    }

    private static void ReplyField(ReplyWriter reply, scoped in HashFields fields, Parts parts)
    {
        if ((parts & Parts.Field) != 0) reply.Element(fields.Field);
        if ((parts & Parts.Value) != 0) reply.Element(fields.Value);
    }

    // HRANDFIELD key [count [WITHVALUES]]
    private static void HRandField(ref CommandContext cmd)
    {
        if (cmd.Count == 2)
        {
            if (!cmd.OpenHashOrReply(out HashValue single)) return;
            single.RemoveExpired();
            if (!single.Exists) cmd.Reply.Null();
            else if (single.IsTable) cmd.Reply.Element(single.Draw(Random.Shared).Field);
            else cmd.Reply.Element(single.At(Below((int)single.Count)).Field);
            return;
        }

        if (!TryDrawCountOrReply(cmd, out long count, out bool withValues)) return;
        if (!cmd.OpenHashOrReply(out HashValue hash)) return;
        hash.RemoveExpired();
        if (!hash.Exists || count == 0) cmd.Reply.Array(0);
        else if (count < 0) ReplyDrawn(cmd.Reply, hash, -count, withValues);
        else ReplyDistinct(cmd.Reply, hash, (int)Math.Min(count, hash.Count), withValues);
    }

    private static bool TryDrawCountOrReply(scoped in CommandContext cmd, out long count, out bool withValues)
    {
        withValues = false;
        if (!cmd.TryIntegerOrReply(2, out count)) return false;
        if (count == long.MinValue)
        {
            cmd.Reply.Error(string.Create(CultureInfo.InvariantCulture, $"ERR value is out of range, value must between {-long.MaxValue} and {long.MaxValue}"));
            return false;
        }

        var options = new OptionReader(cmd, first: 3);
        withValues = options.Take("WITHVALUES"u8);
        if (options.More)
        {
            cmd.ReplySyntaxError();
            return false;
        }

        if (!withValues || count is >= -(long.MaxValue / 2) and <= long.MaxValue / 2) return true;
        cmd.Reply.Error("ERR value is out of range"u8);
        return false;
    }

    // Fields drawn one by one, so that they may repeat.
    private static void ReplyDrawn(ReplyWriter reply, scoped in HashValue hash, long count, bool withValues)
    {
        // A count beyond an integer overflows the reply long before it is reached.
        WriteDrawnHead(reply, (int)Math.Min(count, int.MaxValue), withValues);
        if (hash.IsTable)
        {
            for (long i = 0; i < count && !reply.Overflowed; i++) ReplyPair(reply, hash.Draw(Random.Shared), withValues);
            return;
        }

        var fields = (int)hash.Count;
        int[] places = ArrayPool<int>.Shared.Rent(fields);
        hash.FindPlaces(places);
        for (long i = 0; i < count && !reply.Overflowed; i++) ReplyPair(reply, hash.OfPlace(places[Below(fields)]), withValues);
        ArrayPool<int>.Shared.Return(places);
    }

    private static void ReplyDistinct(ReplyWriter reply, scoped in HashValue hash, int count, bool withValues)
    {
        WriteDrawnHead(reply, count, withValues);
        if (hash.IsTable && count <= hash.Count / DrawnShare)
        {
            nint[] drawn = ArrayPool<nint>.Shared.Rent(count);
            hash.DrawDistinct(Random.Shared, drawn.AsSpan(0, count));
            for (int i = 0; i < count && !reply.Overflowed; i++) ReplyPair(reply, HashValue.OfDrawn(drawn[i]), withValues);
            ArrayPool<nint>.Shared.Return(drawn);
            return;
        }

        // One pass: each field is taken with the chance that as many as are still wanted are among those that are left.
        int left = (int)hash.Count;
        HashFields fields = hash.Fields();
        while (count > 0 && fields.MoveNext() && !reply.Overflowed)
        {
            if (Below(left--) >= count) continue;
            ReplyPair(reply, fields, withValues);
            count--;
        }
    }

    private static void WriteDrawnHead(ReplyWriter reply, int count, bool withValues)
    {
        if (withValues && !reply.Resp3) reply.Array(Math.Min(count, int.MaxValue / 2) * 2);
        else reply.Array(count);
    }

    // With its value a field is a pair in RESP3.
    private static void ReplyPair(ReplyWriter reply, scoped in HashFields fields, bool withValues)
    {
        if (withValues && reply.Resp3) reply.Array(2);
        ReplyField(reply, fields, withValues ? Parts.Field | Parts.Value : Parts.Field);
    }

#pragma warning disable CA5394 // Not a secret: a sample.
    private static int Below(int limit) => Random.Shared.Next(limit);
#pragma warning restore CA5394

    // HSCAN key cursor [MATCH pattern] [COUNT count] [NOVALUES]
    private static void HScan(ref CommandContext cmd)
    {
        if (!CursorArgument.TryReadOrReply(cmd, 2, out ulong cursor)) return;
        if (!cmd.OpenHashOrReply(out HashValue hash)) return;
        ReplyWriter reply = cmd.Reply;
        if (!hash.Exists)
        {
            // The options are not even looked at.
            WriteScanHead(reply, 0, 0);
            return;
        }

        if (!TryScanOptionsOrReply(cmd, out ReadOnlySpan<byte> pattern, out long countAsked, out Parts parts)) return;
        int start = reply.Length;
        int count = 0;
        if (hash.IsTable)
        {
            long seen = 0;
            long bucketsLeft = countAsked > long.MaxValue / BucketsForEachField ? long.MaxValue : countAsked * BucketsForEachField;
            do count += ReplyMatching(reply, hash.ScanBucket(ref cursor), pattern, parts, ref seen);
            while (cursor != 0 && seen < countAsked && --bucketsLeft > 0 && !reply.Overflowed);
        }
        else
        {
            // A packed hash comes whole.
            long seen = 0;
            cursor = 0;
            count = ReplyMatching(reply, hash.Fields(), pattern, parts, ref seen);
        }

        int end = reply.Length;
        WriteScanHead(reply, cursor, count);
        reply.MoveToFront(start, end);
    }

    private static int ReplyMatching(ReplyWriter reply, HashFields fields, ReadOnlySpan<byte> pattern, Parts parts, ref long seen)
    {
        int elements = parts == Parts.Field ? 1 : 2;
        int count = 0;
        Span<byte> digits = stackalloc byte[RespNumber.Int64TextMax];
        bool all = pattern is [(byte)'*'];
        while (fields.MoveNext())
        {
            seen++;
            if (!all && !GlobPattern.IsMatch(pattern, fields.Field.Bytes(digits))) continue;
            ReplyField(reply, fields, parts);
            count += elements;
        }

        return count;
    }

    private static void WriteScanHead(ReplyWriter reply, ulong cursor, int count)
    {
        reply.Array(2);
        reply.BulkInteger((long)cursor);
        reply.Array(count);
    }

    private static bool TryScanOptionsOrReply(scoped in CommandContext cmd, out ReadOnlySpan<byte> pattern, out long count, out Parts parts)
    {
        pattern = "*"u8;
        count = CountDefault;
        parts = Parts.Field | Parts.Value;
        var options = new OptionReader(cmd, first: 3);
        while (options.More)
        {
            if (options.TakeWithValue("COUNT"u8, out int value))
            {
                if (!cmd.TryIntegerOrReply(value, out count)) return false;
                if (count >= 1) continue;
                cmd.ReplySyntaxError();
                return false;
            }

            if (options.TakeWithValue("MATCH"u8, out value))
            {
                pattern = cmd[value];
            }
            else if (options.Take("NOVALUES"u8))
            {
                parts = Parts.Field;
            }
            else
            {
                cmd.ReplySyntaxError();
                return false;
            }
        }

        return true;
    }
}
