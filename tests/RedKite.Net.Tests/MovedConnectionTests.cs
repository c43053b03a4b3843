using System.Net.Sockets;
using RedKite.TestSupport;

namespace RedKite.Net.Tests;

/// <summary>Connections that move between loops while they are used: nothing is lost, reordered or handled on a foreign thread.</summary>
public class MovedConnectionTests
{
    private const int Clients = 20;

    [Fact]
    public void Requests_are_answered_in_order_while_connections_move()
    {
        Assert.SkipUnless(EventLoop.EpollIsSupported, "epoll moves connections");
        int foreign = 0;
        void Receiving(Connection connection)
        {
            if (!connection.Loop.IsCurrent) Interlocked.Increment(ref foreign);
        }

        using EchoServer server = new("epoll", new EchoHandler { Receiving = Receiving });
        using EventLoop other = new("other", useSockets: false, server.Pool);
        other.Serve(new EchoHandler { Receiving = Receiving });
        other.Start();
        EventLoop first = server.Loops[0];
        Socket[] sockets = [.. Enumerable.Range(0, Clients).Select(_ => server.Connect())];
        Thread[] clients = [.. sockets.Select((socket, i) => new Thread(() => Converse(socket, i)))];
        foreach (Thread client in clients) client.Start();
        long moved = 0;
        while (clients.Any(client => client.IsAlive))
        {
            EchoServer.RunOn(first, () => moved += first.MoveIdle(other, _ => true));
            EchoServer.RunOn(other, () => moved += other.MoveIdle(first, _ => true));
        }

        Assert.True(moved > 0, "nothing moved");
        Assert.Equal(0, foreign);
        foreach (Socket socket in sockets) socket.Dispose();
        EchoServer.WaitFor(() => first.ConnectionCount + other.ConnectionCount == 0, "the connections are closed");
        other.Stop();
        Assert.Null(other.Failure);
    }

    // A loop that has ended handles nothing: its chooser may still name it, and another loop may be about to hand connections to it.
    [Fact]
    public void Connections_for_a_loop_that_has_ended_stay_or_are_closed()
    {
        Assert.SkipUnless(EventLoop.EpollIsSupported, "epoll moves connections");
        using EchoServer server = new("epoll", new EchoHandler());
        using EventLoop ended = new("ended", useSockets: false, server.Pool);
        ended.Serve(new EchoHandler());
        ended.Start();
        ended.Stop();
        EventLoop first = server.Loops[0];
        using Socket stays = server.Connect();
        stays.Send("x"u8);
        EchoServer.ReadAll(stays, 1);
        server.Chosen = () => ended;
        using Socket comes = server.Connect();
        comes.Send("y"u8);
        Assert.Equal("y"u8.ToArray(), EchoServer.ReadAll(comes, 1)); // where it was accepted
        using (Socket listener = new(AddressFamily.InterNetwork, SocketType.Stream, ProtocolType.Tcp))
        {
            listener.Bind(new System.Net.IPEndPoint(System.Net.IPAddress.Loopback, 0));
            listener.Listen();
            ended.Connect(listener.LocalEndPoint!, state: null);
            using Socket peer = listener.Accept();
            peer.ReceiveTimeout = EchoServer.PatienceMs;
            Assert.Equal(0, peer.Receive(new byte[1]));
        }

        Assert.Equal(0, ended.ConnectionCount);
    }

    // What another thread posts reaches the connection on whichever loop it is, and so does a close.
    [Fact]
    public void Posts_follow_the_connection()
    {
        Assert.SkipUnless(EventLoop.EpollIsSupported, "epoll moves connections");
        using EchoServer server = new("epoll", new EchoHandler());
        using EventLoop other = new("other", useSockets: false, server.Pool);
        other.Serve(new EchoHandler());
        other.Start();
        EventLoop first = server.Loops[0];
        using Socket client = server.Connect();
        client.Send("x"u8);
        EchoServer.ReadAll(client, 1);
        Connection connection = null!;
        EchoServer.RunOn(first, () => connection = Assert.Single(first.Connections));
        using var stuck = new ManualResetEventSlim();
        using var isStuck = new ManualResetEventSlim();

        // Posted to the first loop while that is busy, and handled there when the connection has left.
        first.Post(() =>
        {
            isStuck.Set();
            stuck.Wait();
            Assert.Equal(1, first.MoveIdle(other, _ => true));
        });
        Assert.True(isStuck.Wait(EchoServer.PatienceMs, TestContext.Current.CancellationToken));
        EventLoop? ran = null;
        EventLoop.Post(connection, () => ran = connection.Loop.IsCurrent ? connection.Loop : null);
        var buffer = server.Pool.Copy("posted"u8.ToArray());
        first.Post(connection, buffer, 0, 6);
        stuck.Set();
        Assert.Equal("posted"u8.ToArray(), EchoServer.ReadAll(client, 6));
        Assert.Same(other, ran);
        Assert.Equal(0, connection.PostedBytes);
        EventLoop.Post(connection, connection.Close);
        Assert.Empty(EchoServer.ReadAll(client, 1));
        EchoServer.WaitFor(() => other.ConnectionCount == 0, "it is closed");
        other.Stop();
        Assert.Null(other.Failure);
    }

