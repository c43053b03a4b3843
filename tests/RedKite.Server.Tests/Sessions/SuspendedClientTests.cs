using System.Net;
using System.Net.Sockets;
using System.Text;
using RedKite.Server.Metrics;
using RedKite.TestSupport;

namespace RedKite.Server.Tests.Sessions;

/// <summary>Clients that send and do not read: nothing piles up for them, and nothing is lost once they read.</summary>
public class SuspendedClientTests : NetworkTests
{
    private const int Megabyte = 1 << 20;

    // What may wait for one client: replies of 4 MiB, those of one more batch and of its last command.
    private const long WaitingBytesMax = 8 * Megabyte;

    [Theory]
    [MemberData(nameof(Transports))]
    public async Task Client_that_reads_no_errors_before_login_is_closed(string transport)
    {
        const int Requests = 1_700_000;
        await using RedKiteServer server = await StartAsync(transport, ("requirepass", "secret"));
        using Socket client = Connect(server);
        Exception? failure = null;
        var sending = new Thread(() => failure = Record.Exception(() =>
        {
            byte[] requests = Encoding.ASCII.GetBytes(string.Concat(Enumerable.Repeat("PING\r\n", 1000)));
            for (int i = 0; i < Requests / 1000; i++) client.Send(requests);
        }));
        sending.Start();
        long bytesMax = MaxBytesUntilClosed(server);
        sending.Join();
        Assert.IsType<SocketException>(failure);
        Assert.InRange(bytesMax, 0, WaitingBytesMax);
        WaitFor(() => server.Engine.Buffers.UsedBytes == 0, "its memory is released");
        using RespConnection other = RespConnection.Connect(server.Port);
        other.Run("AUTH secret").IsOk();
    }

    [Theory]
    [InlineData("epoll", "normal 64mb 0 0")]
    [InlineData("epoll", "normal 0 0 0")]
    [InlineData("sockets", "normal 64mb 0 0")]
    [InlineData("sockets", "normal 0 0 0")]
    public async Task Unread_values_do_not_pile_up(string transport, string limit)
    {
        const int Requests = 500;
        Assert.SkipUnless(transport == "sockets" || OperatingSystem.IsLinux(), "epoll is Linux's");
        await using RedKiteServer server = await StartAsync(transport, ("client-output-buffer-limit", limit));
        server.Execute("SETRANGE", "k", $"{Megabyte - 1}", "x");
        using Socket client = Connect(server);
        Thread sending = Send(client, string.Concat(Enumerable.Repeat("*2\r\n$3\r\nGET\r\n$1\r\nk\r\n", Requests)));
        long bytesMax = WaitUntilSuspended(server, server.Engine.Buffers.UsedBytes);
        using var digest = new ReplyDigest();
        Assert.Equal(Requests, digest.Read(client, Requests, () => bytesMax = Math.Max(bytesMax, server.Engine.Buffers.UsedBytes)));
        Assert.Equal(Requests * (long)($"${Megabyte}\r\n\r\n".Length + Megabyte), digest.Bytes);
        Assert.InRange(bytesMax, 1, WaitingBytesMax);
        Assert.Equal(0, server.Engine.Metrics.Server.OutputBufferDisconnections);
        sending.Join();
        WaitFor(() => server.Engine.Buffers.UsedBytes == 0, "its memory is released");
    }

    [Theory]
    [MemberData(nameof(Transports))]
    public async Task Suspended_client_is_counted_and_killed_like_others(string transport)
    {
        await using RedKiteServer server = await StartAsync(transport);
        using RespConnection other = RespConnection.Connect(server.Port);
        server.Execute("SETRANGE", "k", $"{Megabyte - 1}", "x");
        using RespConnection greedy = RespConnection.Connect(server.Port);
        long id = IdOf(greedy);
        greedy.Send(string.Concat(Enumerable.Repeat("GET k\r\n", 100)));
        WaitFor(() => Info(other, "suspended_clients") == 1, "it is suspended");
        WaitFor(() => Info(other, "client_output_bytes") > 4 * Megabyte, "its output is counted");
        other.Run($"CLIENT KILL ID {id}").IsInteger(1);
        WaitFor(() => Info(other, "suspended_clients") == 0, "it is gone");
        WaitFor(() => server.Engine.Buffers.UsedBytes == 0, "its memory is released");
        Assert.Equal(1, server.Engine.Clients.Count);
    }

