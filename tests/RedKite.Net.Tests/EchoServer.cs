using System.Diagnostics;
using System.Net;
using System.Net.Sockets;
using RedKite.Net.Interop;

namespace RedKite.Net.Tests;

/// <summary>Loops with echo handlers and one listener on a free loopback port.</summary>
internal sealed class EchoServer : IDisposable
{
    /// <summary>The time after which an expected event counts as missing, even on a busy machine.</summary>
    internal const int PatienceMs = 60_000;

    private readonly ListeningSocket _listener;
    private readonly ArrivalWatch _arrivals;

    /// <param name="transport">The name of the transport.</param>
    /// <param name="handler">The first loop's handler.</param>
    /// <param name="loops">How many loops.</param>
    /// <param name="newLayer">Makes the layer of a connection; null: there is none.</param>
    /// <param name="wrap">Wraps the transport; null: it is used as it is.</param>
    /// <param name="passesOn">Whether connections that wait for a loop for a moment go to another one: a loop that gets no processor is passed over then.</param>
    internal EchoServer(string transport, EchoHandler handler, int loops = 1, Func<ByteLayer>? newLayer = null, Func<Transport, Transport>? wrap = null, bool passesOn = true)
    {
        _listener = ListeningSocket.Tcp(IPAddress.Loopback, 0, 511, newLayer);
        Handler = handler;
        _arrivals = new ArrivalWatch(() => Loops);
        for (int i = 0; i < loops; i++)
        {
            EventLoop loop = wrap is not null
                ? new($"echo-{i}", Pool, self => wrap(transport == "sockets" ? new SocketsTransport(self) : new EpollTransport())) { Chooser = Choose }
                : new($"echo-{i}", transport == "sockets", Pool) { ArrivalWatch = passesOn ? _arrivals : null, Chooser = Choose };
            loop.Serve(i == 0 ? handler : new EchoHandler());
            Loops.Add(loop);
        }

        foreach (EventLoop loop in transport == "sockets" ? Loops[..1] : Loops) loop.Listen(_listener);
        foreach (EventLoop loop in Loops) loop.Start();
    }

    internal EchoHandler Handler { get; }

    /// <summary>Chooses the loop of a connection that arrives; null: the one with the fewest.</summary>
    internal Func<EventLoop>? Chosen { get; set; }

    internal List<EventLoop> Loops { get; } = [];

    internal BufferPool Pool { get; } = new();

    internal int Port => _listener.Port;

    private EventLoop Choose() => Chosen?.Invoke() ?? Loops.MinBy(candidate => (candidate.IsStuck, candidate.ConnectionCount))!;

    internal Socket Connect(int receiveBufferBytes = 0)
    {
        var socket = new Socket(AddressFamily.InterNetwork, SocketType.Stream, ProtocolType.Tcp) { NoDelay = true, ReceiveTimeout = PatienceMs, SendTimeout = PatienceMs };
        if (receiveBufferBytes > 0) socket.ReceiveBufferSize = receiveBufferBytes;
        socket.Connect(IPAddress.Loopback, Port);
        return socket;
    }

    /// <summary>Sends a message to every connection, without a copy for each.</summary>
    internal void Publish(byte[] message)
    {
        SharedBuffer buffer = Pool.Copy(message);
        foreach (EventLoop loop in Loops)
        {
            RunOn(loop, () =>
            {
                foreach (Connection connection in loop.Connections)
                {
                    buffer.AddReference();
                    loop.Post(connection, buffer, 0, message.Length);
                }
            });
        }

        buffer.Release();
    }

    /// <summary>Runs an action on a loop's thread and waits for it.</summary>
    internal static void RunOn(EventLoop loop, Action action)
    {
        using var done = new ManualResetEventSlim();
        loop.Post(() =>
        {
            action();
            done.Set();
        });
        Assert.True(done.Wait(PatienceMs), "the loop did not run what was posted");
    }

    internal static void WaitFor(Func<bool> condition, string what)
    {
        Stopwatch clock = Stopwatch.StartNew();
        while (!condition())
        {
            Assert.True(clock.ElapsedMilliseconds < PatienceMs, $"timed out waiting for: {what}");
            Thread.Sleep(5);
        }
    }

    internal static byte[] ReadAll(Socket socket, int bytes)
    {
        byte[] buffer = new byte[bytes];
        int read = 0;
        while (read < bytes)
        {
            int count = socket.Receive(buffer, read, bytes - read, SocketFlags.None);
            if (count == 0) break;
            read += count;
        }

        return buffer[..read];
    }

    /// <summary>Bytes in which any loss or reordering shows.</summary>
    internal static byte[] Pattern(int bytes, int seed)
    {
        byte[] pattern = new byte[bytes];
        new Random(seed).NextBytes(pattern);
        return pattern;
    }

    public void Dispose()
    {
        _arrivals.Dispose();
        _listener.Dispose();
        foreach (EventLoop loop in Loops) loop.Stop();
        foreach (EventLoop loop in Loops) loop.Dispose();
        Assert.All(Loops, loop => Assert.Null(loop.Failure));
    }
}
