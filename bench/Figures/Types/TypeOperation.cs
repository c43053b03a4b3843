namespace RedKite.Figures.Types;

/// <summary>A row of the CPU table: a command in redis-benchmark's form, and its data.</summary>
/// <param name="Name">The row's name, also for --only.</param>
/// <param name="Command">Space-separated words; __rand_int__ becomes twelve digits below <paramref name="Range"/>.</param>
/// <param name="Load">Writes the data that the operation reads, once before all rounds.</param>
/// <param name="Supply">
/// Writes the data that a round of this many operations consumes, after deleting the keys in <paramref name="Fresh"/>
/// that the previous round left.
/// </param>
/// <param name="Fresh">Keys that are deleted before each round.</param>
internal sealed record TypeOperation(
    string Name, string Command, double RatioMin = TypeOperation.OrdinaryRatioMin, int Range = TypeOperation.OrdinaryRange,
    Action<CommandPipe>? Load = null, Action<CommandPipe, int>? Supply = null, string? Fresh = null)
{
    internal const double OrdinaryRatioMin = 1.5;

    /// <summary>Operations that work on whole blocks of memory.</summary>
    internal const double WideRatioMin = 4;

    internal const int OrdinaryRange = 100_000;

    private const string RandomNumber = "__rand_int__";

    internal string[] Words => Command.Split(' ');

    /// <summary>The command with every random number replaced by the given one.</summary>
    internal string[] Sample(int number) => [.. Words.Select(word => word.Replace(RandomNumber, $"{number:D12}", StringComparison.Ordinal))];
}
