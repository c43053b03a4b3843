using System.Globalization;
using RedKite.Store.Values.Packed;
using RedKite.Store.Values.SortedSets;

namespace RedKite.Persistence.Rdb;

/// <summary>
/// Reads sorted sets: members and scores one by one or packed, in any order. Duplicate members and scores that are not numbers
/// are errors.
/// </summary>
internal static class RdbSortedSetReader
{
    // Special values instead of the length of a score's text.
    private const byte NotANumber = 253;
    private const byte Infinite = 254;
    private const byte NegativeInfinite = 255;

    internal static bool TryRead(RdbType type, ref RdbInput input, in RdbTarget target, RdbScratch scratch)
    {
        if (type is RdbType.SortedSet or RdbType.SortedSetWithTexts) return TryMembers(type, ref input, target, scratch);
        if (!input.TryString(scratch.First, out ReadOnlySpan<byte> bytes)) return false;
        if (type == RdbType.SortedSetListPack) return scratch.TryOpen(bytes, out PackedListReader packed) && TryAddAll(target, packed, packed.Count);
        return ZipListReader.TryOpen(bytes, out ZipListReader zipped) && TryAddAll(target, zipped, zipped.Count);
    }

    private static bool TryMembers(RdbType type, ref RdbInput input, in RdbTarget target, RdbScratch scratch)
    {
        if (!input.TryCount(out long count) || count == 0) return false;
        SortedSetValue set = Create(target, count);
        List<byte[]>? lost = null; // members whose negative zero the packed form has turned into zero
        for (; count > 0; count--)
        {
            if (!input.TryString(scratch.First, out ReadOnlySpan<byte> member)) return false;
            if (!TryScore(type, ref input, out double score)) return false;
            if (!TryAdd(ref set, member, score, target.Limits.SortedSet)) return false;
            if (score == 0 && double.IsNegative(score) && set.IsPacked) (lost ??= []).Add(member.ToArray());
        }

        if (lost is not null && !set.IsPacked) RestoreNegativeZeros(ref set, lost, target.Limits.SortedSet);
        return true;
    }

    // Packed sets have no negative zero. A set that outgrows the packed form while it is read keeps its negative zeros.
    private static void RestoreNegativeZeros(ref SortedSetValue set, List<byte[]> members, SortedSetLimits limits)
    {
        foreach (byte[] member in members)
        {
            set.Remove(member);
            set.Set(member, double.NegativeZero, SortedSetRule.Always, limits, out _);
        }
    }

    private static bool TryScore(RdbType type, ref RdbInput input, out double score) =>
        type == RdbType.SortedSet ? input.TryDouble(out score) : TryScoreText(ref input, out score);

    private static bool TryAddAll<TReader>(in RdbTarget target, scoped TReader elements, int count)
        where TReader : struct, IElementReader, allows ref struct
    {
        if (count == 0 || count % 2 != 0) return false;
        Span<byte> memberDigits = stackalloc byte[CanonicalInteger.TextBytesMax];
        Span<byte> scoreDigits = stackalloc byte[CanonicalInteger.TextBytesMax];
        if (!PackedNames.AreDistinct(elements, count / 2, step: 2, target.Limits.SortedSet.MembersMax, target.Database.Hasher, out bool stayPacked)) return false;
        SortedSetValue set = Create(target, stayPacked ? count / 2 : long.MaxValue);
        long moved = 0;
        SortedSetLimits limits = target.Limits.SortedSet with { MemberBytesMax = long.MaxValue }; // as in Redis, what is packed stays packed
        while (elements.MoveNext())
        {
            ReadOnlySpan<byte> member = elements.Bytes(memberDigits);
            elements.MoveNext();
            if (!TryScore(elements.Bytes(scoreDigits), out double score)) return false;
            if (!stayPacked)
            {
                if (!TryAdd(ref set, member, score, limits)) return false;
                continue;
            }

            if (double.IsNaN(score)) return false;
            moved += set.AddRead(member, score, limits);
            if (moved > PackedNames.MovedBytesMax && set.IsPacked) set.Unpack();
        }

        return true;
    }

    private static SortedSetValue Create(in RdbTarget target, long count) =>
        SortedSetValue.Create(target.Database, target.Key, target.Hash, default, target.Limits.SortedSet.Admit(count, 0, 0), target.AccessClock);

    private static bool TryAdd(ref SortedSetValue set, scoped ReadOnlySpan<byte> member, double score, SortedSetLimits limits) =>
        !double.IsNaN(score) && set.Set(member, score, SortedSetRule.Always, limits, out _) == SortedSetOutcome.Added;

    private static bool TryScoreText(ref RdbInput input, out double score)
    {
        score = double.NaN;
        if (!input.TryByte(out byte length)) return false;
        switch (length)
        {
            case NotANumber:
                return true;
            case Infinite:
                score = double.PositiveInfinity;
                return true;
            case NegativeInfinite:
                score = double.NegativeInfinity;
                return true;
            default:
                return input.TryRaw(length, out ReadOnlySpan<byte> text) && TryScore(text, out score);
        }
    }

    // Doubles as C prints them.
    private static bool TryScore(ReadOnlySpan<byte> text, out double score)
    {
        score = text.SequenceEqual("inf"u8) ? double.PositiveInfinity : double.NegativeInfinity;
        if (double.IsPositiveInfinity(score) || text.SequenceEqual("-inf"u8)) return true;
        const NumberStyles Style = NumberStyles.AllowLeadingSign | NumberStyles.AllowDecimalPoint | NumberStyles.AllowExponent;
        return double.TryParse(text, Style, CultureInfo.InvariantCulture, out score) && double.IsFinite(score);
    }
}
