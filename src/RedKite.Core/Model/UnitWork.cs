using RedKite.Protocol;

namespace RedKite.Server.Model;

/// <summary>
/// The work in a transaction or script that is elsewhere done in slices while the client waits: searches of vector sets and arrays; and LCS. A unit holds
/// its stripes until its end, so what its commands do is bounded, for a command and for the unit; only cheap commands are free, of which there may be any
/// number. Beyond a bound, a command replies an error and has changed nothing.
/// </summary>
/// <remarks>Work is counted in steps, about a nanosecond each: bytes that are compared one by one, or eight bytes of vectors.</remarks>
internal sealed class UnitWork
{
    /// <summary>The steps that a command may take beyond its slice: a quarter of a second.</summary>
    internal const long CommandStepsMax = 256 << 20;

    /// <summary>The steps that all commands of a transaction or script may take, but for cheap ones: about a second.</summary>
    internal const long StepsMax = 1L << 30;

    /// <summary>Of a unit's commands, one that takes a smaller part of a slice is cheap: 128,000 steps, where slices have a million.</summary>
    internal const int CheapPart = 8;

    /// <summary>Steps of a command that has no slices which a unit does not count.</summary>
    internal const int CheapSteps = 128 << 10;

    /// <summary>
    /// The steps that a search of a vector set may take in slices while its client waits: about ten seconds. Data alone needs as many only beyond 64 GiB
    /// of vectors; a hostile filter takes thousands for each byte.
    /// </summary>
    internal const long WaitingStepsMax = 8L << 30;

    /// <summary>
    /// The steps that a walk over an array may take in slices while its client waits, beyond those that a text's length explains
    /// (<c>ArrayWalk.ExcessSteps</c>): about a second.
    /// </summary>
    internal const long WaitingExcessMax = 1L << 30;

    /// <summary>More steps than any command takes.</summary>
    internal const long NoLimit = 1L << 56;

    /// <summary>The limits, which tests lower.</summary>
    internal (long Command, long Unit) Limits { get; set; } = (CommandStepsMax, StepsMax);

    /// <summary>The steps that are left for the unit.</summary>
    internal long Left { get; private set; } = StepsMax;

    /// <summary>The steps that the next command may take.</summary>
    internal long Granted => Math.Min(Left, Limits.Command);

    /// <summary>What patterns of KEYS, SCAN and the like may take: of a command, or of all commands of a unit.</summary>
    internal GlobBudget Patterns { get; } = new();

    /// <summary>What the patterns of subscribers may take for the messages of a command, or of all commands of a unit.</summary>
    internal GlobBudget MessagePatterns { get; } = new();

    /// <summary>The steps that are left for comparing keys and channels with the patterns of the client's user.</summary>
    internal long AccessLeft { get; private set; }

    internal void Begin()
    {
        Left = Limits.Unit;
        Patterns.Begin();
        MessagePatterns.Begin();
        BeginAccess();
    }

    /// <summary>A request outside of units is checked.</summary>
    internal void BeginAccess() => AccessLeft = AccessPattern.RequestStepsMax;

    /// <summary>Notes what the patterns of the client's user have left.</summary>
    internal void NoteAccess(long left) => AccessLeft = left;

    /// <summary>All that was taken since the executor began, whatever was left.</summary>
    internal long Taken { get; private set; }

    /// <summary>Notes what a command of the unit has taken.</summary>
    internal void Take(long steps)
    {
        Taken += steps;
        Left = Math.Max(0, Left - steps);
    }
}
