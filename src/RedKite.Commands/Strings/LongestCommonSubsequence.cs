using RedKite.Server.Commands.Arguments;
using RedKite.Server.Model;
using RedKite.Store.Keyspace;
using RedKite.Store.Memory;

namespace RedKite.Server.Commands.Strings;

/// <summary>
/// LCS: the longest common subsequence of two strings, by dynamic programming over the lengths of all pairs of prefixes.
/// </summary>
/// <remarks>
/// Walking back through the table only needs to know which neighbor of a pair of prefixes is longer. So the table has one bit for each
/// pair, next to a single row of lengths: 1/32 of a table of numbers. The limit still assumes the table of numbers, as in Redis: it
/// bounds the time as well, and clients see the same requests refused.
/// </remarks>
internal static class LongestCommonSubsequence
{
    private const int NumberBytes = 4;

    // Of a transaction or script (UnitWork). The largest that proto-max-bulk-len admits takes what one command may.
    private const int StepsPerCell = 2;

    // LCS key1 key2 [LEN] [IDX] [MINMATCHLEN min-match-len] [WITHMATCHLEN]
    internal static void Lcs(ref CommandContext cmd)
    {
        Entry first = cmd.Find(1);
        Entry second = cmd.Find(2);
        if (!IsStringOrMissing(first) || !IsStringOrMissing(second))
        {
            cmd.Reply.Error("ERR The specified keys must contain string values"u8);
            return;
        }

        if (!TryParseOrReply(cmd, out Request request)) return;
        ReadOnlySpan<byte> a = first.Exists ? first.Value : default;
        ReadOnlySpan<byte> b = second.Exists ? second.Value : default;
        if ((a.Length + 1L) * (b.Length + 1L) * NumberBytes > cmd.Settings.ProtoMaxBulkLength)
        {
            cmd.Reply.Error("ERR Insufficient memory, transient memory for LCS exceeds proto-max-bulk-len"u8);
            return;
        }

        // Where one is empty, nothing is compared.
        long cells = (long)a.Length * b.Length;
        if (!cmd.MayTakeOrReply(cells * StepsPerCell)) return;
        long words = request.OnlyLength ? 0 : (cells + 63) / 64;
        int row = cells == 0 ? 0 : b.Length;
        if (!ScratchMemory.HasRoom((words * sizeof(ulong)) + (row * (long)sizeof(int))) || words > Array.MaxLength)
        {
            cmd.Reply.Error("ERR Insufficient memory, failed allocating transient memory for LCS"u8);
            return;
        }

        using var longerAboveBits = new NativeList<ulong>((int)words);
        using var lengthsOfRow = new NativeList<int>(row + 1);
        Span<ulong> longerAbove = longerAboveBits.Items;
        Span<int> lengths = lengthsOfRow.Items;
        longerAbove.Clear();
        lengths.Clear();
        int length = cells == 0 ? 0 : Fill(a, b, lengths, longerAbove);
        var walk = new Walk(a, b, longerAbove);
        if (request.OnlyLength) cmd.Reply.Integer(length);
        else if (request.Ranges) ReplyRanges(cmd, walk, request, length);
        else walk.CopySubsequence(cmd.Reply.BulkSpan(length));
    }

    private static bool IsStringOrMissing(Entry entry) => !entry.Exists || entry.Type == DataType.String;

    private static bool TryParseOrReply(scoped in CommandContext cmd, out Request request)
    {
        request = default;
        var options = new OptionReader(cmd, first: 3);
        while (options.More)
        {
            if (options.Take("IDX"u8)) request.Ranges = true;
            else if (options.Take("LEN"u8)) request.OnlyLength = true;
            else if (options.Take("WITHMATCHLEN"u8)) request.WithLengths = true;
            else if (options.TakeWithValue("MINMATCHLEN"u8, out int argument))
            {
                if (!cmd.TryIntegerOrReply(argument, out request.RangeLengthMin)) return false;
            }
            else
            {
                cmd.ReplySyntaxError();
                return false;
            }
        }

        if (!request.Ranges || !request.OnlyLength) return true;
        cmd.Reply.Error("ERR If you want both the length and indexes, please just use IDX."u8);
        return false;
    }

