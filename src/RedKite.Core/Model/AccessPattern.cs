using RedKite.Protocol;

namespace RedKite.Server.Model;

/// <summary>
/// A pattern of keys or channels that a user may access, prepared for matching: most are a name or a prefix, which take one
/// comparison.
/// </summary>
internal readonly struct AccessPattern
{
    /// <summary>
    /// The steps that a request's keys or channels may take with all patterns of its user, beyond the free ones: 0.1 to 0.4 seconds. A request, or a
    /// transaction or script, has any number of keys, and a user any number of patterns. When they are used up, patterns with wildcards allow nothing.
    /// </summary>
    internal const long RequestStepsMax = 1L << 26;

    /// <summary>What the key of a command on the short path may take; then the whole check decides.</summary>
    internal const long ShortStepsMax = 1L << 16;

    // A match that takes more allows nothing. A pattern of 32 bytes never does.
    private const int StepsMax = 1 << 14;
    private const int StepsForEachByte = 32;

    // For each key or channel with all patterns: dozens of patterns with an asterisk in front are free.
    private const int FreeForEachText = 1024;
    private const int FreeForEachByte = 16;

    private readonly byte[] _pattern;
    private readonly int _literalBytes; // those before the first special byte
    private readonly bool _isExact;
    private readonly bool _isPrefix;

    internal AccessPattern(byte[] pattern, KeyAccess access)
    {
        _pattern = pattern;
        Access = access;
        int special = pattern.AsSpan().IndexOfAny("*?[\\"u8);
        _isExact = special < 0;
        _isPrefix = special >= 0 && special == pattern.Length - 1 && pattern[^1] == '*';
        _literalBytes = _isExact ? pattern.Length : special;
    }

    /// <summary>The access that the pattern allows for matching keys.</summary>
    internal KeyAccess Access { get; }

    /// <summary>Whether it matches everything that is not empty.</summary>
    internal bool MatchesAll => _isPrefix && _literalBytes == 0;

    /// <summary>The steps that a text may take with all patterns.</summary>
    internal static long StepsFor(ReadOnlySpan<byte> text, long left) => Math.Max(0, left) + FreeForEachText + (FreeForEachByte * (long)text.Length);

    /// <param name="text">A key or channel.</param>
    /// <param name="left">The steps that are left for it (<see cref="StepsFor"/>).</param>
    internal bool Matches(ReadOnlySpan<byte> text, ref long left)
    {
        if (text.IsEmpty) return _pattern.Length == 0; // as in Redis: an asterisk alone does not match it
        ReadOnlySpan<byte> literal = _pattern.AsSpan(0, _literalBytes);
        if (_isExact) return text.SequenceEqual(literal);
        if (!text.StartsWith(literal)) return false;
        if (_isPrefix) return true;
        GlobMatch match = default;
        long granted = Math.Min(left, StepsMax + (StepsForEachByte * (long)text.Length));
        long steps = granted;
        bool matches = GlobPattern.IsMatch(_pattern, text, ignoreCase: false, ref match, ref steps) ?? false;
        left -= granted - steps;
        return matches;
    }

    /// <summary>Whether the pattern is literally this one.</summary>
    internal bool Is(ReadOnlySpan<byte> pattern) => pattern.SequenceEqual(_pattern);
}
