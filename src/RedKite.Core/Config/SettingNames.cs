namespace RedKite.Server.Config;

/// <summary>Finds the directive that a mistyped name may mean.</summary>
internal static class SettingNames
{
    // More than a third of a name that is wrong is another name.
    private const int LettersPerMistake = 3;

    // Longer names are no mistakes; this bounds the work that a line of a file causes.
    private const int LengthMax = 64;

    /// <summary>The directives that are no settings.</summary>
    internal static IReadOnlyList<string> Others { get; } = ["include", "rename-command", "user"];

    /// <summary>The directive whose name differs least, in letters that are missing, too many, wrong or exchanged; null: none is near.</summary>
    internal static string? Nearest(string name) => Nearest(name, SettingTable.Rows.Where(static row => !row.Has(SettingFlags.Hidden)).Select(static row => row.Name).Concat(Others));

    /// <summary>The same among other names.</summary>
    internal static string? Nearest(string name, IEnumerable<string> candidates)
    {
        if (name.Length is 0 or > LengthMax) return null;
        string folded = Folded(name);
        string? nearest = null;
        int least = int.MaxValue;
        foreach (string candidate in candidates)
        {
            int distance = Distance(folded, Folded(candidate));
            if (distance >= least || distance * LettersPerMistake > Math.Max(3, name.Length)) continue;
            (nearest, least) = (candidate, distance);
        }

        return nearest;
    }

    // "max_memory" and "maxMemory" mean maxmemory.
    private static string Folded(string name) => name.ToLowerInvariant().Replace("-", "", StringComparison.Ordinal).Replace("_", "", StringComparison.Ordinal);

    // Optimal string alignment: three rows of the table are in use at a time.
    private static int Distance(string left, string right)
    {
        int[] before = new int[right.Length + 1], row = new int[right.Length + 1], next = new int[right.Length + 1];
        for (int j = 0; j <= right.Length; j++) row[j] = j;
        for (int i = 1; i <= left.Length; i++)
        {
            next[0] = i;
            for (int j = 1; j <= right.Length; j++)
            {
                int changed = row[j - 1] + (left[i - 1] == right[j - 1] ? 0 : 1);
                next[j] = Math.Min(changed, 1 + Math.Min(row[j], next[j - 1]));
                if (i > 1 && j > 1 && left[i - 1] == right[j - 2] && left[i - 2] == right[j - 1]) next[j] = Math.Min(next[j], before[j - 2] + 1);
            }

            (before, row, next) = (row, next, before);
        }

        return row[right.Length];
    }
}
