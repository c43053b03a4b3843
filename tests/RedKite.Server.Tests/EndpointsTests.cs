using System.Net.Sockets;
using RedKite.TestSupport;

namespace RedKite.Server.Tests;

/// <summary>The port changes while clients are active: connected ones stay, and connections that arrive meanwhile do no harm.</summary>
public class EndpointsTests : NetworkTests
{
    [Theory]
    [MemberData(nameof(Transports))]
    public async Task Pipelined_port_changes_end_at_the_last_one(string transport)
    {
        int[] ports = [.. Enumerable.Range(0, 5).Select(_ => LoopbackPort.Next())];
        await using RedKiteServer server = await StartAsync(transport, ("port", $"{ports[0]}"), ("bind", "127.0.0.1"));
        using RespConnection client = RespConnection.Connect(ports[0]);
        for (int round = 0; round < 20; round++)
        {
            client.Send(string.Concat(ports[1..].Concat([ports[0]]).Select(port => $"CONFIG SET port {port}\r\n")) + "PING\r\n");
            for (int i = 0; i < ports.Length; i++) client.Read().IsOk();
            client.Read().IsSimple("PONG");
        }

        Assert.Equal(ports[0], server.Port);
        foreach (int port in ports[1..]) Assert.ThrowsAny<SocketException>(() => RespConnection.Connect(port));
        using RespConnection late = RespConnection.Connect(ports[0]);
        late.Run("PING").IsSimple("PONG");
        Assert.Null(server.Failure);
    }

    [Theory]
    [MemberData(nameof(Transports))]
    public async Task Port_changes_while_connections_arrive(string transport)
    {
        const int Changes = 150;
        int[] ports = [LoopbackPort.Next(), LoopbackPort.Next()];
        await using RedKiteServer server = await StartAsync(transport, ("port", $"{ports[0]}"), ("bind", "127.0.0.1"));
        using RespConnection client = RespConnection.Connect(ports[0]);
        long served = 0, refused = 0;
        bool isOver = false;

        // A client that connects is served or closed: that opens and closes files with numbers that the listeners had before.
        Thread[] arriving = [.. Enumerable.Range(0, 4).Select(index => new Thread(() =>
        {
            for (int i = index; !Volatile.Read(ref isOver); i++)
            {
                try
                {
                    using RespConnection next = RespConnection.Connect(ports[i % 2]);
                    RespValue reply = next.Run("PING");
                    if (reply.IsClosed) Interlocked.Increment(ref refused);
                    else reply.IsSimple("PONG");
                    Interlocked.Increment(ref served);
                }
                catch (SocketException)
                {
                    Interlocked.Increment(ref refused);
                }
            }
        }))];
        foreach (Thread thread in arriving) thread.Start();

        // From both loops alternately.
        using RespConnection second = RespConnection.Connect(server.Port);
        second.Run("PING").IsSimple("PONG"); // what is not accepted yet ends with its listener
        for (int i = 1; i <= Changes; i++)
        {
            RespConnection changer = i % 3 == 0 ? second : client;
            changer.Run($"CONFIG SET port {ports[i % 2]}").IsOk();
            changer.Run("INFO server");
        }

        Volatile.Write(ref isOver, true);
        foreach (Thread thread in arriving) thread.Join();
        Assert.Equal(ports[0], server.Port);
        Assert.Null(server.Failure);
        Assert.True(served > 0, "no connection was served");
        using RespConnection late = RespConnection.Connect(ports[0]);
        late.Run("PING").IsSimple("PONG");
        client.Run("PING").IsSimple("PONG");
        WaitFor(() => server.Engine.Clients.Count == 3, "all others are gone");
    }
}
