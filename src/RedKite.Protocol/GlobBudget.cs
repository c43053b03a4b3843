namespace RedKite.Protocol;

/// <summary>
/// The steps that all matches of a command, or of a transaction or script, may take together: patterns and texts are a client's, and their number, too.
/// What a text's length alone explains is free, so that the number of keys has no bound; only long patterns that begin again for each byte take more.
/// </summary>
internal sealed class GlobBudget(long stepsMax = GlobPattern.StepsMax)
{
    // A pattern that is not longer takes no more than that for each byte of a text.
    private const int FreeForEachByte = 32;

    private readonly long _stepsMax = stepsMax;
    private long _left = stepsMax;

    /// <summary>Another command begins.</summary>
    internal void Begin() => _left = _stepsMax;

    /// <summary>Whether a text matches a pattern. When the steps are used up, it does not.</summary>
    internal bool IsMatch(ReadOnlySpan<byte> pattern, ReadOnlySpan<byte> text, bool ignoreCase = false)
    {
        if (pattern.Length <= FreeForEachByte) return GlobPattern.IsMatch(pattern, text, ignoreCase);
        GlobMatch match = default;
        long free = pattern.Length + (FreeForEachByte * (long)text.Length);
        long steps = free + _left;
        bool matches = GlobPattern.IsMatch(pattern, text, ignoreCase, ref match, ref steps) ?? false;
        _left = Math.Clamp(steps, 0, _left);
        return matches;
    }
}
