using RedKite.Store.Values.Packed;

namespace RedKite.Store.Values.SortedSets;

/// <summary>
/// A small sorted set, packed in its entry's block: a <see cref="PackedList"/> of alternating members and scores, in order. The
/// caller reserves the bytes of a change in advance.
/// </summary>
internal static unsafe class PackedSortedSet
{
    internal static int Count(byte* list) => PackedList.Count(list) / 2;

    /// <summary>The offset of a member; -1 when there is none.</summary>
    internal static int Find(byte* list, ReadOnlySpan<byte> member) => PackedList.Find(list, PackedList.Start, member, step: 2);

    /// <summary>The score of the member at an offset.</summary>
    internal static double ScoreAt(byte* list, int offset) => PackedScore.Read(list, PackedList.Next(list, offset));

    internal static int PairBytes(ReadOnlySpan<byte> member, double score) => PackedList.ElementBytes(member) + PackedScore.ElementBytes(score);

    /// <summary>The offset of the member of a rank; -1 if the rank is too high.</summary>
    internal static int At(byte* list, long rank) => rank is < 0 or > int.MaxValue / 2 ? -1 : PackedList.At(list, (int)rank * 2);

    /// <summary>The rank of the member at an offset.</summary>
    internal static int RankOf(byte* list, int offset)
    {
        int rank = 0;
        for (int at = PackedList.Start; at < offset; at = NextPair(list, at)) rank++;
        return rank;
    }

    internal static int NextPair(byte* list, int offset) => PackedList.Next(list, PackedList.Next(list, offset));

    /// <summary>How many members are before a bound.</summary>
    internal static int CountBefore<TBound>(byte* list, scoped in TBound bound)
        where TBound : struct, IScoreTreeBound, allows ref struct
    {
        Span<byte> digits = stackalloc byte[CanonicalInteger.TextBytesMax];
        int count = 0;
        for (int at = PackedList.Start; !PackedList.IsEnd(list, at); at = NextPair(list, at), count++)
        {
            if (!bound.IsAfter(ScoreAt(list, at), PackedList.Read(list, at).Bytes(digits))) break;
        }

        return count;
    }

    /// <summary>Inserts a new member into reserved bytes.</summary>
    /// <returns>The list's bytes if the member is not the last one: at most so many were looked at and moved.</returns>
    internal static int Insert(byte* list, ReadOnlySpan<byte> member, double score)
    {
        int offset = OffsetFor(list, member, score);
        bool isLast = PackedList.IsEnd(list, offset);
        PackedList.Insert(list, offset, member);
        PackedScore.Insert(list, PackedList.Next(list, offset), score);
        return isLast ? 0 : PackedList.Bytes(list);
    }

    /// <summary>Replaces the score of the member at an offset. The caller has reserved the difference.</summary>
    internal static void Update(byte* list, int offset, ReadOnlySpan<byte> member, double score)
    {
        int scoreOffset = PackedList.Next(list, offset);
        int next = PackedList.Next(list, scoreOffset);
        int previousScore = PackedList.Previous(list, offset);
        bool stays = (previousScore < 0 || PackedScore.Read(list, previousScore) < score)
            && (PackedList.IsEnd(list, next) || score < ScoreAt(list, next));
        if (stays)
        {
            PackedScore.Replace(list, scoreOffset, score);
            return;
        }

        PackedList.Remove(list, offset, 2);
        Insert(list, member, score);
    }

    private static int OffsetFor(byte* list, ReadOnlySpan<byte> member, double score)
    {
        // Members that come in order go to the end.
        var bound = new EntryBound(score, member, afterEqual: false);
        Span<byte> digits = stackalloc byte[CanonicalInteger.TextBytesMax];
        int last = PackedList.Last(list);
        if (last >= 0 && bound.IsAfter(PackedScore.Read(list, last), PackedList.Read(list, PackedList.Previous(list, last)).Bytes(digits))) return PackedList.EndOf(list);

        int at = PackedList.Start;
        while (!PackedList.IsEnd(list, at) && bound.IsAfter(ScoreAt(list, at), PackedList.Read(list, at).Bytes(digits))) at = NextPair(list, at);
        return at;
    }
}
