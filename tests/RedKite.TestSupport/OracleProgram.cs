using System.ComponentModel;
using System.Diagnostics;
using System.Text.RegularExpressions;

namespace RedKite.TestSupport;

/// <summary>
/// The real servers that tests compare RedKite with. Redis 8, Valkey 8 and Valkey 9 are where <c>./dev test</c> sets them up
/// (tests/oracle/install.sh), Redis 7 is the redis-server of this system. REDKITE_ORACLE names a redis-server that takes
/// the place of Redis 8 where it cannot be set up.
/// </summary>
public static partial class OracleProgram
{
    private const string OverrideVariable = "REDKITE_ORACLE";

    private static readonly string Folder = Path.Combine(RepositoryRoot.Path, "artifacts", "oracle", "bin");

    /// <summary>The program that REDKITE_ORACLE names, or null.</summary>
    public static ServerProgram? Named { get; } =
        Environment.GetEnvironmentVariable(OverrideVariable) is { Length: > 0 } path ? Server("redis-server", path) : null;

    public static ServerProgram Redis7 { get; } = Server("redis-server", "redis-server");

    /// <summary>Redis 8 or a later version; null if there is none, and <see cref="Redis8Missing"/> says why.</summary>
    public static ServerProgram? Redis8 { get; } =
        Named is not null ? (NamedVersion is { Major: >= 8 } ? Named : null) : Installed("redis-server");

    /// <summary>Redis 8.6, the oracle for what Redis 8 lacks or does otherwise, or null if it is not set up.</summary>
    public static ServerProgram? Redis86 { get; } = Installed(Path.Combine("..", "redis8.6", "bin", "redis-server"));

    /// <summary>One line that says what is not compared without Redis 8.6, and why.</summary>
    public const string Redis86Missing = "not compared with Redis 8.6: './dev test' has not set it up, which needs Debian's mirror with the coming release";

    /// <summary>The file of <see cref="Redis8"/>, for tests that start it with arguments of their own; null if there is none.</summary>
    public static string? Redis8Path { get; } = Redis8?.CommandLine.Split('"')[1];

    /// <summary>One line that says what is not compared without Redis 8, and why.</summary>
    public static string Redis8Missing { get; } = Named is null
        ? "not compared with Redis 8: './dev test' has not set it up, and REDKITE_ORACLE names no redis-server"
        : $"not compared with Redis 8: REDKITE_ORACLE names a redis-server of version {NamedVersion?.ToString() ?? "unknown"}";

    private static readonly Lazy<bool> FindsKeysAsRead = new(() =>
    {
        using ServerProcess server = ServerProcess.Start(Redis8!);
        using RespConnection client = server.Connect();
        return client.Run("COMMAND GETKEYS XREAD nosuch STREAMS key 0").IsError;
    });

    /// <summary>The reason why Redis 8 lacks fixes of Debian 13.8, such as the keys of XREAD and GEORADIUS; null: it has them.</summary>
    public static string? Redis8TooOld => Redis8 is null || FindsKeysAsRead.Value
        ? null
        : "not compared: this redis-server is older than Debian's 8.0.2-3+deb13u3, which finds keys as commands read them";

    /// <summary>The path of redis-cli of the same version as Redis 8, or null if it is not set up.</summary>
    public static string? Redis8Cli { get; } = Tool("redis-cli");

    /// <summary>redis-cli of Redis 8 if it is set up, otherwise the one on PATH.</summary>
    public static string Cli { get; } = Redis8Cli ?? "redis-cli";

    /// <summary>redis-benchmark of Redis 8 if it is set up, otherwise the one on PATH.</summary>
    public static string Benchmark { get; } = Tool("redis-benchmark") ?? "redis-benchmark";

    /// <summary>Valkey 8, or null if it is not set up.</summary>
    public static ServerProgram? Valkey8 { get; } = Installed("valkey-server");

    /// <summary>Valkey 9.1 or a later 9, or null if it is not set up: then <see cref="Valkey9Missing"/> says so.</summary>
    public static ServerProgram? Valkey9 { get; } = Installed(Path.Combine("..", "valkey9", "bin", "valkey-server"));

    /// <summary>One line that says what is not compared without Valkey 9, and why.</summary>
    public const string Valkey9Missing = "not compared with Valkey 9: './dev test' has not set it up, which needs Debian's mirror with the coming release";

    private static Version? NamedVersion =>
        Environment.GetEnvironmentVariable(OverrideVariable) is { Length: > 0 } path ? VersionOf(path) : null;

    private static ServerProgram? Installed(string name)
    {
        string path = Path.Combine(Folder, name);
        return File.Exists(path) ? Server(Path.GetFileName(path), path) : null;
    }

    private static string? Tool(string name) => File.Exists(Path.Combine(Folder, name)) ? Path.Combine(Folder, name) : null;

    private static ServerProgram Server(string name, string path) => new(name, $"\"{path}\" --port {{port}} --save \"\"", IsRedKite: false);

    private static Version? VersionOf(string path)
    {
        try
        {
            using Process process = Process.Start(new ProcessStartInfo(path, "--version") { RedirectStandardOutput = true })!;
            string text = process.StandardOutput.ReadToEnd();
            process.WaitForExit();
            return VersionText().Match(text) is { Success: true } match ? Version.Parse(match.Groups[1].Value) : null;
        }
        catch (Win32Exception)
        {
            return null;
        }
    }

    [GeneratedRegex(@"\bv=(\d+\.\d+\.\d+)")]
    private static partial Regex VersionText();
}
