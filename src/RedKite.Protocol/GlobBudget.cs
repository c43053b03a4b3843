namespace RedKite.Protocol;

/// <summary>
/// The steps that all matches of a command, or of a transaction or script, may take together: patterns and texts are a client's, and their number, too.
/// What ordinary texts take is free, so that the number of keys has no bound; patterns that begin again for each byte of long texts, and long classes,
/// take more. Once these steps are used up, long texts are no longer free, since any number of commands of a transaction may read them.
/// </summary>
internal sealed class GlobBudget(long stepsMax = GlobBudget.StepsMax)
{
    /// <summary>The steps beyond the free ones: about half a second, at 2 to 6 ns a step.</summary>
    internal const long StepsMax = 1L << 27;

    /// <summary>The free steps for each text: 40 bytes that match as many classes take as many. A pattern's length is not free: a class of a megabyte took a millisecond for each key.</summary>
    internal const int FreeForEachText = 256;

    /// <summary>The free steps for each byte of a text: finding a byte behind an asterisk takes two.</summary>
    internal const int FreeForEachByte = 2;

    private long _left = stepsMax;

    /// <summary>The steps that a command or unit gets, which tests lower.</summary>
    internal long Granted { get; set; } = stepsMax;

    /// <summary>Whether a match took more than was left: a command then replies an error, since it cannot say what matches.</summary>
    internal bool IsUsedUp { get; private set; }

    /// <summary>All steps that were taken, but for those that are free for each text.</summary>
    internal long Taken { get; private set; }

    /// <summary>Another command begins, or a transaction or script.</summary>
    internal void Begin()
    {
        _left = Granted;
        IsUsedUp = false;
    }

    /// <summary>A command of a transaction or script begins: what is left is that of all.</summary>
    internal void BeginInUnit() => IsUsedUp = false;

    /// <summary>Whether a text matches a pattern. When the steps are used up, only matches that are free go on.</summary>
    internal bool IsMatch(ReadOnlySpan<byte> pattern, ReadOnlySpan<byte> text, bool ignoreCase = false)
    {
        GlobMatch match = default;
        long steps = FreeForEachText + (_left > 0 ? _left + (FreeForEachByte * (long)text.Length) : 0);
        long granted = steps;
        bool? matches = GlobPattern.IsMatch(pattern, text, ignoreCase, ref match, ref steps);
        Taken += Math.Max(0, granted - steps - FreeForEachText - (FreeForEachByte * (long)text.Length));
        IsUsedUp |= matches is null || steps < 0;
        _left = Math.Clamp(steps, 0, _left);
        return matches ?? false;
    }
}
