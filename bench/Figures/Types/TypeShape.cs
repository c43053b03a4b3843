namespace RedKite.Figures.Types;

/// <summary>A row of the memory table: data of one type in one form.</summary>
/// <param name="Name">The row's name, also for --only.</param>
/// <param name="IsOneValue">One large value instead of many small ones.</param>
/// <param name="Load">Writes the data: this many keys, or one key with this many elements.</param>
internal sealed record TypeShape(string Name, bool IsOneValue, Action<CommandPipe, int> Load)
{
    /// <summary>Elements per value, with many values.</summary>
    internal const int Few = 10;

    internal const string Key = "big";

    internal static readonly IReadOnlyList<TypeShape> All =
    [
        new("hashes", false, static (pipe, keys) => TypeData.Hashes(pipe, keys, Few)),
        new("sets", false, static (pipe, keys) => TypeData.Sets(pipe, keys, Few)),
        new("sorted-sets", false, static (pipe, keys) => TypeData.SortedSets(pipe, keys, Few)),
        new("lists", false, static (pipe, keys) => TypeData.Lists(pipe, keys, Few)),
        new("one-hash", true, static (pipe, fields) => TypeData.Hash(pipe, Key, fields)),
        new("one-set", true, static (pipe, members) => TypeData.Set(pipe, Key, members)),
        new("one-sorted-set", true, static (pipe, members) => TypeData.SortedSet(pipe, Key, members)),
        new("one-list", true, static (pipe, elements) => TypeData.List(pipe, Key, elements)),
        new("one-set-of-integers", true, static (pipe, members) => TypeData.Integers(pipe, Key, members)),
        new("one-stream", true, static (pipe, entries) => TypeData.Stream(pipe, Key, entries)),
    ];
}
