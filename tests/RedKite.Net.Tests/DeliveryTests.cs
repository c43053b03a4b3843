using System.Net.Sockets;
using RedKite.Net.Interop;

namespace RedKite.Net.Tests;

/// <summary>Messages from other threads to connections: shared buffers, one system call an iteration, and floods that starve no client.</summary>
public class DeliveryTests
{
    public static TheoryData<string> Transports => OperatingSystem.IsLinux() ? ["epoll", "sockets"] : ["sockets"];

    [Theory]
    [MemberData(nameof(Transports))]
    public void A_hundred_clients_share_one_buffer_and_the_last_one_releases_it(string transport)
    {
        const int Clients = 100, Messages = 20, Bytes = 50_000;
        using EchoServer server = new(transport, new EchoHandler(), loops: 2);
        List<Socket> clients = [.. Enumerable.Range(0, Clients).Select(_ => server.Connect())];
        EchoServer.WaitFor(() => server.Loops.Sum(loop => loop.ConnectionCount) == Clients, "all are connected");
        long before = server.Pool.UsedBytes;
        var messages = Enumerable.Range(0, Messages).Select(seed => EchoServer.Pattern(Bytes, seed)).ToList();
        foreach (byte[] message in messages) server.Publish(message);
        Thread[] readers = [.. clients.Select(client => new Thread(() =>
        {
            foreach (byte[] message in messages) Assert.True(message.AsSpan().SequenceEqual(EchoServer.ReadAll(client, Bytes)));
        }))];
        foreach (Thread reader in readers) reader.Start();
        foreach (Thread reader in readers) reader.Join();
        EchoServer.WaitFor(() => server.Pool.UsedBytes == before, "every reference is released");
        foreach (Socket client in clients) client.Dispose();
    }

    [Theory]
    [MemberData(nameof(Transports))]
    public void Clients_that_disconnect_in_the_middle_release_their_references(string transport)
    {
        const int Clients = 60, Messages = 50;
        using EchoServer server = new(transport, new EchoHandler(), loops: 2);
        List<Socket> clients = [.. Enumerable.Range(0, Clients).Select(_ => server.Connect(receiveBufferBytes: 4096))];
        EchoServer.WaitFor(() => server.Loops.Sum(loop => loop.ConnectionCount) == Clients, "all are connected");

        // The clients do not read: what does not fit into the sockets waits, without a copy.
        byte[] message = EchoServer.Pattern(200_000, seed: 1);
        long largest = 0;
        for (int i = 0; i < Messages; i++)
        {
            server.Publish(message);
            largest = Math.Max(largest, server.Pool.UsedBytes);
            if (i < clients.Count / 2)
            {
                if (i % 2 == 0) clients[i].LingerState = new LingerOption(enable: true, seconds: 0);
                clients[i].Dispose();
            }
        }

        Assert.InRange(largest, message.Length, (Messages + 1) * message.Length);
        foreach (Socket client in clients) client.Dispose();
        EchoServer.WaitFor(() => server.Loops.TrueForAll(loop => loop.ConnectionCount == 0), "all are gone");
        EchoServer.WaitFor(() => server.Pool.UsedBytes == 0, "every reference is released");
    }

    [Fact]
    public void Buffers_sent_to_an_ended_loop_are_released()
    {
        EchoServer server = new("sockets", new EchoHandler());
        using Socket client = server.Connect();
        EchoServer.WaitFor(() => server.Handler.OpenedCount == 1, "it is connected");
        Connection connection = null!;
        EchoServer.RunOn(server.Loops[0], () => connection = server.Loops[0].Connections.Single());
        server.Dispose();
        SharedBuffer buffer = server.Pool.Copy(new byte[1000]);
        buffer.AddReference();
        connection.Loop.Post(connection, buffer, 0, 1000);
        Assert.Equal(1, buffer.References);
        buffer.Release();
        Assert.Equal(0, server.Pool.UsedBytes);
    }

