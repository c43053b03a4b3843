using System.Diagnostics;
using System.Net;
using System.Net.Sockets;
using RedKite.TestSupport;

namespace RedKite.Net.Tests;

/// <summary>The loop and its connections over both transports, with real sockets on loopback.</summary>
public class EventLoopTests
{
    public static TheoryData<string> Transports => OperatingSystem.IsLinux() ? ["epoll", "sockets"] : ["sockets"];

    [Theory]
    [MemberData(nameof(Transports))]
    public void Large_echo_to_a_slow_reader_is_complete_and_in_order(string transport)
    {
        using EchoServer server = new(transport, new EchoHandler());
        using Socket client = server.Connect(receiveBufferBytes: 8 * 1024);
        byte[] sent = EchoServer.Pattern(16 << 20, seed: 1);
        Thread sending = new(() => client.Send(sent));
        sending.Start();

        // Nothing is read until megabytes are queued in the server.
        EchoServer.WaitFor(() => server.Handler.OutputWaitsBytesMax > 4 << 20, "output that waits");
        byte[] received = new byte[sent.Length];
        int read = 0;
        while (read < received.Length)
        {
            int count = client.Receive(received, read, Math.Min(received.Length - read, 300_000), SocketFlags.None);
            Assert.True(count > 0, $"the connection ended after {read} bytes");
            read += count;
            if (read < 2 << 20) Thread.Sleep(1);
        }

        sending.Join();
        Assert.True(sent.AsSpan().SequenceEqual(received), "the bytes differ");
        EchoServer.RunOn(server.Loops[0], () => Assert.Equal(0, Assert.Single(server.Loops[0].Connections).BufferBytes));
    }

    [Theory]
    [MemberData(nameof(Transports))]
    public void Split_requests_are_reassembled(string transport)
    {
        const int RequestBytes = 1_000_003;
        using EchoServer server = new(transport, new EchoHandler { RequestBytes = RequestBytes });
        using Socket client = server.Connect();
        byte[] request = EchoServer.Pattern(RequestBytes, seed: 2);
        client.Send(request, 0, 10, SocketFlags.None);
        Thread.Sleep(20);
        client.Send(request, 10, 500_000, SocketFlags.None);
        Thread.Sleep(20);
        Assert.Equal(0, client.Available);
        client.Send(request, 500_010, RequestBytes - 500_010, SocketFlags.None);
        Assert.True(request.AsSpan().SequenceEqual(EchoServer.ReadAll(client, RequestBytes)));
    }

    [Theory]
    [MemberData(nameof(Transports))]
    public void Close_after_send_delivers_everything_despite_more_input(string transport)
    {
        byte[] greeting = EchoServer.Pattern(8 << 20, seed: 3);
        using EchoServer server = new(transport, new EchoHandler { ObeysCommands = true, Greeting = greeting });
        using Socket client = server.Connect(receiveBufferBytes: 8 * 1024);
        client.Send("abcQ"u8);
        client.Send(new byte[100_000]);
        byte[] received = EchoServer.ReadAll(client, greeting.Length + 100);
        Assert.Equal(greeting.Length + 3, received.Length);
        Assert.True(greeting.AsSpan().SequenceEqual(received.AsSpan(0, greeting.Length)));
        Assert.True("abc"u8.SequenceEqual(received.AsSpan(greeting.Length)));
        EchoServer.WaitFor(() => server.Handler.ClosedCount == 1, "the handler is told");
    }

    [Theory]
    [MemberData(nameof(Transports))]
    public void Short_final_reply_arrives_before_the_close(string transport)
    {
        using EchoServer server = new(transport, new EchoHandler { ObeysCommands = true });
        for (int i = 0; i < 100; i++)
        {
            using Socket client = server.Connect();
            client.Send("byeQ and more that is not read"u8);
            Assert.Equal("bye"u8.ToArray(), EchoServer.ReadAll(client, 10));
        }

        EchoServer.WaitFor(() => server.Handler.ClosedCount == 100, "all are closed");
    }

    [Theory]
    [MemberData(nameof(Transports))]
    [Alone]
    public void Continuous_input_does_not_lose_the_final_reply(string transport)
    {
        // Within the time for which the server discards it; a stalled machine may exceed that.
        byte[] greeting = EchoServer.Pattern(2 << 20, seed: 4);
        QuietMachine.Try(() =>
        {
            using EchoServer server = new(transport, new EchoHandler { ObeysCommands = true, Greeting = greeting });
            using Socket client = server.Connect();
            client.Send("Q"u8);
            for (int i = 0; i < 20; i++)
            {
                client.Send("more"u8);
                Thread.Sleep(5);
            }

            Assert.Equal(greeting, EchoServer.ReadAll(client, greeting.Length + 1));
            Assert.Equal(1, server.Handler.ClosedCount);
        });
    }

