using System.Net;
using System.Text;
using RedKite.Net;
using RedKite.TestSupport;

namespace RedKite.Server.Tests.Loops;

/// <summary>
/// Event loops whose threads go on one at a time, as a test decides: each stops where it waits, receives, wakes another loop and changes what it waits
/// for, and wherever else the test makes it. Connections are in memory, and ticks come only when the test says so.
/// </summary>
internal sealed class SteppedLoops
{
    private const int PatienceMs = 60_000;

    private readonly List<SteppedTransport> _transports = [];
    private readonly List<SteppedClient> _clients = [];
    private readonly object _turn = new();
    private bool _ended;

    internal IReadOnlyList<SteppedTransport> Loops => _transports;

    /// <summary>Whether a loop stops before it wakes another one. Not where it does so with a lock that the other one takes, as who publishes.</summary>
    internal bool StopsAtWake { get; init; } = true;

    internal Transport New(EventLoop loop)
    {
        var transport = new SteppedTransport(this, loop);
        _transports.Add(transport);
        return transport;
    }

    /// <summary>Connects. The loop that accepts it chooses the one that gets it.</summary>
    internal SteppedClient Connect()
    {
        var end = new PeerAddress(IPAddress.Loopback, 1);
        var client = new SteppedClient(new Connection(-1, null, end, end, null));
        _clients.Add(client);
        _transports[0].Add(client);
        return client;
    }

    internal SteppedClient Of(Connection connection) => _clients.Find(client => client.Connection == connection)!;

    /// <summary>Lets a loop's thread go on until it stops again.</summary>
    internal void Step(SteppedTransport loop)
    {
        lock (_turn)
        {
            WaitForStop(loop);
            loop.IsStopped = false;
            Monitor.PulseAll(_turn);
            WaitForStop(loop);
        }
    }

    /// <summary>Lets the loops go on until they have nothing to do.</summary>
    internal void Drain()
    {
        while (_transports.Find(static loop => loop.HasWork) is { } ready) Step(ready);
    }

    /// <summary>Stops the current thread until the test lets it go on; a thread that is no loop's goes on.</summary>
    internal void Stop()
    {
        if (_transports.Find(static transport => transport.Loop.IsCurrent) is { } loop) Stop(loop);
    }

    /// <summary>From here on the loops go on by themselves.</summary>
    internal void End()
    {
        lock (_turn)
        {
            _ended = true;
            Monitor.PulseAll(_turn);
        }
    }

    internal bool HasEnded => Volatile.Read(ref _ended);

    private void Stop(SteppedTransport loop)
    {
        lock (_turn)
        {
            if (_ended) return;
            loop.IsStopped = true;
            Monitor.PulseAll(_turn);
            while (loop.IsStopped && !_ended) Monitor.Wait(_turn);
        }
    }

    private void WaitForStop(SteppedTransport loop)
    {
        while (!loop.IsStopped) Assert.True(Monitor.Wait(_turn, PatienceMs), "a loop does not come to its next stop");
    }
}

/// <summary>A client of stepped loops: what it sends, and what it was replied.</summary>
internal sealed class SteppedClient(Connection connection)
{
    private readonly StringBuilder _replies = new();

    internal Connection Connection => connection;

    internal Queue<byte> Input { get; } = [];

    internal string Replies => _replies.ToString();

    /// <summary>Called on its loop's thread when it is sent something.</summary>
    internal Action? Sent { get; set; }

    internal void Send(string command)
    {
        foreach (byte next in CommandLine.Encode(CommandLine.Split(command))) Input.Enqueue(next);
    }

    internal void Add(ReadOnlySpan<byte> reply)
    {
        _replies.Append(Encoding.Latin1.GetString(reply));
        Sent?.Invoke();
    }

    internal string TakeReplies()
    {
        string replies = Replies;
        _replies.Clear();
        return replies;
    }
}

/// <summary>The transport of one of them.</summary>
internal sealed class SteppedTransport(SteppedLoops loops, EventLoop loop) : Transport
{
    private readonly List<SteppedClient> _arriving = [];
    private readonly List<SteppedClient> _clients = [];
    private bool _isWoken;

    internal EventLoop Loop => loop;

    internal bool IsStopped { get; set; }

    /// <summary>Whether the loop's next wait ticks.</summary>
    internal bool Ticks { get; set; }

    /// <summary>Whether the loop has something to do; else its thread would sleep.</summary>
    internal bool HasWork => !IsWaiting || _isWoken || SkipsWait || Gathers || Ticks || _arriving.Count > 0 || _clients.Exists(static client => client.Input.Count > 0 && client.Connection.IsReading);

    /// <summary>Whether its thread is where it would sleep.</summary>
    internal bool IsWaiting { get; private set; }

    internal void Add(SteppedClient client) => _arriving.Add(client);

    internal override void Wait(EventLoop waiting)
    {
        IsWaiting = true;
        loops.Stop();
        IsWaiting = false;
        if (loops.HasEnded) Thread.Sleep(1);
        _isWoken = false;
        waiting.BeginCycle();
        if (Ticks)
        {
            Ticks = false;
            waiting.TimerFired();
        }

        SteppedClient[] arriving = [.. _arriving];
        _arriving.Clear();
        foreach (SteppedClient client in arriving) waiting.Accepted(client.Connection);
        foreach (SteppedClient client in _clients.ToArray())
        {
            if (client.Input.Count > 0 && client.Connection.IsReading) waiting.Readable(client.Connection);
        }
    }

    internal override int Receive(Connection connection, Span<byte> buffer)
    {
        loops.Stop();
        Queue<byte> input = loops.Of(connection).Input;
        int count = Math.Min(buffer.Length, input.Count);
        for (int i = 0; i < count; i++) buffer[i] = input.Dequeue();
        return count == 0 ? WouldBlock : count;
    }

    internal override int Send(Connection connection, ReadOnlySpan<byte> bytes)
    {
        loops.Stop();
        loops.Of(connection).Add(bytes);
        return bytes.Length;
    }

    // A loop that wakes another one is a thread of its own.
    internal override void Wake()
    {
        if (loops.StopsAtWake) loops.Stop();
        _isWoken = true;
    }

    internal override void SetInterest(Connection connection, bool read, bool write) => loops.Stop();

    internal override void Register(Connection connection) => _clients.Add(loops.Of(connection));

    internal override void Close(Connection connection) => _clients.Remove(loops.Of(connection));

    internal override void Listen(ListeningSocket listener)
    {
    }

    internal override void StopListening()
    {
    }

    internal override void StopListening(ListeningSocket listener) => listener.Dispose();

    internal override void ResumeAccepting()
    {
    }

    internal override void SetTimer(long microseconds)
    {
    }

    internal override void SetKeepAlive(Connection connection, int seconds)
    {
    }

    internal override void SetNoDelay(Connection connection, bool on)
    {
    }

    internal override void ShutdownSend(Connection connection)
    {
    }

    public override void Dispose()
    {
    }
}
