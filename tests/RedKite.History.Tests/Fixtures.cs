using RedKite.TestSupport;

namespace RedKite.History.Tests;

/// <summary>The folder Fixtures: invented records of two machines, and a report as './dev bench --json' writes it.</summary>
internal static class Fixtures
{
    internal static string Results { get; } = File("results.ndjson");

    internal static string Report { get; } = System.IO.File.ReadAllText(File("report.json"));

    private static string File(string name) => Path.Combine(RepositoryRoot.Path, "tests", "RedKite.History.Tests", "Fixtures", name);
}