    [Theory]
    [MemberData(nameof(Transports))]
    public void Peer_that_never_closes_is_cut_off(string transport)
    {
        using EchoServer server = new(transport, new EchoHandler { ObeysCommands = true });
        using Socket client = server.Connect();
        client.Send("byeQ"u8);
        Assert.Equal("bye"u8.ToArray(), EchoServer.ReadAll(client, 10));
        EchoServer.WaitFor(() => IsCutOff(client), "the end of the server's patience");
    }

    private static bool IsCutOff(Socket client)
    {
        client.Send("x"u8, SocketFlags.None, out SocketError error);
        return error != SocketError.Success;
    }

    [Theory]
    [MemberData(nameof(Transports))]
    public void Reading_resumes_with_the_remaining_input(string transport)
    {
        using EchoServer server = new(transport, new EchoHandler { ObeysCommands = true });
        using Socket client = server.Connect();
        client.Send("oneP"u8);
        client.Send("two"u8);
        Assert.Equal("one"u8.ToArray(), EchoServer.ReadAll(client, 3));
        EchoServer.WaitFor(() => server.Handler.PausedCount == 1, "the reading stops");
        client.Send("three"u8);
        Thread.Sleep(100);
        Assert.Equal(0, client.Available);
        EchoServer.RunOn(server.Loops[0], server.Handler.ResumePaused);
        Assert.Equal("twothree"u8.ToArray(), EchoServer.ReadAll(client, 8));
    }

    [Theory]
    [MemberData(nameof(Transports))]
    public void Reading_resumes_without_further_input(string transport)
    {
        using EchoServer server = new(transport, new EchoHandler { ObeysCommands = true });
        using Socket client = server.Connect();
        client.Send("Prest"u8);
        EchoServer.WaitFor(() => server.Handler.PausedCount == 1, "the reading stops");
        EchoServer.RunOn(server.Loops[0], server.Handler.ResumePaused);
        Assert.Equal("rest"u8.ToArray(), EchoServer.ReadAll(client, 4));
    }

    [Theory]
    [MemberData(nameof(Transports))]
    public void Severed_connections_are_closed_and_affect_no_others(string transport)
    {
        using EchoServer server = new(transport, new EchoHandler { Greeting = new byte[100_000] });
        using Socket witness = server.Connect();
        Assert.Equal(100_000, EchoServer.ReadAll(witness, 100_000).Length);
        for (int i = 0; i < 50; i++)
        {
            Socket client = server.Connect(receiveBufferBytes: 4096);
            client.Send(new byte[50_000]);

            // In turn: with a reset, with unread replies, with an orderly close.
            if (i % 3 == 0) client.LingerState = new LingerOption(enable: true, seconds: 0);
            if (i % 3 == 2) client.Shutdown(SocketShutdown.Send);
            client.Dispose();
        }

        EchoServer.WaitFor(() => server.Handler.ClosedCount == 50, "all are closed");
        Assert.Equal(1, server.Loops[0].ConnectionCount);
        witness.Send("x"u8);
        Assert.Equal("x"u8.ToArray(), EchoServer.ReadAll(witness, 1));
    }

    [Theory]
    [MemberData(nameof(Transports))]
    public void Severed_connection_with_queued_output_is_closed(string transport)
    {
        using EchoServer server = new(transport, new EchoHandler { Greeting = new byte[16 << 20] });
        Socket client = server.Connect(receiveBufferBytes: 4096);
        EchoServer.WaitFor(() => server.Handler.OpenedCount == 1, "the greeting waits");
        client.LingerState = new LingerOption(enable: true, seconds: 0);
        client.Dispose();
        EchoServer.WaitFor(() => server.Handler.ClosedCount == 1, "it is closed");
    }

    [Theory]
    [MemberData(nameof(Transports))]
    public void Two_loops_serve_a_thousand_connections(string transport)
    {
        const int Count = 1000;
        using EchoServer server = new(transport, new EchoHandler(), loops: 2, passesOn: false); // by counts alone, whatever processor time each loop gets
        var clients = new List<Socket>();
        try
        {
            for (int i = 0; i < Count; i++) clients.Add(server.Connect());
            for (int i = 0; i < Count; i++) clients[i].Send(BitConverter.GetBytes(i));
            for (int i = 0; i < Count; i++) Assert.Equal(BitConverter.GetBytes(i), EchoServer.ReadAll(clients[i], 4));
            Assert.Equal(Count, server.Loops[0].ConnectionCount + server.Loops[1].ConnectionCount);
            Assert.InRange(server.Loops[0].ConnectionCount, Count * 4 / 10, Count * 6 / 10); // both accept, and choose by counts of the same moment
        }
        finally
        {
            foreach (Socket client in clients) client.Dispose();
        }

        EchoServer.WaitFor(() => server.Loops.TrueForAll(loop => loop.ConnectionCount == 0), "all are closed");
    }

