namespace RedKite.Figures.Names;

/// <summary>The names and their casings.</summary>
internal static class NameSet
{
    internal static readonly string[] Names =
        ["user", "order", "items", "config", "client", "buffer", "customer", "line-items", "created-at", "content-type"];

    /// <summary>
    /// Every name in three casings, or as it is declared, in an order of its own for each thread. All strings are separate objects,
    /// as from a parser.
    /// </summary>
    internal static string[] CallsOf(int thread, bool mixed = true)
    {
        const int Repetitions = 60;
        string[] calls = mixed
            ? [.. Enumerable.Range(0, Repetitions / 3).SelectMany(_ => Names.SelectMany(Casings))]
            : [.. Enumerable.Range(0, Repetitions).SelectMany(_ => Names.Select(name => new string(name.AsSpan())))];
#pragma warning disable CA5394 // Samples, not secrets.
        new Random(thread).Shuffle(calls);
#pragma warning restore CA5394
        return calls;
    }

    internal static IEnumerable<string> Casings(string name) =>
        [new string(name.AsSpan()), name.ToUpperInvariant(), char.ToUpperInvariant(name[0]) + name[1..]];
}
