using RedKite.Server.Changes;
using RedKite.Server.Commands.Arguments;
using RedKite.Server.Model;
using RedKite.Store.Keyspace;
using RedKite.Store.Values.Strings;
using static RedKite.Server.Model.CommandFlags;
using static RedKite.Server.Model.KeyFlags;

namespace RedKite.Server.Commands.Strings;

/// <summary>Commands on strings as arrays of bits. BITFIELD is in BitFieldCommands.</summary>
internal static class BitmapCommands
{
    /// <summary>The argument of BITOP's first source.</summary>
    internal const int FirstSource = 3;

    [ThreadStatic]
    private static long _combinedBytes;

    private const string PositionSyntax = "key bit range:[start end-unit-block:[end unit:[BYTE | BIT]@7.0.0]]";

    /// <summary>What BITOP has taken on this thread, for tests: the bytes of sources that it has combined, and one for each time that it has looked one up.</summary>
    internal static long CombinedBytes
    {
        get => _combinedBytes;
        set => _combinedBytes = value;
    }

    internal static readonly CommandFamily Family = new("bitmap", "bitmap",
    [
        new("SETBIT", 4, Write | DenyOom | Short, KeySpecs.One(1, ReadWrite | Access | Update), SetBit,
            new("2.2.0", "O(1)", "Sets or clears a bit of the string value of a key. Creates the key if it doesn't exist and extends a shorter string.", "key offset value:integer")),
        new("GETBIT", 3, CommandFlags.ReadOnly | Fast, KeySpecs.One(1, KeyFlags.ReadOnly | Access), GetBit,
            new("2.2.0", "O(1)", "Returns a bit of the string value of a key.", "key offset")),
        new("BITCOUNT", -2, CommandFlags.ReadOnly | Short, KeySpecs.One(1, KeyFlags.ReadOnly | Access), BitCount,
            new("2.6.0", "O(N)", "Counts the set bits of the string value of a key, optionally in a range.", "key range:[start end unit:[BYTE | BIT]@7.0.0]") { History = [("7.0.0", "Adds `BYTE` and `BIT`.")] }),
        new("BITPOS", -3, CommandFlags.ReadOnly | Short, KeySpecs.One(1, KeyFlags.ReadOnly | Access), BitPos,
            new("2.8.7", "O(N)", "Finds the first set or clear bit of the string value of a key, optionally in a range.", PositionSyntax) { History = [("7.0.0", "Adds `BYTE` and `BIT`.")] }),
        new("BITOP", -4, Write | DenyOom, [new(2, 2, 1, Overwrite | Update), new(3, -1, 1, KeyFlags.ReadOnly | Access)], BitOp,
            new("2.6.0", "O(N)", "Stores the result of a bitwise operation on strings.", "operation:<AND | OR | XOR | NOT | DIFF@8.2.0 | DIFF1@8.2.0 | ANDOR@8.2.0 | ONE@8.2.0> destkey:key key [key ...]") { History = [("8.2.0", "Adds `DIFF`, `DIFF1`, `ANDOR` and `ONE`.")] }),
        new("BITRANGEINTARRAY", -4, CommandFlags.ReadOnly, KeySpecs.One(1, KeyFlags.ReadOnly | Access), BitRangeIntArray,
            new("8.12.0", "O(N + M) where N is the number of bytes in the range and M is the number of returned integers.", "Returns the offsets of the set or clear bits in a range of the string value of a key.", "key start end unit:[BYTE | BIT] [LIMIT count] [ZEROS]")),
    ]);

    // SETBIT key offset value
    private static void SetBit(ref CommandContext cmd)
    {
        if (!BitOffset.TryParseOrReply(cmd, 2, out long bit)) return;
        if (cmd[3] is not [(byte)'0' or (byte)'1'])
        {
            cmd.Reply.Error("ERR bit is not an integer or out of range"u8);
            return;
        }

        if (!cmd.OpenToWriteStringOrReply(1, out Entry entry)) return;
        entry = OpenForBits(cmd, entry, 1, bit, out bool grew);
        bool set = cmd[3][0] == (byte)'1';
        bool old = BitString.Write(entry.Value, bit, set);
        if (grew || old != set) cmd.Changed(1, KeyEvent.SetBit);
        cmd.Reply.Integer(old ? 1 : 0);
    }

    // GETBIT key offset
    private static void GetBit(ref CommandContext cmd)
    {
        if (!BitOffset.TryParseOrReply(cmd, 2, out long bit)) return;
        if (!cmd.OpenToReadStringOrReply(1, out Entry entry)) return;
        cmd.Reply.Integer(entry.Exists && BitString.IsSet(entry.Value, bit) ? 1 : 0);
    }

