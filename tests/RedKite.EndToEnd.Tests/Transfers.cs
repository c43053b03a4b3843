using System.Collections.Concurrent;
using RedKite.TestSupport;

namespace RedKite.EndToEnd.Tests;

/// <summary>The servers between which data is transferred, by name: started on first use, with DEBUG, and emptied for each test.</summary>
public sealed class Transfers : IDisposable
{
    private readonly ConcurrentDictionary<(string, string), ServerProcess> _servers = new();

    internal static string Program { get; } = Path.Combine(RepositoryRoot.Path, "artifacts", "bin", "RedKite.Host", RepositoryRoot.Configuration, "redkite.dll");

    /// <summary>A server to read from; the test is skipped if there is none of that name.</summary>
    internal ServerProcess Source(string name) => Get(name, "source");

    /// <summary>A server to write to.</summary>
    internal ServerProcess Target(string name) => Get(name, "target");

    /// <summary>Starts a server of the test's own.</summary>
    internal static ServerProcess Start(string name, params string[] options)
    {
        ServerProgram? program = name switch
        {
            "redkite" => ServerProgram.UnderTest,
            "redis 8" => OracleProgram.Redis8,
            "valkey 8" => OracleProgram.Valkey8,
            "valkey 9" => OracleProgram.Valkey9,
            _ => OracleProgram.Redis7,
        };
        if (program is null) Assert.Skip(name == "valkey 9" ? OracleProgram.Valkey9Missing : OracleProgram.Redis8Missing);
        return ServerProcess.Start(program, ["--enable-debug-command", "yes", .. options]);
    }

    internal static string Address(ServerProcess server) => $"redis://127.0.0.1:{server.Port}";

    /// <summary>Runs the program.</summary>
    internal static Task<ChildProgram> Run(params string[] arguments) => ChildProgram.Run("dotnet", [Program, .. arguments]);

    /// <summary>A connection to a server that may still load its data.</summary>
    internal static RespConnection ConnectWhenLoaded(ServerProcess server)
    {
        RespConnection client = server.Connect();
        while (client.Run("PING").Text.StartsWith("LOADING", StringComparison.Ordinal)) Thread.Sleep(20);
        return client;
    }

    public void Dispose()
    {
        foreach (ServerProcess server in _servers.Values) server.Dispose();
    }

    private ServerProcess Get(string name, string role)
    {
        ServerProcess server = _servers.GetOrAdd((name, role), _ => Start(name));
        using RespConnection client = server.Connect();
        client.Run("FLUSHALL").IsOk();
        client.Run("FUNCTION FLUSH").IsOk();
        return server;
    }
}

[CollectionDefinition(Name)]
public sealed class TransfersCollection : ICollectionFixture<Transfers>
{
    public const string Name = "transfers";
}
