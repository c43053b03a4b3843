using System.Diagnostics;
using System.Net;
using System.Net.Sockets;
using RedKite.TestSupport;

namespace RedKite.Net.Tests;

/// <summary>Loops as clients: outgoing connections, and ticks in microseconds.</summary>
public class OutgoingConnectionTests
{
    public static TheoryData<string> Transports => EventLoopTests.Transports;

    [Theory]
    [MemberData(nameof(Transports))]
    public void Outgoing_connection_carries_bytes_both_ways_and_closes(string transport)
    {
        using EchoServer server = new(transport, new EchoHandler());
        EchoHandler handler = new() { Greeting = [1, 2, 3] };
        using EventLoop loop = new("client", transport == "sockets");
        loop.Serve(handler);
        loop.Start();
        object state = new();
        loop.Connect(new IPEndPoint(IPAddress.Loopback, server.Port), state);

        // Both sides echo: the three bytes circulate until one of them closes.
        EchoServer.WaitFor(() => server.Loops[0].ConnectionCount == 1 && handler.OpenedCount == 1, "the connection is open");
        EchoServer.RunOn(loop, () => Assert.Same(state, Assert.Single(loop.Connections).State));
        EchoServer.WaitFor(() => server.Loops[0].Connections.SingleOrDefault() is { BytesReceived: > 3000 }, "bytes that go around");
        EchoServer.RunOn(loop, () => loop.Connections.Single().Close());
        EchoServer.WaitFor(() => handler.ClosedCount == 1 && server.Handler.ClosedCount == 1, "both sides saw the end");
        Assert.Equal(0, loop.ConnectionCount);
        loop.Stop();
        Assert.Null(loop.Failure);
    }

    [Theory]
    [MemberData(nameof(Transports))]
    public void Refused_connection_is_reported_to_the_caller(string transport)
    {
        int port = LoopbackPort.Next();
        using EventLoop loop = new("client", transport == "sockets");
        loop.Serve(new EchoHandler());
        Assert.Throws<SocketException>(() => loop.Connect(new IPEndPoint(IPAddress.Loopback, port), state: null));
        Assert.Equal(0, loop.ConnectionCount);
    }

    [Fact]
    [Alone]
    public void Tick_interval_may_be_in_microseconds()
    {
        Assert.SkipUnless(EventLoop.EpollIsSupported, "microseconds need epoll");
        EchoHandler handler = new();
        using EventLoop loop = new("ticking", useSockets: false);
        loop.Serve(handler);
        loop.Start();
        QuietMachine.Try(() =>
        {
            Stopwatch clock = Stopwatch.StartNew();
            int asked = 0;
            while (asked < 200)
            {
                // Each one replaces the ten milliseconds that the handler returned.
                int before = Volatile.Read(ref handler.TickCount);
                loop.Post(() => loop.TickAfter(100));
                SpinWait.SpinUntil(() => Volatile.Read(ref handler.TickCount) > before, EchoServer.PatienceMs);
                asked++;
            }

            Assert.InRange(clock.ElapsedMilliseconds, 0, 1500); // 2,000 with the handler's own ticks
        });
        loop.Stop();
    }
}
