using RedKite.Protocol;

namespace RedKite.Server.Model;

/// <summary>
/// A pattern of keys or channels that a user may access, prepared for matching: most are a name or a prefix, which take one
/// comparison.
/// </summary>
internal readonly struct AccessPattern
{
    // What a match may take: one that takes more allows nothing. A pattern of 32 bytes never does, and a command has any number of keys and patterns.
    private const int StepsMax = 1 << 14;
    private const int StepsForEachByte = 32;

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

    internal bool Matches(ReadOnlySpan<byte> text)
    {
        if (text.IsEmpty) return _pattern.Length == 0; // as in Redis: an asterisk alone does not match it
        ReadOnlySpan<byte> literal = _pattern.AsSpan(0, _literalBytes);
        if (_isExact) return text.SequenceEqual(literal);
        if (!text.StartsWith(literal)) return false;
        if (_isPrefix) return true;
        GlobMatch match = default;
        long steps = StepsMax + (StepsForEachByte * (long)text.Length);
        return GlobPattern.IsMatch(_pattern, text, ignoreCase: false, ref match, ref steps) ?? false;
    }

    /// <summary>Whether the pattern is literally this one.</summary>
    internal bool Is(ReadOnlySpan<byte> pattern) => pattern.SequenceEqual(_pattern);
}