    // A message that comes behind the loop's end releases what is in the mailbox: not an action that came before, which its poster takes for executed.
    [Fact]
    public void Actions_posted_before_a_loops_end_are_executed()
    {
        int executed = 0, iterations = 0;
        bool stops = false;
        EventLoop? loop = null;
        Connection? connection = null;
        SharedBuffer? buffer = null;
        var handler = new EchoHandler
        {
            IterationEnding = () =>
            {
                if (!stops) return;
                if (iterations++ == 0) loop!.PostOrRun(() => executed++);
                else loop!.Post(connection!, buffer!, 0, 1);
            },
        };
        EchoServer server = new("sockets", handler);
        loop = server.Loops[0];
        using Socket client = server.Connect();
        EchoServer.WaitFor(() => handler.OpenedCount == 1, "it is connected");
        EchoServer.RunOn(loop, () => connection = loop.Connections.Single());
        buffer = server.Pool.Copy(new byte[1]);
        EchoServer.RunOn(loop, () =>
        {
            stops = true;
            loop.Stop();
        });
        server.Dispose();
        Assert.Equal((1, 2), (executed, iterations));
        Assert.Equal(0, server.Pool.UsedBytes);
    }

    [Fact]
    public void Messages_of_one_iteration_leave_together()
    {
        Assert.SkipUnless(EventLoop.EpollIsSupported, "what leaves in one call is seen with epoll");
        using EchoServer server = new("epoll", new EchoHandler());
        using Socket client = server.Connect();
        EchoServer.WaitFor(() => server.Handler.OpenedCount == 1, "it is connected");
        byte[] part = EchoServer.Pattern(700, seed: 5);
        EchoServer.RunOn(server.Loops[0], () =>
        {
            Connection connection = server.Loops[0].Connections.Single();
            SharedBuffer buffer = server.Pool.Copy(part);
            for (int i = 0; i < 10; i++)
            {
                connection.Queue("+short\r\n"u8);
                connection.Queue(buffer, 0, part.Length);
            }

            buffer.Release();
            Assert.Equal(10 * (8 + part.Length), connection.OutputBytes); // nothing has left yet
            Assert.Equal(0, client.Available);
        });
        byte[] received = EchoServer.ReadAll(client, 10 * (8 + part.Length));
        for (int i = 0; i < 10; i++) Assert.True(received.AsSpan((i * (8 + part.Length)) + 8, part.Length).SequenceEqual(part));
    }

    [Theory]
    [MemberData(nameof(Transports))]
    public void Replies_and_queued_messages_keep_their_order(string transport)
    {
        using EchoServer server = new(transport, new EchoHandler());
        using Socket client = server.Connect();
        EchoServer.WaitFor(() => server.Handler.OpenedCount == 1, "it is connected");
        EchoServer.RunOn(server.Loops[0], () =>
        {
            Connection connection = server.Loops[0].Connections.Single();
            connection.Send("1"u8);
            connection.Queue("2"u8);
            connection.Send("3"u8); // behind what is queued
            connection.Queue("4"u8);
            connection.Flush();
            connection.Send("5"u8);
        });
        Assert.Equal("12345"u8.ToArray(), EchoServer.ReadAll(client, 5));
    }

    [Theory]
    [MemberData(nameof(Transports))]
    public void Replies_and_messages_continue_whenever_the_peer_reads_some(string transport)
    {
        using EchoServer server = new(transport, new EchoHandler(), wrap: static inner => new HesitantTransport(inner));
        using Socket client = server.Connect();
        EchoServer.WaitFor(() => server.Handler.OpenedCount == 1, "it is connected");
        byte[] bytes = EchoServer.Pattern(300_000, seed: 7);
        for (int i = 0; i < 20; i++)
        {
            client.Send(bytes.AsSpan(0, 100));
            Assert.Equal(bytes[..100], EchoServer.ReadAll(client, 100));
            server.Publish(bytes);
            Assert.Equal(bytes, EchoServer.ReadAll(client, bytes.Length));
        }
    }

