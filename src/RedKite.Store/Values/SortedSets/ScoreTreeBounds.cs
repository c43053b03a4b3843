using System.Runtime.CompilerServices;

namespace RedKite.Store.Values.SortedSets;

/// <summary>A position between two neighbours in a sorted set's order: entries are before or after it.</summary>
internal interface IScoreTreeBound
{
    /// <summary>Whether the bound is after an entry.</summary>
    bool IsAfter(double score, scoped ReadOnlySpan<byte> member);

    /// <summary>The index of the first of the ordered entries from start to end that is not before the bound; end if all are.</summary>
    unsafe int FirstNotBefore(double* scores, byte** members, int start, int end);
}

/// <summary>The position before or after all entries with a score.</summary>
internal readonly struct ScoreBound(double score, bool afterEqual) : IScoreTreeBound
{
    public bool IsAfter(double score1, scoped ReadOnlySpan<byte> member) => afterEqual ? score1 <= score : score1 < score;

    public unsafe int FirstNotBefore(double* scores, byte** members, int start, int end) =>
        afterEqual ? FirstAbove(scores, start, end, score) : FirstFrom(scores, start, end, score);

    /// <summary>The index of the first score that is not below the given one.</summary>
    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    internal static unsafe int FirstFrom(double* scores, int start, int end, double score)
    {
        while (start < end)
        {
            int middle = (start + end) >>> 1;
            if (scores[middle] < score) start = middle + 1;
            else end = middle;
        }

        return start;
    }

    /// <summary>The index of the first score above the given one.</summary>
    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    internal static unsafe int FirstAbove(double* scores, int start, int end, double score)
    {
        while (start < end)
        {
            int middle = (start + end) >>> 1;
            if (scores[middle] <= score) start = middle + 1;
            else end = middle;
        }

        return start;
    }
}

/// <summary>The position before or after an entry, given by score and member; the entry need not exist.</summary>
internal readonly ref struct EntryBound(double score, ReadOnlySpan<byte> member, bool afterEqual) : IScoreTreeBound
{
    private readonly ReadOnlySpan<byte> _member = member;

    public bool IsAfter(double score1, scoped ReadOnlySpan<byte> member1)
    {
        if (score1 != score) return score1 < score;
        int order = member1.SequenceCompareTo(_member);
        return afterEqual ? order <= 0 : order < 0;
    }

    public unsafe int FirstNotBefore(double* scores, byte** members, int start, int end)
    {
        start = ScoreBound.FirstFrom(scores, start, end, score);
        if (start == end || scores[start] != score) return start;
        end = ScoreBound.FirstAbove(scores, start, end, score);
        return new MemberBound(_member, afterEqual).FirstNotBefore(scores, members, start, end);
    }
}

/// <summary>
/// The position before or after a member in the order of members alone, for lexicographic ranges, which are defined if all scores
/// are equal.
/// </summary>
internal readonly ref struct MemberBound(ReadOnlySpan<byte> member, bool afterEqual) : IScoreTreeBound
{
    private readonly ReadOnlySpan<byte> _member = member;

    public bool IsAfter(double score, scoped ReadOnlySpan<byte> member1)
    {
        int order = member1.SequenceCompareTo(_member);
        return afterEqual ? order <= 0 : order < 0;
    }

    public unsafe int FirstNotBefore(double* scores, byte** members, int start, int end)
    {
        while (start < end)
        {
            int middle = (start + end) >>> 1;
            if (IsAfter(0, ScoredMember.Member(members[middle]))) start = middle + 1;
            else end = middle;
        }

        return start;
    }
}
