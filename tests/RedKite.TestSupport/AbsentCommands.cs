namespace RedKite.TestSupport;

/// <summary>
/// The commands of Redis 8.0.2 that RedKite lacks, by the group that COMMAND DOCS gives them. This is the only list of them:
/// a differential test compares it with both servers, and docs/reference/commands.md is generated from it. A group without an entry is
/// complete. A container that is absent as a whole stands for its subcommands.
/// </summary>
public static class AbsentCommands
{
    private static readonly SortedDictionary<string, string[]> Groups = new(StringComparer.Ordinal)
    {
    };

    private static readonly HashSet<string> Names = [.. Groups.Values.SelectMany(names => names)];

    /// <summary>The groups with absent commands, and those commands, in order.</summary>
    public static IReadOnlyDictionary<string, string[]> ByGroup => Groups;

    /// <summary>Whether a command or subcommand ("get", "client|list") is absent.</summary>
    public static bool Contains(string fullName) => Names.Contains(fullName) || Names.Contains(fullName.Split('|')[0]);
}
