using RedKite.Protocol;
using RedKite.Server.Commands.Arguments;
using RedKite.Server.Model;
using RedKite.Store.Memory;
using RedKite.Store.Values.Hashes;
using static RedKite.Server.Model.KeyFlags;

namespace RedKite.Server.Commands.Hashes;

/// <summary>Hash commands on all fields or a random sample of them. The table is their single declaration and this file's contents.</summary>
internal static class HashScanCommands
{
    // A sample of up to a third of a table is drawn field by field, a larger one in a single pass.
    private const int SampleShare = 3;

    private static readonly KeySpec[] Accessed = KeySpecs.One(1, KeyFlags.ReadOnly | Access);

    internal static readonly CommandFamily Family = new("hash", "hash",
    [
        new("HGETALL", 2, CommandFlags.ReadOnly, Accessed, HGetAll,
            new("2.0.0", "O(N) where N is the size of the hash.", "Returns all fields and values of a hash.", "key")) { Tips = ["nondeterministic_output_order"] },
        new("HKEYS", 2, CommandFlags.ReadOnly, Accessed, HKeys,
            new("2.0.0", "O(N) where N is the size of the hash.", "Returns all fields of a hash.", "key")) { Tips = ["nondeterministic_output_order"] },
        new("HVALS", 2, CommandFlags.ReadOnly, Accessed, HVals,
            new("2.0.0", "O(N) where N is the size of the hash.", "Returns all values of a hash.", "key")) { Tips = ["nondeterministic_output_order"] },
        new("HRANDFIELD", -2, CommandFlags.ReadOnly, Accessed, HRandField,
            new("6.2.0", "O(N) where N is the number of fields returned", "Returns one or more random fields of a hash.", "key options:[count [WITHVALUES]]")) { Tips = ["nondeterministic_output"] },
        new("HSCAN", -3, CommandFlags.ReadOnly, Accessed, HScan,
            new("2.8.0", "O(1) for every call. O(N) for a complete iteration, including enough command calls for the cursor to return back to 0. N is the number of elements inside the collection.", "Iterates over the fields and values of a hash.", "key cursor [MATCH pattern] [COUNT count] [NOVALUES]")) { Tips = ["nondeterministic_output"] },
    ]);

    /// <summary>The parts of each field that are replied.</summary>
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
        if (!cmd.OpenToReadHashOrReply(1, out HashValue hash)) return;
        ReplyWriter reply = cmd.Reply;
        if (!hash.Exists || !hash.HasExpired)
        {
            WriteHead(reply, hash.Exists ? (int)hash.Count : 0, parts);
            if (hash.Exists) ReplyFields(reply, hash, parts);
            return;
        }

