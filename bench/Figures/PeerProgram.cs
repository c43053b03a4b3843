using System.Text.RegularExpressions;

namespace RedKite.Figures;

/// <summary>
/// The programs of the servers that RedKite is compared with: Redis 8 and Valkey 8 where tests/oracle/install.sh sets them up
/// ('./dev bench' runs it), otherwise those on PATH. REDKITE_ORACLE names another redis-server.
/// </summary>
internal static partial class PeerProgram
{
    private static readonly string Folder = Path.Combine(Repository.Root, "artifacts", "oracle", "bin");

    internal static string? RedisServer { get; } =
        Environment.GetEnvironmentVariable("REDKITE_ORACLE") is { Length: > 0 } named ? named : Find("redis-server");

    internal static string? ValkeyServer { get; } = Find("valkey-server");

    /// <summary>Valkey 9, for what Valkey 8 does not have.</summary>
    internal static string? Valkey9Server { get; } = Installed(Path.Combine(Repository.Root, "artifacts", "oracle", "valkey9", "bin", "valkey-server"));

    internal static string? RedisBenchmark { get; } = Find("redis-benchmark");

    internal static string? ValkeyBenchmark { get; } = Find("valkey-benchmark");

    /// <exception cref="CannotMeasureException">There is none.</exception>
    internal static string RequireRedisBenchmark() =>
        RedisBenchmark ?? throw new CannotMeasureException("there is no redis-benchmark, neither in artifacts/oracle nor on PATH");

    /// <summary>The program's version, such as 8.0.2, or null if it prints none.</summary>
    internal static string? VersionOf(string program) =>
        VersionText().Match(ExternalProgram.Run(program, ["--version"])) is { Success: true } match ? match.Value : null;

    /// <summary>The programs with their versions, for the page: "redis-server 8.0.2, valkey-server 8.1.1".</summary>
    internal static string Describe()
    {
        string?[] programs = [RedisServer, ValkeyServer, RedisBenchmark, ValkeyBenchmark];
        IEnumerable<string> found = programs.OfType<string>().Select(program => $"{Path.GetFileName(program)} {VersionOf(program) ?? "of unknown version"}");
        return string.Join(", ", found);
    }

    private static string? Find(string name) => Installed(Path.Combine(Folder, name)) ?? ExternalProgram.Find(name);

    private static string? Installed(string program) => File.Exists(program) ? program : null;

    [GeneratedRegex(@"\d+\.\d+\.\d+")]
    private static partial Regex VersionText();
}
