using System.Diagnostics;
using System.Net;
using System.Net.Sockets;

namespace RedKite.Net.Tests;

/// <summary>Loops with echo handlers and one listener on a free loopback port.</summary>
internal sealed class EchoServer : IDisposable
{
    /// <summary>The time after which an expected event counts as missing, even on a busy machine.</summary>
    internal const int PatienceMs = 60_000;

    private readonly ListeningSocket _listener = ListeningSocket.Tcp(IPAddress.Loopback, 0, 511);

    internal EchoServer(string transport, EchoHandler handler, int loops = 1)
    {
        Handler = handler;
        for (int i = 0; i < loops; i++)
        {
            var loop = new EventLoop($"echo-{i}", transport == "sockets");
            loop.Handler = i == 0 ? handler : new EchoHandler();
            loop.Chooser = () => Loops.MinBy(candidate => candidate.ConnectionCount)!;
            Loops.Add(loop);
        }

        Loops[0].Listen(_listener);
        foreach (EventLoop loop in Loops) loop.Start();
    }

    internal EchoHandler Handler { get; }

    internal List<EventLoop> Loops { get; } = [];

    internal int Port => _listener.Port;

    internal Socket Connect(int receiveBufferBytes = 0)
    {
        var socket = new Socket(AddressFamily.InterNetwork, SocketType.Stream, ProtocolType.Tcp) { NoDelay = true, ReceiveTimeout = PatienceMs, SendTimeout = PatienceMs };
        if (receiveBufferBytes > 0) socket.ReceiveBufferSize = receiveBufferBytes;
        socket.Connect(IPAddress.Loopback, Port);
        return socket;
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
        _listener.Dispose();
        foreach (EventLoop loop in Loops) loop.Stop();
        foreach (EventLoop loop in Loops) loop.Dispose();
        Assert.All(Loops, loop => Assert.Null(loop.Failure));
    }
}
