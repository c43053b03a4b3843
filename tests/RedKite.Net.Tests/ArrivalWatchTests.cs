using System.Net.Sockets;

namespace RedKite.Net.Tests;

/// <summary>A loop that executes something long keeps no new connection waiting while another one is there.</summary>
public sealed class ArrivalWatchTests
{
    private const int Count = 20;

    [Theory]
    [InlineData("epoll", 0)]
    [InlineData("epoll", 1)]
    [InlineData("sockets", 0)]
    [InlineData("sockets", 1)]
    public void New_connections_are_served_while_a_loop_is_busy(string transport, int busy)
    {
        Assert.SkipUnless(transport == "sockets" || EventLoop.EpollIsSupported, "epoll is Linux's");
        using EchoServer server = new(transport, new EchoHandler(), loops: 2);
        EventLoop loop = server.Loops[busy];
        using var begun = new ManualResetEventSlim();
        using var ends = new ManualResetEventSlim();
        loop.Post(() =>
        {
            begun.Set();
            ends.Wait();
        });
        Assert.True(begun.Wait(EchoServer.PatienceMs, TestContext.Current.CancellationToken));
        List<Socket> clients = [];
        try
        {
            for (int i = 0; i < Count; i++)
            {
                clients.Add(server.Connect());
                AssertEchoes(clients[^1]);
            }

            Assert.Equal(0, loop.ConnectionCount);
        }
        finally
        {
            ends.Set();
        }

        // When it has ended, the busy one has fewest, and gets all new ones.
        EchoServer.RunOn(loop, () => { });
        EchoServer.WaitFor(() => !loop.IsStuck, "the loop's next cycle");
        for (int i = 0; i < Count; i++)
        {
            clients.Add(server.Connect());
            AssertEchoes(clients[^1]);
        }

        Assert.Equal(2 * Count, server.Loops.Sum(any => any.ConnectionCount));
        Assert.InRange(loop.ConnectionCount, 1, Count); // a machine that stalls may make either one late
        foreach (Socket client in clients) client.Dispose();
    }

    // Connections are passed on while loops adopt them and while further ones come.
    [Theory]
    [InlineData("epoll")]
    [InlineData("sockets")]
    public void No_connection_is_lost_between_loops_that_are_busy_now_and_then(string transport)
    {
        Assert.SkipUnless(transport == "sockets" || EventLoop.EpollIsSupported, "epoll is Linux's");
        using EchoServer server = new(transport, new EchoHandler(), loops: 3);
        bool stops = false;
        var busy = new Thread(() =>
        {
            var random = new Random(20261122);
            while (!Volatile.Read(ref stops))
            {
                server.Loops[random.Next(3)].Post(() => Thread.Sleep(ArrivalWatch.OverdueMs + 2));
                Thread.Sleep(random.Next(8));
            }
        });
        busy.Start();
        for (int round = 0; round < 10; round++)
        {
            Socket[] clients = [.. Enumerable.Range(0, 10).Select(_ => server.Connect())];
            foreach (Socket client in clients) AssertEchoes(client);
            foreach (Socket client in clients) client.Dispose();
        }

        Volatile.Write(ref stops, true);
        busy.Join();
        EchoServer.WaitFor(() => server.Loops.All(loop => loop.ConnectionCount == 0), "every connection to end once");
    }

    [Fact]
    public void Loop_that_is_alone_keeps_its_connections()
    {
        using EchoServer server = new("sockets", new EchoHandler());
        using var begun = new ManualResetEventSlim();
        using var ends = new ManualResetEventSlim();
        server.Loops[0].Post(() =>
        {
            begun.Set();
            ends.Wait();
        });
        Assert.True(begun.Wait(EchoServer.PatienceMs, TestContext.Current.CancellationToken));
        using Socket client = server.Connect();
        EchoServer.WaitFor(() => server.Loops[0].IsStuck, "a look at the connection");
        ends.Set();
        AssertEchoes(client);
    }

    private static void AssertEchoes(Socket client)
    {
        client.Send("x"u8);
        Assert.Equal("x"u8.ToArray(), EchoServer.ReadAll(client, 1));
    }
}