        // Expired fields are skipped and left to the background sweep, so the count of live fields is only known at the end. If there
        // are none, the key is removed, and the sweep frees its memory in slices.
        long start = reply.Length;
        int count = ReplyFields(reply, hash, parts);
        long end = reply.Length;
        WriteHead(reply, count, parts);
        reply.MoveToFront(start, end);
        if (count == 0 && !reply.Overflowed) hash.RemoveWithExpiredFields();
    }

    private static void WriteHead(ReplyWriter reply, int count, Parts parts)
    {
        if (parts == (Parts.Field | Parts.Value)) reply.Map(count);
        else reply.Array(count);
    }

    private static int ReplyFields(ReplyWriter reply, scoped in HashValue hash, Parts parts)
    {
        int count = 0;
        HashFields fields = hash.Fields();
        for (; fields.MoveNext() && !reply.Overflowed; count++) ReplyField(reply, fields, parts);
        return count;
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
            if (!cmd.OpenToReadHashOrReply(1, out HashValue single)) return;
            single.RemoveExpired();
            if (!single.Exists || single.LivingCount == 0) cmd.Reply.Null();
            else if (single.HasExpired) ReplyLiving(cmd.Reply, single, count: 1, withValues: false);
            else if (single.IsTable) cmd.Reply.Element(single.Pick(SamplingRandom.Current).Field);
            else cmd.Reply.Element(single.At(Below((int)single.Count)).Field);
            return;
        }

        if (!SampleCount.TryReadOrReply(cmd, "WITHVALUES"u8, out long count, out bool withValues)) return;
        if (!cmd.OpenToReadHashOrReply(1, out HashValue hash)) return;
        hash.RemoveExpired();
        long fields = hash.Exists ? hash.LivingCount : 0;
        if (fields == 0 || count == 0) cmd.Reply.Array(0);
        else if (count < 0) ReplyDrawn(cmd.Reply, hash, -count, withValues);
        else ReplyDistinct(cmd.Reply, hash, (int)Math.Min(count, fields), withValues);
    }

    // Fields are drawn independently, so they may repeat.
    private static void ReplyDrawn(ReplyWriter reply, scoped in HashValue hash, long count, bool withValues)
    {
        if (!reply.TryBeginRepeating(count, withValues ? 2 : 1)) return;
        bool isListed = hash.HasExpired || !hash.IsTable;
        if (isListed && !NativeList<nint>.HasRoom(hash.LivingCount))
        {
            reply.Error("ERR Insufficient memory, failed allocating transient memory for HRANDFIELD"u8);
            return;
        }

        WriteDrawnHead(reply, (int)count, withValues);
        if (hash.HasExpired)
        {
            ReplyLiving(reply, hash, count, withValues);
            return;
        }

        if (hash.IsTable)
        {
            for (long i = 0; i < count && reply.MayRepeat(); i++) ReplyPair(reply, hash.Pick(SamplingRandom.Current), withValues);
            return;
        }

        var fields = (int)hash.Count;
        using var fieldIndexes = new NativeList<int>(fields);
        hash.FindFields(fieldIndexes.Items);
        for (long i = 0; i < count && reply.MayRepeat(); i++) ReplyPair(reply, hash.FieldAt(fieldIndexes.Items[Below(fields)]), withValues);
    }

    // Where reads may not modify, a table keeps its expired fields: those that are alive are listed once, not drawn until one is hit.
    private static void ReplyLiving(ReplyWriter reply, scoped in HashValue hash, long count, bool withValues)
    {
        var fields = (int)hash.LivingCount;
        using var living = new NativeList<nint>(fields);
        hash.FindLiving(living.Items);
        for (long i = 0; i < count && reply.MayRepeat(); i++) ReplyPair(reply, HashValue.OfDrawn(living.Items[Below(fields)]), withValues);
    }

    private static void ReplyDistinct(ReplyWriter reply, scoped in HashValue hash, int count, bool withValues)
    {
        WriteDrawnHead(reply, count, withValues);
        if (hash.IsTable && !hash.HasExpired && count <= hash.Count / SampleShare && HashValue.HasRoomToDraw(count))
        {
            using var drawn = new NativeList<nint>(count);
            hash.DrawDistinct(SamplingRandom.Current, drawn.Items);
            for (int i = 0; i < count && !reply.Overflowed; i++) ReplyPair(reply, HashValue.OfDrawn(drawn.Items[i]), withValues);
            return;
        }

        // One pass: each field is selected with the probability of fields still needed to fields still ahead.
        int left = (int)hash.LivingCount;
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
        reply.Array(withValues && !reply.Resp3 ? Math.Min(count, int.MaxValue / 2) * 2 : count);
    }

    // In RESP3, a field and its value are a pair.
    private static void ReplyPair(ReplyWriter reply, scoped in HashFields fields, bool withValues)
    {
        if (withValues && reply.Resp3) reply.Array(2);
        ReplyField(reply, fields, withValues ? Parts.Field | Parts.Value : Parts.Field);
    }

#pragma warning disable CA5394 // Not a secret: a sample.
    private static int Below(int limit) => SamplingRandom.Current.Next(limit);
#pragma warning restore CA5394

    // HSCAN key cursor [MATCH pattern] [COUNT count] [NOVALUES]
    private static void HScan(ref CommandContext cmd)
    {
        if (!CursorArgument.TryReadOrReply(cmd, 2, out ulong cursor)) return;
        if (!cmd.OpenToReadHashOrReply(1, out HashValue hash)) return;
        if (!MemberScan.TryBeginOrReply(cmd, hash.Exists, out MemberScanOptions options, haveValues: true)) return;
        MemberScan.Reply(cmd.Reply, cursor, options, new ScannedHash(hash));
    }

    private readonly ref struct ScannedHash(HashValue hash) : IScannable
    {
        private readonly HashValue _hash = hash;

        public bool IsTable => _hash.IsTable;

        public int ReplyAll(ReplyWriter reply, scoped in MemberScanOptions options)
        {
            long seen = 0;
            return ReplyMatching(reply, _hash.Fields(), options, ref seen);
        }

        public int ReplyBucket(ReplyWriter reply, scoped in MemberScanOptions options, ref ulong cursor, ref long seen) =>
            ReplyMatching(reply, _hash.ScanBucket(ref cursor), options, ref seen);
    }

    private static int ReplyMatching(ReplyWriter reply, HashFields fields, scoped in MemberScanOptions options, ref long seen)
    {
        Parts parts = options.NoValues ? Parts.Field : Parts.Field | Parts.Value;
        int elements = options.NoValues ? 1 : 2;
        int count = 0;
        Span<byte> digits = stackalloc byte[RespNumber.Int64TextMax];
        while (fields.MoveNext())
        {
            seen++;
            if (!options.AcceptsAll && !options.Accepts(fields.Field.Bytes(digits))) continue;
            ReplyField(reply, fields, parts);
            count += elements;
        }

        return count;
    }
}
