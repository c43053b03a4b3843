namespace RedKite.Protocol;

/// <summary>
/// The glob matcher of KEYS, SCAN, PSUBSCRIBE and CONFIG GET: <c>*</c>, <c>?</c>, <c>[a-z]</c>, <c>[^a]</c> and
/// backslash, over bytes, with the corner cases of Redis (each was compared with a running server).
/// </summary>
/// <remarks>
/// Bounded: every element but <c>*</c> takes exactly one byte, so on a mismatch only the latest <c>*</c> needs to
/// take one byte more. The time is at most pattern length times text length; the recursion that tries every
/// <c>*</c> again, which is exponential for <c>a*a*a*a*b</c>, is not needed. Both lengths are a client's, so a match ends after
/// <see cref="StepsMax"/>, or stops and goes on later (<see cref="GlobMatch"/>).
/// As in Redis, a pattern that needs more than <see cref="StarsMax"/> asterisks before its last element matches nothing.
/// Ranges compare bytes as signed numbers, as Redis does where a C char is signed: <c>[a-\xff]</c> runs from -1 to 97.
/// </remarks>
internal static class GlobPattern
{
    /// <summary>
    /// The steps of one match, each a byte of the pattern or of the text: about a third of a second. A text for which more are needed does
    /// not match; that takes a pattern and a text of tens of kilobytes each.
    /// </summary>
    public const long StepsMax = 1L << 28;

    private const int StarsMax = 1000; // groups of them; those at the pattern's end do not count

    /// <summary>Whether <paramref name="text"/> as a whole matches <paramref name="pattern"/>.</summary>
    /// <param name="pattern">The pattern, any bytes.</param>
    /// <param name="text">The text, any bytes.</param>
    /// <param name="ignoreCase">Compare ASCII letters without case; an escaped byte inside a class stays exact.</param>
    public static bool IsMatch(ReadOnlySpan<byte> pattern, ReadOnlySpan<byte> text, bool ignoreCase = false)
    {
        GlobMatch match = default;
        long steps = StepsMax;
        return IsMatch(pattern, text, ignoreCase, ref match, ref steps) ?? false;
    }

    /// <summary>Likewise, in steps.</summary>
    /// <param name="match">How far the match is; at first, nothing is done.</param>
    /// <param name="steps">The steps that it may take; then those that are left.</param>
    /// <returns>Null: it has stopped, and goes on with the same pattern and text.</returns>
    internal static bool? IsMatch(ReadOnlySpan<byte> pattern, ReadOnlySpan<byte> text, bool ignoreCase, scoped ref GlobMatch match, ref long steps)
    {
        // In Redis no pattern but the empty one matches the empty text, except that KEYS and SCAN take "*" as everything.
        if (text.IsEmpty) return pattern.IsEmpty || pattern.SequenceEqual("*"u8);

        int patternIndex = match.PatternIndex;
        int textIndex = match.TextIndex;
        int retryPatternIndex = match.RetryPattern - 1;
        int retryTextIndex = match.RetryText;
        int stars = match.Stars;

        while (true)
        {
            if (steps <= 0)
            {
                match = new GlobMatch(patternIndex, textIndex, retryPatternIndex + 1, retryTextIndex, stars);
                return null;
            }

            int before = patternIndex;
            if (patternIndex < pattern.Length && pattern[patternIndex] == '*')
            {
                while (patternIndex < pattern.Length && pattern[patternIndex] == '*')
                {
                    patternIndex++;
                }

                steps -= patternIndex - before;
                if (patternIndex == pattern.Length) return true;
                if (++stars > StarsMax) return false; // a retry begins behind its asterisk, so none counts twice
                retryPatternIndex = patternIndex;
                retryTextIndex = textIndex;
                continue;
            }

            if (textIndex == text.Length) return patternIndex == pattern.Length;

            if (patternIndex < pattern.Length
                && MatchOne(pattern, ref patternIndex, text[textIndex], ignoreCase))
            {
                steps -= patternIndex - before;
                textIndex++;
                continue;
            }

            steps -= patternIndex - before + 1;
            if (retryPatternIndex < 0) return false;
            patternIndex = retryPatternIndex;
            textIndex = ++retryTextIndex;
        }
    }

    /// <summary>Whether the pattern has none of the bytes that start a wildcard, so that it matches a single text.</summary>
    public static bool IsLiteral(ReadOnlySpan<byte> pattern) => pattern.IndexOfAny((byte)'*', (byte)'?', (byte)'[') < 0;

    // Moves the index past the element, whether it matched or not: on a mismatch the caller goes back anyway.
    private static bool MatchOne(ReadOnlySpan<byte> pattern, ref int index, byte value, bool ignoreCase)
    {
        byte element = pattern[index++];
        switch (element)
        {
            case (byte)'?':
                return true;
            case (byte)'[':
                return MatchClass(pattern, ref index, value, ignoreCase);
            case (byte)'\\' when index < pattern.Length:
                element = pattern[index++];
                break;
        }

        return Fold(element, ignoreCase) == Fold(value, ignoreCase);
    }

    // The class ends at the first ']' (also directly after '[' or '[^') or where the pattern ends.
    private static bool MatchClass(ReadOnlySpan<byte> pattern, ref int index, byte value, bool ignoreCase)
    {
        bool negated = index < pattern.Length && pattern[index] == '^';
        if (negated) index++;

        bool found = false;
        sbyte folded = (sbyte)Fold(value, ignoreCase);
        while (index < pattern.Length)
        {
            int left = pattern.Length - index;
            if (pattern[index] == '\\' && left >= 2)
            {
                index++;
                found |= pattern[index] == value;
            }
            else if (pattern[index] == ']')
            {
                index++;
                break;
            }
            else if (left >= 3 && pattern[index + 1] == '-')
            {
                // Swapped before folding: [Z-a] without case is [z-a] and matches nothing, as in Redis.
                sbyte first = (sbyte)pattern[index];
                sbyte last = (sbyte)pattern[index + 2];
                if (first > last) (first, last) = (last, first);
                first = (sbyte)Fold((byte)first, ignoreCase);
                last = (sbyte)Fold((byte)last, ignoreCase);
                index += 2;
                found |= folded >= first && folded <= last;
            }
            else
            {
                found |= (sbyte)Fold(pattern[index], ignoreCase) == folded;
            }

            index++;
        }

        return found != negated;
    }

    private static byte Fold(byte value, bool ignoreCase) =>
        ignoreCase && value is >= (byte)'A' and <= (byte)'Z' ? (byte)(value | 0x20) : value;
}

/// <summary>How far the match of a pattern is.</summary>
internal readonly record struct GlobMatch(int PatternIndex, int TextIndex, int RetryPattern, int RetryText, int Stars);