    // Row by row: lengths[j] is the length for the first i bytes of a and the first j bytes of b.
    private static int Fill(ReadOnlySpan<byte> a, ReadOnlySpan<byte> b, Span<int> lengths, Span<ulong> longerAbove)
    {
        bool keepsBits = longerAbove.Length > 0;
        long bit = 0;
        for (int i = 0; i < a.Length; i++)
        {
            byte of = a[i];
            int left = 0;
            int diagonal = 0;
            for (int j = 0; j < b.Length; j++, bit++)
            {
                int above = lengths[j + 1];
                int here = b[j] == of ? diagonal + 1 : Math.Max(above, left);
                if (keepsBits && above > left) longerAbove[(int)(bit >> 6)] |= 1UL << (int)(bit & 63);
                diagonal = above;
                left = here;
                lengths[j + 1] = here;
            }
        }

        return lengths[b.Length];
    }

    // The walk finds ranges from the end backwards, and the reply begins with their count, so there are two passes.
    private static void ReplyRanges(scoped in CommandContext cmd, Walk walk, Request request, int length)
    {
        int count = 0;
        Walk counting = walk;
        while (counting.NextRange(out _, out _, out int range))
        {
            if (range >= request.RangeLengthMin) count++;
        }

        cmd.Reply.Map(2);
        cmd.Reply.Bulk("matches"u8);
        cmd.Reply.Array(count);
        while (walk.NextRange(out int inA, out int inB, out int range))
        {
            if (range < request.RangeLengthMin) continue;
            cmd.Reply.Array(request.WithLengths ? 3 : 2);
            ReplyRange(cmd, inA, range);
            ReplyRange(cmd, inB, range);
            if (request.WithLengths) cmd.Reply.Integer(range);
        }

        cmd.Reply.Bulk("len"u8);
        cmd.Reply.Integer(length);
    }

    private static void ReplyRange(scoped in CommandContext cmd, int start, int length)
    {
        cmd.Reply.Array(2);
        cmd.Reply.Integer(start);
        cmd.Reply.Integer(start + length - 1);
    }

    private struct Request
    {
        internal bool Ranges;
        internal bool OnlyLength;
        internal bool WithLengths;
        internal long RangeLengthMin;
    }

    /// <summary>Walks back from the ends of both strings along a longest common subsequence, the same one that Redis finds.</summary>
    private ref struct Walk(ReadOnlySpan<byte> a, ReadOnlySpan<byte> b, ReadOnlySpan<ulong> longerAbove)
    {
        private readonly ReadOnlySpan<byte> _a = a;
        private readonly ReadOnlySpan<byte> _b = b;
        private readonly ReadOnlySpan<ulong> _longerAbove = longerAbove;
        private int _i = a.Length;
        private int _j = b.Length;

        /// <summary>Finds the next range that is contiguous in both strings.</summary>
        internal bool NextRange(out int inA, out int inB, out int length)
        {
            length = 0;
            SkipToMatch();
            while (_i > 0 && _j > 0 && _a[_i - 1] == _b[_j - 1])
            {
                _i--;
                _j--;
                length++;
            }

            inA = _i;
            inB = _j;
            return length > 0;
        }

        internal void CopySubsequence(Span<byte> result)
        {
            while (NextRange(out int inA, out _, out int length))
            {
                _a.Slice(inA, length).CopyTo(result[^length..]);
                result = result[..^length];
            }
        }

        private void SkipToMatch()
        {
            while (_i > 0 && _j > 0 && _a[_i - 1] != _b[_j - 1])
            {
                long bit = ((_i - 1) * (long)_b.Length) + _j - 1;
                if ((_longerAbove[(int)(bit >> 6)] >> (int)(bit & 63) & 1) != 0) _i--;
                else _j--;
            }
        }
    }
}
