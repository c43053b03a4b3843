using System.Net;
using System.Net.Sockets;
using RedKite.Server.Metrics;
using RedKite.TestSupport;

namespace RedKite.Server.Tests.Commands.Server;

/// <summary>Tests that measure the managed heap, so that no other test may allocate meanwhile.</summary>
[CollectionDefinition(nameof(MeasuresTheHeap), DisableParallelization = true)]
public sealed class MeasuresTheHeap;

/// <summary>The memory that INFO and CLIENT LIST count for a connection is near the truth.</summary>
[Collection(nameof(MeasuresTheHeap))]
public sealed class ConnectionMemoryTests
{
    [Alone] // what earlier tests have left may be freed meanwhile
    [Fact]
    public async Task Connections_count_roughly_their_actual_memory()
    {
        const int Connections = 2000;
        await using LiveServer server = await LiveServer.StartAsync("transport", "epoll", "maxclients", "3000");
        Assert.SkipWhen(server.Server.Engine.Settings.MaxClients < 3000, "the system allows too few open files");
        long usedBefore = server.Number("memory", "mem_clients_normal");
        long heapBefore = GC.GetTotalMemory(forceFullCollection: true);
        long connectionBytes;
        var clients = new List<TcpClient>();
        try
        {
            for (int i = 0; i < Connections; i++) clients.Add(new TcpClient("127.0.0.1", server.Server.Port));
            long heapOfClients = ClientSideBytes(clients.Count);
            Assert.True(SpinWait.SpinUntil(() => server.Number("clients", "connected_clients") == Connections + 1, 60_000));
            long heapBytes = GC.GetTotalMemory(forceFullCollection: true) - heapBefore - heapOfClients;
            connectionBytes = heapBytes / Connections;
            Assert.Equal(Connections * (long)LoopMetrics.ConnectionBytes, server.Number("memory", "mem_clients_normal") - usedBefore);
        }
        finally
        {
            foreach (TcpClient client in clients) client.Dispose();
        }

        Assert.InRange(connectionBytes, LoopMetrics.ConnectionBytes / 2, LoopMetrics.ConnectionBytes * 2);
    }

    // The clients' own sockets are in this process too: their memory is measured with a listener that accepts nothing.
    private static long ClientSideBytes(int count)
    {
        using var listener = new TcpListener(IPAddress.Loopback, 0);
        listener.Start(count);
        long before = GC.GetTotalMemory(forceFullCollection: true);
        var clients = new List<TcpClient>(count);
        for (int i = 0; i < count; i++) clients.Add(new TcpClient("127.0.0.1", ((IPEndPoint)listener.LocalEndpoint).Port));
        long bytes = GC.GetTotalMemory(forceFullCollection: true) - before;
        foreach (TcpClient client in clients) client.Dispose();
        return bytes;
    }
}
