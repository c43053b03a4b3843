namespace RedKite.TestSupport;

/// <summary>
/// A server that tests can start: a command line with <c>{port}</c> as the placeholder for the port. REDKITE_TEST_SERVER
/// replaces the system under test by another command line, for example <c>redis-server --port {port} --save ""</c>, which
/// tests the tests themselves.
/// </summary>
public sealed record ServerProgram(string Name, string CommandLine, bool IsRedKite)
{
    private const string OverrideVariable = "REDKITE_TEST_SERVER";

    /// <summary>
    /// Redis itself, the reference that RedKite is compared with: Redis 8, or what REDKITE_ORACLE names. Where there is neither,
    /// this system's redis-server, which tests that depend on the version skip.
    /// </summary>
    public static ServerProgram Oracle { get; } = OracleProgram.Named ?? OracleProgram.Redis8 ?? OracleProgram.Redis7;

    /// <summary>RedKite as built with the tests, or the command line in REDKITE_TEST_SERVER.</summary>
    public static ServerProgram UnderTest { get; } = FindUnderTest();

    /// <summary>The transports of the system under test; one unnamed transport if it is not RedKite.</summary>
    public static IReadOnlyList<string> Transports { get; } = UnderTest.IsRedKite ? ["epoll", "sockets"] : ["default"];

    /// <summary>The options that select a transport; none for a program without transports.</summary>
    public static string[] TransportOptions(string transport) => transport == "default" ? [] : ["--transport", transport];

    private static ServerProgram FindUnderTest()
    {
        string? given = Environment.GetEnvironmentVariable(OverrideVariable);
        if (!string.IsNullOrWhiteSpace(given)) return new("server under test", given, IsRedKite: false);

        string program = Path.Combine(RepositoryRoot.Path, "artifacts", "bin", "RedKite.Host", RepositoryRoot.Configuration, "redkite.dll");
        return new("redkite", $"dotnet \"{program}\" --port {{port}} --save \"\"", IsRedKite: true);
    }
}