    // BITCOUNT key [start end [BYTE | BIT]]
    private static void BitCount(ref CommandContext cmd)
    {
        if (!BitRange.TryParseForCountOrReply(cmd, out BitRange range)) return;
        if (!cmd.OpenToReadStringOrReply(1, out Entry entry)) return;
        ReadOnlySpan<byte> value = entry.Exists ? entry.Value : default;
        bool hasBits = range.TryLocate(value.Length, out long first, out long last) && !range.IsReversed;
        cmd.Reply.Integer(hasBits ? BitString.Count(value, first, last) : 0);
    }

    // BITPOS key bit [start [end [BYTE | BIT]]]
    private static void BitPos(ref CommandContext cmd)
    {
        if (!cmd.TryIntegerOrReply(2, out long bit)) return;
        if (bit is not (0 or 1))
        {
            cmd.Reply.Error("ERR The bit argument must be 1 or 0."u8);
            return;
        }

        if (!BitRange.TryParseForPositionOrReply(cmd, out BitRange range)) return;
        if (!cmd.OpenToReadStringOrReply(1, out Entry entry)) return;
        if (!entry.Exists)
        {
            // A missing key is an infinite string of clear bits.
            cmd.Reply.Integer(bit == 0 ? 0 : -1);
            return;
        }

        ReadOnlySpan<byte> value = entry.Value;
        long found = -1;
        if (range.TryLocate(value.Length, out long first, out long last))
        {
            found = BitString.Find(value, bit == 1, first, last);

            // Without an explicit end, the string counts as followed by clear bits.
            if (found < 0 && bit == 0 && !range.HasEnd) found = value.Length * 8L;
        }

        cmd.Reply.Integer(found);
    }

    // BITRANGEINTARRAY key start end [BYTE | BIT] [LIMIT count] [ZEROS]
    private static void BitRangeIntArray(ref CommandContext cmd)
    {
        if (!BitRange.TryParseForOffsetsOrReply(cmd, out BitRange range, out long limit, out bool zeros)) return;
        if (!cmd.OpenToReadStringOrReply(1, out Entry entry)) return;
        ReadOnlySpan<byte> value = entry.Exists ? entry.Value : default;
        if (!range.TryLocate(value.Length, out long first, out long last) || range.IsReversed)
        {
            cmd.Reply.Array(0);
            return;
        }

        long set = BitString.Count(value, first, last);
        long count = Math.Min(limit, zeros ? last - first + 1 - set : set);
        cmd.Reply.Array((int)Math.Min(int.MaxValue, count));
        for (; count > 0 && !cmd.Reply.Overflowed; count--, first++)
        {
            first = BitString.Find(value, !zeros, first, last);
            cmd.Reply.Integer(first);
        }
    }

    // BITOP AND|OR|XOR|NOT|DIFF|DIFF1|ANDOR|ONE destkey key [key ...]
    private static void BitOp(ref CommandContext cmd)
    {
        if (!TryOperationOrReply(cmd, out BitOperation operation)) return;
        int length = 0;
        int timesOwn = 0; // how many of the sources are the destination
        long words = 0;
        for (int i = FirstSource; i < cmd.Count; i++)
        {
            if (!cmd.OpenToReadStringOrReply(i, out Entry source)) return;
            if (source.Exists) length = Math.Max(length, source.Value.Length);
            if (source.Exists) words += source.Value.Length / sizeof(long);
            if (cmd[i].SequenceEqual(cmd[2])) timesOwn++;
        }

        if (words > RepeatedKeys.ElementsMax && !RepeatedSourcesFitOrReply(cmd)) return;
        Entry destination = cmd.FindToWrite(2);
        if (length == 0)
        {
            if (destination.Exists)
            {
                cmd.Database.Unlink(destination, UnlinkReason.Deleted);
                cmd.Changed(2, KeyEvent.Del);
                if (operation > BitOperation.Not) cmd.EffectDelete(2);
            }
        }
        else
        {
            if (timesOwn > 0 && destination.Exists) cmd.Recording.Changes.NoteOverwritten(cmd.Database, cmd.HashOf(2), DataType.String);
            if (operation > BitOperation.Not) BitBlockCombination.CombineInto(cmd, operation, destination, length, isSource: timesOwn > 0);
            else if (timesOwn > 0) CombineInPlace(cmd, operation, destination, length, timesOwn);
            else CombineInto(cmd, operation, destination, length);
            cmd.Changed(2, KeyEvent.Set);
        }

        cmd.Reply.Integer(length);
    }

    private static bool RepeatedSourcesFitOrReply(scoped in CommandContext cmd)
    {
        long[] words = new long[cmd.Count - FirstSource];
        for (int i = 0; i < words.Length; i++)
        {
            Entry source = cmd.Peek(FirstSource + i);
            words[i] = source.Exists ? source.Value.Length / sizeof(long) : 0;
        }

        return RepeatedKeys.FitOrReply(cmd, FirstSource, words);
    }