    // A client may send a request because of another client's reply: messages posted to it before that reply precede the request's reply.
    [Theory]
    [MemberData(nameof(Transports))]
    public void Message_that_was_posted_before_a_request_was_sent_comes_before_its_reply(string transport)
    {
        Connection? occupying = null;
        using var isBusy = new SemaphoreSlim(0);
        using var goesOn = new SemaphoreSlim(0);
        EchoHandler handler = new()
        {
            Receiving = connection =>
            {
                if (connection != occupying) return;
                isBusy.Release();
                goesOn.Wait(EchoServer.PatienceMs);
            },
        };
        using EchoServer server = new(transport, handler);
        using Socket other = server.Connect();
        EventLoop loop = server.Loops[0];
        EchoServer.WaitFor(() => handler.OpenedCount == 1, "the other is connected");
        EchoServer.RunOn(loop, () => occupying = loop.Connections.Single());
        using Socket client = server.Connect();
        EchoServer.WaitFor(() => handler.OpenedCount == 2, "the client is connected");
        Connection told = null!;
        EchoServer.RunOn(loop, () => told = loop.Connections.Single(connection => connection != occupying));

        // While the loop is busy with the other, it knows already that the client has sent something.
        loop.Post(() => occupying!.Loop.Handler.Received(occupying, []));
        Assert.True(isBusy.Wait(EchoServer.PatienceMs, TestContext.Current.CancellationToken));
        other.Send("o"u8);
        client.Send("1"u8);
        goesOn.Release();
        Assert.True(isBusy.Wait(EchoServer.PatienceMs, TestContext.Current.CancellationToken));
        loop.Post(told, server.Pool.Copy("m"u8), 0, 1);
        client.Send("2"u8);
        Thread.Sleep(10);
        goesOn.Release();
        string received = System.Text.Encoding.ASCII.GetString(EchoServer.ReadAll(client, 3));
        Assert.True(received is "m12" or "1m2", $"received {received}");
    }

    [Theory]
    [MemberData(nameof(Transports))]
    public void A_flood_of_messages_does_not_starve_a_client(string transport)
    {
        using EchoServer server = new(transport, new EchoHandler());
        using Socket client = server.Connect();
        EventLoop loop = server.Loops[0];
        long handled = 0;
        int left = 2_000_000;

        // Each message posts the next, and so do others: the mailbox is never empty until all have run.
        void Next()
        {
            handled++;
            if (Interlocked.Decrement(ref left) > 0) loop.Post(Next);
        }

        for (int i = 0; i < 2000; i++) loop.Post(Next);
        client.Send("x"u8);
        Assert.Equal("x"u8.ToArray(), EchoServer.ReadAll(client, 1));
        Assert.True(Volatile.Read(ref left) > 0, "the client had to wait for the end of the flood");
        Volatile.Write(ref left, 0);
    }

    [Theory]
    [MemberData(nameof(Transports))]
    public void The_handler_is_notified_once_when_the_output_has_drained(string transport)
    {
        using EchoServer server = new(transport, new EchoHandler());
        using Socket client = server.Connect(receiveBufferBytes: 8 * 1024);
        EchoServer.WaitFor(() => server.Handler.OpenedCount == 1, "it is connected");
        byte[] bytes = EchoServer.Pattern(16 << 20, seed: 3);
        EchoServer.RunOn(server.Loops[0], () =>
        {
            Connection connection = server.Loops[0].Connections.Single();
            connection.Send(bytes);
            Assert.True(connection.OutputBytes > 1 << 20);
            connection.NotifyWhenDrained(1 << 20);
        });
        Assert.Equal(0, server.Handler.DrainedCount);
        Assert.True(bytes.AsSpan().SequenceEqual(EchoServer.ReadAll(client, bytes.Length)));
        EchoServer.RunOn(server.Loops[0], () => Assert.Equal(1, server.Handler.DrainedCount));
    }
}
