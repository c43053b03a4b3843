using System.Collections.Concurrent;
using RedKite.TestSupport;

[assembly: CollectionBehavior(DisableTestParallelization = true)]

namespace RedKite.EndToEnd.Tests;

/// <summary>One server per transport, started on first use and shared by all tests.</summary>
public sealed class RunningServers : IDisposable
{
    private readonly ConcurrentDictionary<string, ServerProcess> _servers = new();

    /// <summary>The transports on which every test that uses a server runs.</summary>
    public static TheoryData<string> Transports => [.. ServerProgram.Transports];

    /// <summary>The emptied server of a transport. A server that a test has stopped is replaced.</summary>
    public ServerProcess On(string transport)
    {
        if (_servers.TryGetValue(transport, out ServerProcess? running) && running.HasExited && _servers.TryRemove(transport, out _)) running.Dispose();
        ServerProcess server = _servers.GetOrAdd(transport, name => ServerProcess.Start(ServerProgram.UnderTest, ServerProgram.TransportOptions(name)));
        using RespConnection connection = server.Connect();
        connection.Run("FLUSHALL").IsOk();
        return server;
    }

    public void Dispose()
    {
        foreach (ServerProcess server in _servers.Values) server.Dispose();
    }
}

[CollectionDefinition(Name)]
public sealed class RunningServersCollection : ICollectionFixture<RunningServers>
{
    public const string Name = "servers";
}
