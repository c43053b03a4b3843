namespace RedKite.Figures.Types;

/// <summary>Which rows of the types' tables are wanted.</summary>
internal static class RowSelection
{
    /// <summary>The rows that are named, or whose table is; all of them where nothing is named.</summary>
    internal static IReadOnlyList<T> Of<T>(IReadOnlyList<T> rows, Func<T, string> nameOf, string table, IReadOnlyList<string> wanted) =>
        wanted.Count == 0 || wanted.Contains(table) ? rows : [.. rows.Where(row => wanted.Contains(nameOf(row)))];

    /// <exception cref="FormatException">Something is wanted that there is not; the message tells what there is.</exception>
    internal static void Check(IReadOnlyList<string> wanted, IReadOnlyCollection<string> known)
    {
        if (wanted.FirstOrDefault(name => !known.Contains(name)) is { } unknown)
        {
            throw new FormatException($"--only: {unknown} is none of {string.Join(", ", known)}");
        }
    }
}
