using System.Collections.Concurrent;
using RedKite.TestSupport;

// A test uses what the server has as a whole: keys of all databases, messages, clients.
[assembly: CollectionBehavior(DisableTestParallelization = true)]
[assembly: AssemblyFixture(typeof(RedKite.Libraries.Tests.Servers))]

namespace RedKite.Libraries.Tests;

/// <summary>The servers that every library runs against: RedKite and Redis. Each is started on first use and shared by all tests.</summary>
public sealed class Servers : IDisposable
{
    private readonly ConcurrentDictionary<string, ServerProcess> _servers = new();

    public static TheoryData<string> Names => ["redkite", "redis"];

    /// <summary>The emptied server as StackExchange.Redis and others write it: <c>127.0.0.1:6379</c>.</summary>
    internal string On(string name)
    {
        ServerProcess server = _servers.GetOrAdd(name, Start);
        using RespConnection connection = server.Connect();
        connection.Run("FLUSHALL").IsOk();
        return $"127.0.0.1:{server.Port}";
    }

    /// <summary>A connection to observe a server that <see cref="On"/> has returned.</summary>
    internal RespConnection Observe(string name) => _servers[name].Connect();

    public void Dispose()
    {
        foreach (ServerProcess server in _servers.Values) server.Dispose();
    }

    private static ServerProcess Start(string name) => name == "redkite"
        ? ServerProcess.Start(ServerProgram.UnderTest, "--save", "")
        : ServerProcess.Start(ServerProgram.Oracle, "--save", "");
}
