using RedKite.Net;
using RedKite.TestSupport;

namespace RedKite.Server.Tests;

/// <summary>Connections that end in the middle of a request leave no socket behind, however they end.</summary>
public sealed class HalfRequestTests : NetworkTests
{
    private const int Connections = 200;
    private const string Refused = "*1\r\n$x\r\n*1"; // its client is closed behind an error

    [Theory]
    [MemberData(nameof(Transports))]
    public async Task Sockets_of_half_sent_requests_are_closed(string transport)
    {
        await using RedKiteServer server = await StartAsync(transport);
        using var other = RespConnection.Connect(server.Port);
        OpenSockets sockets = server.Engine.Clients.Find(IdOf(other))!.Connection!.Loop.Sockets; // of all loops
        foreach (string half in (string[])["*3\r\n$3\r\nSET\r\n$1\r\nk\r\n$100\r\nabc", "*3\r\n$3\r\nSE", "*3\r\n$3\r\nSET\r\n$1\r\nk\r\n$1000000\r\n" + new string('x', 40_000), "GET k", "GET k\r\nGE", Refused])
        {
            RespConnection[] clients = [.. Enumerable.Range(0, Connections).Select(_ => RespConnection.Connect(server.Port))];
            foreach (RespConnection client in clients) client.Send(half);
            WaitFor(() => half == Refused ? server.Engine.Clients.Count == 1 : sockets.Count == Connections + 1, "all have arrived");
            foreach (RespConnection client in clients) client.Dispose();
            WaitFor(() => sockets.Count == 1, "all are closed");
            Assert.Equal(1, server.Engine.Clients.Count);
        }
    }
}