    [Theory]
    [MemberData(nameof(Transports))]
    public async Task Pause_and_suspension_end_each_for_itself(string transport)
    {
        await using RedKiteServer server = await StartAsync(transport);
        using RespConnection other = RespConnection.Connect(server.Port);
        server.Execute("SETRANGE", "k", $"{Megabyte - 1}", "x");
        using RespConnection greedy = RespConnection.Connect(server.Port);
        greedy.Send(string.Concat(Enumerable.Repeat("GET k\r\n", 40)) + "PING\r\n");
        WaitFor(() => ServerTotals.Of(server.Engine.Metrics).SuspendedClients == 1, "it is suspended");
        other.Run("CLIENT PAUSE 100000").IsOk();
        for (int i = 0; i < 2; i++) greedy.Read();
        server.Execute("CLIENT", "UNPAUSE"); // the pause holds every client but those in process
        for (int i = 2; i < 40; i++) Assert.Equal(Megabyte, greedy.Read().Payload!.Length);
        greedy.Read().IsSimple("PONG");
    }

    [Theory]
    [MemberData(nameof(Transports))]
    public async Task Client_that_reads_while_it_sends_is_never_held_up(string transport)
    {
        const int Requests = 300_000;
        await using RedKiteServer server = await StartAsync(transport);
        server.Execute("SET", "k", new string('v', 500));
        using Socket client = Connect(server);
        Thread sending = Send(client, string.Concat(Enumerable.Repeat("*2\r\n$3\r\nGET\r\n$1\r\nk\r\n", Requests)) + "QUIT\r\n");
        using var digest = new ReplyDigest();
        Assert.Equal(Requests + 1, digest.Read(client, Requests + 1));
        Assert.Equal((Requests * (long)"$500\r\n\r\n".Length) + (Requests * 500L) + "+OK\r\n".Length, digest.Bytes);
        Assert.Equal(0, digest.Read(client, 1)); // closed
        sending.Join();
    }

    private static long Info(RespConnection client, string field)
    {
        string start = field + ":";
        string line = client.Run("INFO clients").Text.Split("\r\n").Single(line => line.StartsWith(start, StringComparison.Ordinal));
        return long.Parse(line.AsSpan(start.Length), System.Globalization.CultureInfo.InvariantCulture);
    }

    private static long WaitUntilSuspended(RedKiteServer server, long bytesMax)
    {
        WaitFor(
            () =>
            {
                bytesMax = Math.Max(bytesMax, server.Engine.Buffers.UsedBytes);
                return ServerTotals.Of(server.Engine.Metrics).SuspendedClients == 1;
            },
            "it is suspended");
        for (int i = 0; i < 20; i++)
        {
            Thread.Sleep(10); // and nothing is executed for it meanwhile
            bytesMax = Math.Max(bytesMax, server.Engine.Buffers.UsedBytes);
        }

        return bytesMax;
    }

    // The server does not read it all until its replies are read.
    private static Thread Send(Socket client, string requests)
    {
        var sending = new Thread(() =>
        {
            ReadOnlySpan<byte> left = Encoding.ASCII.GetBytes(requests);
            while (!left.IsEmpty) left = left[client.Send(left)..];
        });
        sending.Start();
        return sending;
    }

    private static Socket Connect(RedKiteServer server)
    {
        var socket = new Socket(AddressFamily.InterNetwork, SocketType.Stream, ProtocolType.Tcp) { ReceiveTimeout = PatienceMs, SendTimeout = PatienceMs };
        socket.Connect(IPAddress.Loopback, server.Port);
        return socket;
    }
}
