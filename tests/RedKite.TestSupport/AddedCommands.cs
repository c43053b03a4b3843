namespace RedKite.TestSupport;

/// <summary>
/// The commands that RedKite has beyond those of Redis 8.0.2: its own, and those whose row says a newer version of Redis or Valkey. Everything that compares
/// with Redis 8.0.2 leaves them out.
/// </summary>
public static class AddedCommands
{
    // RedKite's own.
    private static readonly string[] Own = ["bigkeys", "busykeys", "client|capa", "clusterx", "script|show"];

    private static readonly HashSet<string> Names = new([.. Own, .. Newer()], StringComparer.OrdinalIgnoreCase);

    /// <summary>How many there are, containers counted once.</summary>
    public static int Count => Names.Count(name => !name.Contains('|', StringComparison.Ordinal));

    /// <summary>Whether a command or subcommand ("get", "client|list") is RedKite's own or another server's.</summary>
    public static bool Contains(string fullName) => Names.Contains(fullName) || Names.Contains(fullName.Split('|')[0]);

    // Names with a dot are of modules that the compared server does not have. The generated page has every row of the command table: | NAME SUBCOMMAND | group | arity | flags | since |
    private static IEnumerable<string> Newer() =>
        File.ReadLines(Path.Combine(RepositoryRoot.Path, "docs", "reference", "commands.md"))
            .Select(line => line.Split('|'))
            .Where(cells => cells.Length == 7 && (cells[1].Contains('.', StringComparison.Ordinal) || RedisVersion.IsNewer(cells[5].Trim())) && cells[1].Trim() != "VISMEMBER") // 8.0.2 has it, although its documentation says 8.2
            .Select(cells => cells[1].Trim().ToLowerInvariant().Replace(' ', '|'));
}