    private static bool TryOperationOrReply(scoped in CommandContext cmd, out BitOperation operation)
    {
        operation = default;
        if (cmd.Is(1, "AND"u8)) operation = BitOperation.And;
        else if (cmd.Is(1, "OR"u8)) operation = BitOperation.Or;
        else if (cmd.Is(1, "XOR"u8)) operation = BitOperation.Xor;
        else if (cmd.Is(1, "NOT"u8)) operation = BitOperation.Not;
        else if (cmd.Is(1, "DIFF"u8)) operation = BitOperation.Diff;
        else if (cmd.Is(1, "DIFF1"u8)) operation = BitOperation.Diff1;
        else if (cmd.Is(1, "ANDOR"u8)) operation = BitOperation.AndOr;
        else if (cmd.Is(1, "ONE"u8)) operation = BitOperation.One;
        else
        {
            cmd.ReplySyntaxError();
            return false;
        }

        bool isSingle = cmd.Count == FirstSource + 1;
        if (operation == BitOperation.Not && !isSingle)
        {
            cmd.Reply.Error("ERR BITOP NOT must be called with a single source key."u8);
            return false;
        }

        if (isSingle && operation is (BitOperation.Diff or BitOperation.Diff1 or BitOperation.AndOr))
        {
            cmd.Reply.Error($"ERR BITOP {operation.ToString().ToUpperInvariant()} must be called with at least two source keys.");
            return false;
        }

        return true;
    }

    // The destination is not a source: the first two sources are combined into it, then each of the others.
    private static void CombineInto(scoped in CommandContext cmd, BitOperation operation, Entry destination, int length)
    {
        destination = cmd.Database.WriteString(cmd[2], cmd.HashOf(2), destination, length, ValueEncoding.Raw, Database.NoExpiry, cmd.Accesses.ClockOfRewritten(destination));
        Span<byte> result = destination.Value;
        ReadOnlySpan<byte> first = Source(cmd, FirstSource);
        if (operation == BitOperation.Not)
        {
            BitCombination.Invert(first, result);
            return;
        }

        if (cmd.Count == FirstSource + 1)
        {
            first.CopyTo(result);
            return;
        }

        ReadOnlySpan<byte> second = Source(cmd, FirstSource + 1);
        BitCombination.Combine(operation, first, second, result);
        int common = Math.Min(first.Length, second.Length);
        for (int i = FirstSource + 2; i < cmd.Count; i++) Add(operation, Source(cmd, i), result, ref common);
        if (operation == BitOperation.And && cmd.Count > FirstSource + 2) result[common..].Clear();
    }

    // Reads no more than the source has, whatever the length of the result: sources may be missing, and any number of them. Behind what all sources have so
    // far, the result of AND is not written yet.
    private static void Add(BitOperation operation, ReadOnlySpan<byte> source, Span<byte> result, ref int common)
    {
        common = Math.Min(common, source.Length);
        int bytes = operation == BitOperation.And ? common : source.Length;
        CombinedBytes += 1 + bytes;
        BitCombination.Combine(operation, result[..bytes], source[..bytes], result[..bytes]);
    }

    // The destination is also a source: the combination starts from its value. Repeating it changes nothing for AND and OR; for XOR
    // each pair cancels out.
    private static void CombineInPlace(scoped in CommandContext cmd, BitOperation operation, Entry destination, int length, int timesOwn)
    {
        destination = OpenForBits(cmd, destination, 2, (length * 8L) - 1, out _);
        destination = cmd.Database.WriteExpiry(destination, Database.NoExpiry);
        Span<byte> result = destination.Value;
        if (operation == BitOperation.Not)
        {
            BitCombination.Invert(result, result);
            return;
        }

        if (operation == BitOperation.Xor && timesOwn % 2 == 0) result.Clear();
        int common = result.Length;
        for (int i = FirstSource; i < cmd.Count; i++)
        {
            if (!cmd[i].SequenceEqual(cmd[2])) Add(operation, Source(cmd, i), result, ref common);
        }

        if (operation == BitOperation.And) result[common..].Clear();
    }

    /// <summary>The string of a source, empty for a missing key.</summary>
    internal static ReadOnlySpan<byte> Source(scoped in CommandContext cmd, int argument)
    {
        Entry entry = cmd.Peek(argument);
        return entry.Exists ? entry.Value : default;
    }

    /// <summary>Creates or extends a key's string so that it contains a bit. The string becomes raw.</summary>
    internal static Entry OpenForBits(scoped in CommandContext cmd, Entry entry, int key, long lastBit, out bool grew)
    {
        int length = (int)(lastBit >> 3) + 1;
        int oldLength = entry.Exists ? entry.Value.Length : 0;
        grew = length > oldLength;
        if (!entry.Exists) entry = cmd.Database.WriteString(cmd[key], cmd.HashOf(key), entry, length, ValueEncoding.Raw, Database.NoExpiry, cmd.Accesses.NewClock);
        else if (grew) entry = cmd.Database.ResizeValue(entry, length);
        if (grew) entry.ClearValue(oldLength, length);
        entry.SetEncoding(ValueEncoding.Raw);
        return entry;
    }
}
