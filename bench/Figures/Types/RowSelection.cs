namespace RedKite.Figures.Types;

/// <summary>Selects rows of the types scenario's tables.</summary>
internal static class RowSelection
{
    /// <summary>The rows named in the list, or whose table is named; all of them if the list is empty.</summary>
    internal static IReadOnlyList<T> Of<T>(IReadOnlyList<T> rows, Func<T, string> nameOf, string table, IReadOnlyList<string> wanted) =>
        wanted.Count == 0 || wanted.Contains(table) ? rows : [.. rows.Where(row => wanted.Contains(nameOf(row)))];

    /// <exception cref="FormatException">A name is unknown; the message lists the known ones.</exception>
    internal static void Check(IReadOnlyList<string> wanted, IReadOnlyCollection<string> known)
    {
        if (wanted.FirstOrDefault(name => !known.Contains(name)) is { } unknown)
        {
            throw new FormatException($"--only: {unknown} is not one of {string.Join(", ", known)}");
        }
    }
}