    // The stuck loop gets one connection before its relief begins, and others afterwards.
    [Theory]
    [InlineData("epoll")]
    [InlineData("sockets")]
    public void Connections_on_their_way_to_a_stuck_loop_go_to_its_relief(string transport)
    {
        bool moves = transport == "epoll";
        Assert.SkipUnless(!moves || EventLoop.EpollIsSupported, "epoll is Linux's");
        using EchoServer server = new(transport, new EchoHandler());
        using EventLoop stuck = new("stuck", !moves, server.Pool);
        stuck.Serve(new EchoHandler());
        using EventLoop relief = new("relief", !moves, server.Pool);
        relief.Serve(new EchoHandler());
        EventLoop first = server.Loops[0];
        stuck.Start();
        relief.Start();
        using Socket before = server.Connect();
        using Socket after = server.Connect();
        EchoServer.WaitFor(() => first.ConnectionCount == 2, "two connections");

        using var isStuck = new ManualResetEventSlim();
        using var relieves = new ManualResetEventSlim();
        using var hasRelief = new ManualResetEventSlim();
        using var ends = new ManualResetEventSlim();
        int moved = -1;
        stuck.Post(() =>
        {
            isStuck.Set();
            relieves.Wait();
            moved = stuck.BeginRelief(relief, _ => true);
            hasRelief.Set();
            ends.Wait();
            stuck.EndRelief();
        });
        Assert.True(isStuck.Wait(EchoServer.PatienceMs, TestContext.Current.CancellationToken));
        int sent = 0;
        EchoServer.RunOn(first, () =>
        {
            sent = first.MoveIdle(stuck, connection => connection.RemoteAddress.ToString() == before.LocalEndPoint!.ToString());
            server.Chosen = () => stuck;
        });
        Assert.Equal(moves ? 1 : 0, sent);
        using Socket newBefore = server.Connect();
        EchoServer.WaitFor(() => stuck.MessagesWaiting == sent + 1, "connections wait for the stuck loop");
        relieves.Set();
        Assert.True(hasRelief.Wait(EchoServer.PatienceMs, TestContext.Current.CancellationToken));
        Assert.Equal(sent + 1, moved);
        EchoServer.RunOn(first, () => sent += first.MoveIdle(stuck, _ => true));
        Assert.Equal(moves ? 2 : 0, sent);
        using Socket newAfter = server.Connect();
        Socket[] clients = [before, after, newBefore, newAfter];
        foreach (Socket client in clients) AssertEchoes(client);
        Assert.Equal(0, stuck.ConnectionCount);
        Assert.Equal(sent + 2, relief.ConnectionCount);

        ends.Set();
        EchoServer.RunOn(stuck, () => { });
        EchoServer.RunOn(relief, () => moved = relief.MoveIdle(stuck, _ => true));
        Assert.Equal(moves ? 4 : 0, moved);
        foreach (Socket client in clients) AssertEchoes(client);
        Assert.Equal(moved, stuck.ConnectionCount);
        foreach (EventLoop loop in (EventLoop[])[stuck, relief])
        {
            loop.Stop();
            Assert.Null(loop.Failure);
        }
    }

    private static void AssertEchoes(Socket client)
    {
        client.Send("x"u8);
        Assert.Equal("x"u8.ToArray(), EchoServer.ReadAll(client, 1));
    }

    private static void Converse(Socket socket, int seed)
    {
        var random = new Random(seed);
        for (int i = 0; i < 300; i++)
        {
            byte[] sent = EchoServer.Pattern(random.Next(1, i % 50 == 0 ? 300_000 : 2_000), seed * 1000 + i);
            var sending = new Thread(() => socket.Send(sent));
            if (sent.Length > 10_000) sending.Start();
            else socket.Send(sent);
            if (!sent.AsSpan().SequenceEqual(EchoServer.ReadAll(socket, sent.Length))) throw new TranscriptException($"client {seed}, request {i}: the bytes differ");
            if (sending.ThreadState != ThreadState.Unstarted) sending.Join();
        }
    }
}
