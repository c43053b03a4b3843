namespace RedKite.Figures.Types;

/// <summary>One row of the CPU table: a command of redis-benchmark's form and the data that it meets.</summary>
/// <param name="Name">The row, and what --only calls it.</param>
/// <param name="Command">Words with a space between; __rand_int__ in them becomes twelve digits below <paramref name="Range"/>.</param>
/// <param name="Load">Writes what the operation reads, once before all rounds.</param>
/// <param name="Supply">
/// Writes what a round of so many operations uses up; what the round before has left of the keys in <paramref name="Fresh"/>
/// is deleted before it.
/// </param>
/// <param name="Fresh">Keys that each round finds without what the one before it put there.</param>
internal sealed record TypeOperation(
    string Name, string Command, double RatioLeast = TypeOperation.OrdinaryRatioLeast, int Range = TypeOperation.OrdinaryRange,
    Action<CommandPipe>? Load = null, Action<CommandPipe, int>? Supply = null, string? Fresh = null)
{
    internal const double OrdinaryRatioLeast = 1.5;

    /// <summary>Where whole blocks of memory can be worked on at once.</summary>
    internal const double WideRatioLeast = 4;

    internal const int OrdinaryRange = 100_000;

    private const string RandomNumber = "__rand_int__";

    internal string[] Words => Command.Split(' ');

    /// <summary>The command with a certain number in place of every random one.</summary>
    internal string[] Sample(int number) => [.. Words.Select(word => word.Replace(RandomNumber, $"{number:D12}", StringComparison.Ordinal))];
}
