namespace RedKite.Persistence.Rdb;

/// <summary>
/// Passes over values without building them, which finds where they end. It checks lengths and counts; whether the contents are valid
/// is only known when the value is built.
/// </summary>
internal static class RdbValueSkipper
{
    // Special values instead of the length of a score's text.
    private const int WordsFrom = 253;

    /// <summary>Passes over a value of a type.</summary>
    internal static bool TrySkip(RdbType type, ref RdbInput input)
    {
        switch (type)
        {
            case RdbType.List or RdbType.Set or RdbType.ListOfZipLists:
                return TryStrings(ref input, each: 1);
            case RdbType.Hash:
                return TryStrings(ref input, each: 2);
            case RdbType.SortedSet:
                return TryElements(ref input, before: 0, strings: 1, after: sizeof(double));
            case RdbType.SortedSetWithTexts:
                return TryScoreTexts(ref input);
            case RdbType.ListOfListPacks:
                return TryElements(ref input, before: 1, strings: 1, after: 0);
            case RdbType.HashWithExpiries:
                return input.TrySkip(sizeof(long)) && TryElements(ref input, before: 1, strings: 2, after: 0);
            case RdbType.HashWithExpiriesDraft:
                return TryElements(ref input, before: 1, strings: 2, after: 0);
            case RdbType.HashWithTimes:
                return TryElements(ref input, before: 0, strings: 2, after: sizeof(long));
            case RdbType.HashListPackWithExpiries:
                return input.TrySkip(sizeof(long)) && input.TrySkipString();
            case RdbType.StreamOfListPacks or RdbType.StreamOfListPacks2 or RdbType.StreamOfListPacks3 or RdbType.StreamOfListPacks4 or RdbType.StreamOfListPacks5:
                return TryStream(type, ref input);
            default:
                return input.TrySkipString();
        }
    }

    private static bool TryStrings(ref RdbInput input, int each) => TryElements(ref input, before: 0, each, after: 0);

    // A number of elements, each with so many lengths, strings and bytes.
    private static bool TryElements(ref RdbInput input, int before, int strings, int after)
    {
        if (!input.TryCount(out long count)) return false;
        for (; count > 0; count--)
        {
            if (before > 0 && !input.TryLength(out ulong _)) return false;
            for (int i = 0; i < strings; i++)
            {
                if (!input.TrySkipString()) return false;
            }

            if (!input.TrySkip(after)) return false;
        }

        return true;
    }

    private static bool TryScoreTexts(ref RdbInput input)
    {
        if (!input.TryCount(out long count)) return false;
        for (; count > 0; count--)
        {
            if (!input.TrySkipString() || !input.TryByte(out byte length) || (length < WordsFrom && !input.TrySkip(length))) return false;
        }

        return true;
    }

    private static bool TryStream(RdbType type, ref RdbInput input)
    {
        bool hasNumbers = type != RdbType.StreamOfListPacks;
        if (!TryStrings(ref input, each: 2) || !TryLengths(ref input, hasNumbers ? 8 : 3) || !input.TryCount(out long groups)) return false;
        for (; groups > 0; groups--)
        {
            if (!input.TrySkipString() || !TryLengths(ref input, hasNumbers ? 3 : 2) || !input.TryCount(out long pending)) return false;
            for (; pending > 0; pending--)
            {
                if (!input.TrySkip(RdbFormat.StreamIdBytes + sizeof(long)) || !TryLengths(ref input, 1)) return false;
            }

            if (!input.TryCount(out long consumers)) return false;
            for (; consumers > 0; consumers--)
            {
                int times = type >= RdbType.StreamOfListPacks3 ? 2 : 1;
                if (!input.TrySkipString() || !input.TrySkip(times * sizeof(long)) || !TryIds(ref input)) return false;
            }

            if (type == RdbType.StreamOfListPacks5 && !TryIds(ref input)) return false;
        }

        return type < RdbType.StreamOfListPacks4 || TrySkipProducers(ref input);
    }

    // The part of a stream by which Redis 8.6 recognises entries that a producer adds a second time: for how long and how many it
    // remembers, each producer's ids with their entries, and two counters.
    private static bool TrySkipProducers(ref RdbInput input)
    {
        if (!TryLengths(ref input, 2) || !input.TryCount(out long producers)) return false;
        for (; producers > 0; producers--)
        {
            if (!input.TrySkipString() || !input.TryCount(out long ids)) return false;
            for (; ids > 0; ids--)
            {
                if (!input.TrySkipString() || !TryLengths(ref input, 2)) return false;
            }
        }

        return TryLengths(ref input, 2);
    }

    private static bool TryIds(ref RdbInput input) => input.TryCount(out long count) && input.TrySkip(count * RdbFormat.StreamIdBytes);

    private static bool TryLengths(ref RdbInput input, int count)
    {
        for (; count > 0; count--)
        {
            if (!input.TryLength(out ulong _)) return false;
        }

        return true;
    }
}
