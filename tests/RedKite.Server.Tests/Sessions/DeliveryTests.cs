using System.Buffers;
using System.Net;
using System.Net.Sockets;
using System.Text;
using RedKite.Server.Model;
using RedKite.TestSupport;

namespace RedKite.Server.Tests.Sessions;

/// <summary>The one address for bytes to a client: from its own command, from other threads, in process, and without a receiver.</summary>
public class DeliveryTests : NetworkTests
{
    [Theory]
    [MemberData(nameof(Transports))]
    public async Task Messages_of_a_command_to_its_own_client_follow_its_reply(string transport)
    {
        await using RedKiteServer server = await StartAsync(new Delivering(), transport);
        using RespConnection client = RespConnection.Connect(server.Port);
        client.Send("PING\r\nSET k v\r\nGET k\r\nGET missing\r\nPING\r\n");
        foreach (string command in new[] { "PING", "SET", "GET", "GET", "PING" })
        {
            RespValue reply = client.Read();
            Assert.NotEqual('>', reply.Marker);
            Assert.Equal(command == "PING" ? "PONG" : command == "SET" ? "OK" : reply.Text, reply.Text);
            RespValue next = client.Read();
            Assert.Equal("after " + command, next.Text);
        }

        Assert.Empty(client.Pushes);
        WaitFor(() => server.Engine.Buffers.UsedBytes == 0, "every reference is released");
    }

    [Theory]
    [MemberData(nameof(Transports))]
    public async Task Deliveries_from_other_threads_reach_every_client_once_and_in_order(string transport)
    {
        const int Clients = 20, Messages = 500;
        await using RedKiteServer server = await StartAsync(transport);
        List<RespConnection> clients = [.. Enumerable.Range(0, Clients).Select(_ => RespConnection.Connect(server.Port))];
        clients.ForEach(client => client.Run("PING").IsSimple("PONG"));
        Session[] sessions = [.. server.Engine.Clients.InOrder];
        Assert.Equal(Clients, sessions.Length);
        for (int i = 0; i < Messages; i++)
        {
            Payload payload = Payload.Of(server.Engine.Buffers, Encoding.ASCII.GetBytes($"+message {i} {new string('x', i % 3 == 0 ? 2000 : 5)}\r\n"));
            foreach (Session session in sessions) session.Deliver(payload);
            payload.Buffer.Release();
        }

        foreach (RespConnection client in clients)
        {
            client.SendCommand("PING");
            for (int i = 0; i < Messages; i++) Assert.StartsWith($"message {i} ", ReadMessage(client), StringComparison.Ordinal);
        }

        WaitFor(() => server.Engine.Buffers.UsedBytes == 0, "every reference is released");
        clients.ForEach(client => client.Dispose());

        // The reply comes wherever it comes; the messages among themselves keep their order.
        static string ReadMessage(RespConnection client)
        {
            RespValue value = client.Read();
            return value.Text == "PONG" ? client.Read().Text : value.Text;
        }
    }

    [Fact]
    public async Task Deliveries_to_a_caller_in_process_follow_its_replies()
    {
        await using RedKiteServer server = await StartAsync(new Delivering(), "sockets");
        using RedKiteSession client = server.CreateSession();
        var replies = new ArrayBufferWriter<byte>();
        client.Execute("PING\r\n"u8.ToArray(), replies);
        Assert.Equal("+PONG\r\n+after PING\r\n", Encoding.ASCII.GetString(replies.WrittenSpan));
        client.Execute("PING"); // what it delivers is not taken
        client.Dispose();
        Assert.Equal(0, server.Engine.Buffers.UsedBytes);
    }

    [Fact]
    public async Task Deliveries_to_a_disconnected_client_are_released()
    {
        await using RedKiteServer server = await StartAsync("sockets");
        RespConnection client = RespConnection.Connect(server.Port);
        client.Run("PING").IsSimple("PONG");
        Session session = server.Engine.Clients.InOrder.Single();
        client.Dispose();
        WaitFor(() => server.Engine.Clients.Count == 0, "it is gone");
        Payload payload = Payload.Of(server.Engine.Buffers, "+late\r\n"u8);
        session.Deliver(payload);
        payload.Buffer.Release();
        WaitFor(() => server.Engine.Buffers.UsedBytes == 0, "every reference is released");
    }

    [Fact]
    public async Task Client_that_does_not_read_its_deliveries_is_closed_at_its_limit()
    {
        await using RedKiteServer server = await StartAsync("sockets", ("client-output-buffer-limit", "normal 8mb 0 0"));
        using var socket = new Socket(AddressFamily.InterNetwork, SocketType.Stream, ProtocolType.Tcp);
        socket.Connect(IPAddress.Loopback, server.Port);
        WaitFor(() => server.Engine.Clients.Count == 1, "it is connected");
        Session session = server.Engine.Clients.InOrder.Single();
        Payload payload = Payload.Of(server.Engine.Buffers, new byte[1 << 20]);
        for (int i = 0; i < 1000 && server.Engine.Metrics.Server.OutputBufferDisconnections == 0; i++)
        {
            session.Deliver(payload);
            Thread.Sleep(1);
        }

        Assert.Equal(1, server.Engine.Metrics.Server.OutputBufferDisconnections);
        WaitFor(() => payload.Buffer.References == 1, "its references are released");
        payload.Buffer.Release();
        WaitFor(() => server.Engine.Buffers.UsedBytes == 0, "every reference is released");
    }

    private static async Task<RedKiteServer> StartAsync(Behavior behavior, string transport)
    {
        var options = new RedKiteOptions { Port = 0 };
        options.Settings["transport"] = transport;
        options.Behaviors.Add(behavior);
        RedKiteServer server = await RedKiteServer.StartAsync(options);
        ((Delivering)behavior).Server = server;
        return server;
    }

    // Delivers to the client whose command is executing, before it executes.
    private sealed class Delivering : Behavior
    {
        internal RedKiteServer Server { get; set; } = null!;

        public override void Invoke(ref CommandCall call)
        {
            Session session = call.Context.Session;
            Payload payload = Payload.Of(Server.Engine.Buffers, Encoding.ASCII.GetBytes($"+after {call.Name.ToUpperInvariant()}\r\n"));
            session.Deliver(payload);
            payload.Buffer.Release();
            Next.Invoke(ref call);
        }
    }
}