    [Theory]
    [MemberData(nameof(Transports))]
    public void Posted_messages_run_once_and_in_order(string transport)
    {
        const int Threads = 4, Each = 20_000;
        using EchoServer server = new(transport, new EchoHandler());
        EventLoop loop = server.Loops[0];
        int[] last = new int[Threads];
        int outOfOrder = 0, elsewhere = 0, total = 0;
        var threads = Enumerable.Range(0, Threads).Select(thread => new Thread(() =>
        {
            for (int i = 1; i <= Each; i++)
            {
                int number = i;
                loop.Post(() =>
                {
                    if (!loop.IsCurrent) elsewhere++;
                    if (last[thread] != number - 1) outOfOrder++;
                    last[thread] = number;
                    Volatile.Write(ref total, total + 1);
                });
            }
        })).ToList();
        threads.ForEach(thread => thread.Start());
        threads.ForEach(thread => thread.Join());
        EchoServer.WaitFor(() => Volatile.Read(ref total) == Threads * Each, "every message has run");
        Assert.Equal((0, 0), (outOfOrder, elsewhere));
    }

    [Theory]
    [MemberData(nameof(Transports))]
    public void Loop_stops_with_open_connections_and_queued_output(string transport)
    {
        EchoServer server = new(transport, new EchoHandler { Greeting = new byte[4 << 20] });
        List<Socket> clients = [.. Enumerable.Range(0, 20).Select(_ => server.Connect())];
        EchoServer.WaitFor(() => server.Handler.OpenedCount == 20, "all are open");
        server.Dispose();
        Assert.Equal(20, server.Handler.ClosedCount);
        foreach (Socket client in clients)
        {
            try
            {
                Assert.True(EchoServer.ReadAll(client, 5 << 20).Length < 5 << 20);
            }
            catch (SocketException reset)
            {
                Assert.Equal(SocketError.ConnectionReset, reset.SocketErrorCode);
            }

            client.Dispose();
        }
    }

    [Theory]
    [MemberData(nameof(Transports))]
    public void Post_to_an_ended_loop_does_nothing(string transport)
    {
        EchoServer server = new(transport, new EchoHandler());
        server.Dispose();
        bool ran = false;
        server.Loops[0].Post(() => ran = true);
        Assert.False(ran);
    }

    [Theory]
    [MemberData(nameof(Transports))]
    public void Idle_loop_ticks_and_sleeps(string transport)
    {
        // At most ten ticks in a hundred milliseconds; on a busy machine ticks are late, but never early.
        using EchoServer server = new(transport, new EchoHandler());
        long start = Stopwatch.GetTimestamp();
        EchoServer.WaitFor(() => Volatile.Read(ref server.Handler.TickCount) >= 30, "thirty ticks");
        int ticks = Volatile.Read(ref server.Handler.TickCount);
        Assert.InRange(ticks, 30, (Stopwatch.GetElapsedTime(start).TotalMilliseconds / 10) + 2);
    }

    [Theory]
    [MemberData(nameof(Transports))]
    public void Throwing_handler_is_reported_and_connections_close(string transport)
    {
        using ListeningSocket listener = ListeningSocket.Tcp(IPAddress.Loopback, 0, 10);
        Exception? told = null;
        using EventLoop loop = new("failing", transport == "sockets") { Crashed = failure => told = failure };
        loop.Serve(new EchoHandler());
        loop.Listen(listener);
        loop.Start();
        using Socket client = new(AddressFamily.InterNetwork, SocketType.Stream, ProtocolType.Tcp) { ReceiveTimeout = EchoServer.PatienceMs };
        client.Connect(IPAddress.Loopback, listener.Port);
        EchoServer.WaitFor(() => loop.ConnectionCount == 1, "the connection is open");
        loop.Post(() => throw new InvalidOperationException("broken"));
        Assert.Empty(EchoServer.ReadAll(client, 1));
        loop.Stop();
        Assert.Equal("broken", told?.Message);
        Assert.Same(told, loop.Failure);
    }
}
