using System.Net.Sockets;
using System.Text;

namespace RedKite.Net.Tests;

public class OutputGateTests
{
    [Theory]
    [InlineData("epoll")]
    [InlineData("sockets")]
    public void Output_of_a_turn_waits_for_the_position_of_its_end(string transport)
    {
        using var server = new EchoServer(transport, new EchoHandler());
        var log = new FakeLog(server.Loops[0]);
        using Socket first = server.Connect(), second = server.Connect();
        log.Reserve(10);
        first.Send("one"u8);
        log.WaitForAwaited(10);
        log.Reserve(20);
        second.Send("two"u8);
        WaitForInput(server, 2, 6);
        log.WaitForAsked(20);
        AssertSilent(first, second);
        log.Sync(10);
        Assert.Equal("one", Read(first, 3));
        AssertSilent(second);
        log.Sync(20);
        Assert.Equal("two", Read(second, 3));
    }

    [Theory]
    [InlineData("epoll")]
    [InlineData("sockets")]
    public void Output_behind_held_output_stays_in_order_and_is_not_held_for_ever(string transport)
    {
        using var server = new EchoServer(transport, new EchoHandler());
        var log = new FakeLog(server.Loops[0]);
        using Socket client = server.Connect();
        log.Reserve(10);
        client.Send("a"u8);
        log.WaitForAwaited(10);
        log.Reserve(20);
        client.Send("b"u8);
        WaitForInput(server, 1, 2);
        log.Sync(10); // 'b' begins to wait for 20 only now
        Assert.Equal("a", Read(client, 1));
        log.WaitForAwaited(20);
        log.Reserve(30);
        client.Send("c"u8);
        WaitForInput(server, 1, 3);
        log.Sync(20);
        Assert.Equal("b", Read(client, 1));
        log.WaitForAwaited(30);
        log.Sync(30);
        Assert.Equal("c", Read(client, 1));
    }

    [Theory]
    [InlineData("epoll")]
    [InlineData("sockets")]
    public void Output_leaves_at_once_while_everything_is_synced(string transport)
    {
        using var server = new EchoServer(transport, new EchoHandler());
        var log = new FakeLog(server.Loops[0]);
        using Socket client = server.Connect();
        client.Send("now"u8);
        Assert.Equal("now", Read(client, 3));
        Assert.Equal(0, server.Loops[0].AwaitedPosition);
        log.Reserve(5);
        client.Send("later"u8);
        log.WaitForAwaited(5);
        EchoServer.RunOn(server.Loops[0], () => server.Loops[0].SetOutputGate(null));
        Assert.Equal("later", Read(client, 5));
    }

    [Theory]
    [InlineData("epoll")]
    [InlineData("sockets")]
    public void Connection_that_closes_after_its_output_waits_for_it(string transport)
    {
        using var server = new EchoServer(transport, new EchoHandler { ObeysCommands = true });
        var log = new FakeLog(server.Loops[0]);
        using Socket client = server.Connect();
        log.Reserve(10);
        client.Send("lastQ"u8);
        log.WaitForAwaited(10);
        AssertSilent(client);
        log.Sync(10);
        Assert.Equal("last", Read(client, 4));
        Assert.Equal(0, client.Receive(new byte[1]));
    }

    [Theory]
    [InlineData("epoll")]
    [InlineData("sockets")]
    public void Clients_whose_position_is_never_reached_are_closed_and_others_go_on(string transport)
    {
        using var server = new EchoServer(transport, new EchoHandler());
        var log = new FakeLog(server.Loops[0]);
        using Socket writer = server.Connect(), reader = server.Connect();
        reader.Send("x"u8);
        Assert.Equal("x", Read(reader, 1));
        log.Reserve(10);
        writer.Send("lost"u8);
        log.WaitForAwaited(10);
        int closed = 0;
        EchoServer.RunOn(server.Loops[0], () =>
        {
            closed = server.Loops[0].CloseAwaiting();
            server.Loops[0].SetOutputGate(null);
        });
        Assert.Equal(1, closed);
        Assert.Equal("", Read(writer, 1));
        reader.Send("y"u8);
        Assert.Equal("y", Read(reader, 1));
    }

    private static string Read(Socket socket, int bytes) => Encoding.ASCII.GetString(EchoServer.ReadAll(socket, bytes));

    private static void AssertSilent(params Socket[] sockets) => Assert.All(sockets, socket => Assert.Equal(0, socket.Available));

    // Until the loop has handled so many bytes of its connections, and ended the iteration.
    private static void WaitForInput(EchoServer server, int connections, int bytes)
    {
        EchoServer.WaitFor(
            () =>
            {
                bool received = false;
                EchoServer.RunOn(server.Loops[0], () => received = server.Loops[0].Connections.Count >= connections && server.Loops[0].Connections.Sum(connection => connection.BytesReceived) >= bytes);
                return received;
            },
            "the input");
        EchoServer.RunOn(server.Loops[0], () => { });
    }

    // A log whose positions the test moves.
    private sealed class FakeLog
    {
        private readonly EventLoop _loop;
        private long _reserved;
        private long _synced;
        private long _asked;

        internal FakeLog(EventLoop loop)
        {
            _loop = loop;
            EchoServer.RunOn(loop, () => loop.SetOutputGate(
                () => Volatile.Read(ref _reserved) > Volatile.Read(ref _synced) ? Volatile.Read(ref _reserved) : 0,
                position => Volatile.Write(ref _asked, position)));
        }

        internal void Reserve(long position) => Volatile.Write(ref _reserved, position);

        internal void Sync(long position)
        {
            Volatile.Write(ref _synced, position);
            EchoServer.RunOn(_loop, () => _loop.ReleaseOutput(position));
        }

        internal void WaitForAsked(long position) => EchoServer.WaitFor(() => Volatile.Read(ref _asked) == position, $"a sync up to {position} that is asked for");

        internal void WaitForAwaited(long position) => EchoServer.WaitFor(() => _loop.AwaitedPosition == position, $"output that awaits {position}");
    }
}
