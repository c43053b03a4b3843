using System.Buffers;
using System.Text;
using System.Text.RegularExpressions;

namespace RedKite.Json.Paths;

/// <summary>
/// The regular expressions of filters. They take time in proportion to the text (<see cref="RegexOptions.NonBacktracking"/>). One that is invalid, too long or
/// would repeat too much matches nothing, and neither does any of a text that is too long.
/// </summary>
internal sealed class JsonRegexes
{
    /// <summary>The longest pattern, in bytes.</summary>
    internal const int PatternBytesMax = 512;

    /// <summary>The longest text that is compared, in bytes.</summary>
    internal const int TextBytesMax = 64 * 1024;

    /// <summary>How often all counted repetitions of a pattern together may repeat.</summary>
    internal const int RepetitionsMax = 1000;

    private const int KeptMax = 16;

    private readonly (byte[] Pattern, bool IsWhole, Regex? Compiled)[] _kept = new (byte[], bool, Regex?)[KeptMax];
    private int _next;

    internal bool IsMatch(ReadOnlySpan<byte> pattern, ReadOnlySpan<byte> text, bool isWhole)
    {
        if (pattern.Length > PatternBytesMax || text.Length > TextBytesMax || Find(pattern, isWhole) is not { } regex) return false;
        char[] characters = ArrayPool<char>.Shared.Rent(TextBytesMax);
        bool isMatch = regex.IsMatch(characters.AsSpan(0, Encoding.UTF8.GetChars(text, characters)));
        ArrayPool<char>.Shared.Return(characters);
        return isMatch;
    }

    private Regex? Find(ReadOnlySpan<byte> pattern, bool isWhole)
    {
        foreach ((byte[] kept, bool keptIsWhole, Regex? compiled) in _kept)
        {
            if (kept is not null && keptIsWhole == isWhole && pattern.SequenceEqual(kept)) return compiled;
        }

        Regex? regex = Compile(Encoding.UTF8.GetString(pattern), isWhole);
        _kept[_next++ % KeptMax] = (pattern.ToArray(), isWhole, regex);
        return regex;
    }

    private static Regex? Compile(string pattern, bool isWhole)
    {
        if (Repetitions(pattern) > RepetitionsMax) return null;
        try
        {
            return new Regex(isWhole ? $"^(?:{pattern})\\z" : pattern, RegexOptions.NonBacktracking | RegexOptions.CultureInvariant);
        }
        catch (Exception invalid) when (invalid is ArgumentException or NotSupportedException)
        {
            return null;
        }
    }

    // The product of all numbers in braces: an upper bound of what the pattern becomes, whatever is inside of what.
    private static long Repetitions(string pattern)
    {
        long product = 1;
        for (int i = 0; i < pattern.Length; i++)
        {
            if (pattern[i] != '{') continue;
            long largest = 1, number = 0;
            for (i++; i < pattern.Length && (char.IsAsciiDigit(pattern[i]) || pattern[i] == ','); i++)
            {
                number = pattern[i] == ',' ? 0 : Math.Min(RepetitionsMax + 1, (number * 10) + (pattern[i] - '0'));
                largest = Math.Max(largest, number);
            }

            product = Math.Min(long.MaxValue / (RepetitionsMax + 2), product * largest);
        }

        return product;
    }
}
