namespace RedKite.TestSupport;

/// <summary>The commands that RedKite has beyond those of Redis 8.0.2. This is the only list of them.</summary>
public static class AddedCommands
{
    private static readonly string[] Names = ["bigkeys", "commandlog", "hotkeys"];

    private static readonly string[] Subcommands = ["script|show"];

    /// <summary>How many there are, containers counted once.</summary>
    public static int Count => Names.Length;

    /// <summary>Whether a command or subcommand ("get", "client|list") is RedKite's own or another server's.</summary>
    public static bool Contains(string fullName) => Names.Contains(fullName.Split('|')[0]) || Subcommands.Contains(fullName);
}
