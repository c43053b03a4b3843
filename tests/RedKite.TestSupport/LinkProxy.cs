using System.Net;
using System.Net.Sockets;

namespace RedKite.TestSupport;

/// <summary>
/// Stands between a replica and its primary: every connection is delayed, paused and cut at random bytes of either direction, or only cut at given
/// bytes of the primary's, until <see cref="Heal"/>. What happens to a connection is a matter of the seed, not of time.
/// </summary>
public sealed class LinkProxy : IDisposable
{
    private const int BufferBytes = 16 * 1024;
    private const int DelayMsMax = 5;
    private const int PauseMsMax = 200;

    private readonly TcpListener _listener = new(IPAddress.Loopback, 0);
    private readonly Func<Fate> _nextFate; // with the lock
    private readonly Lock _lock = new();
    private readonly HashSet<Socket> _open = [];
    private volatile bool _isHealed;
    private volatile bool _isDisposed;
    private int _cuts;
    private int _target;

    /// <param name="target">The primary's port.</param>
    /// <param name="seed">The seed of all faults.</param>
    public LinkProxy(int target, int seed)
        : this(target, RandomFates(seed))
    {
    }

    /// <param name="target">The primary's port.</param>
    /// <param name="nextCut">After how many bytes of the primary's the next connection is cut.</param>
    public LinkProxy(int target, Func<long> nextCut)
        : this(target, () => new Fate(OfPrimary: true, nextCut(), DelayMs: 0, PauseMs: 0, BufferBytes))
    {
    }

    private LinkProxy(int target, Func<Fate> nextFate)
    {
        _target = target;
        _nextFate = nextFate;
        _listener.Start();
        _ = AcceptAsync();
    }

    public int Port => ((IPEndPoint)_listener.LocalEndpoint).Port;

    /// <summary>Connections that were cut so far.</summary>
    public int Cuts => Volatile.Read(ref _cuts);

    /// <summary>The primary's port: new connections lead there.</summary>
    public int Target
    {
        get => Volatile.Read(ref _target);
        set => Volatile.Write(ref _target, value);
    }

    /// <summary>Passes everything on from now on.</summary>
    public void Heal() => _isHealed = true;

    /// <summary>Cuts all connections.</summary>
    public void CutAll()
    {
        Socket[] open;
        lock (_lock) open = [.. _open];
        foreach (Socket socket in open) socket.Dispose();
    }

    public void Dispose()
    {
        _isDisposed = true;
        _listener.Stop();
        CutAll();
    }

    private async Task AcceptAsync()
    {
        while (!_isDisposed)
        {
            try
            {
                Socket replica = await _listener.AcceptSocketAsync();
                _ = ServeAsync(replica);
            }
            catch (Exception failure) when (failure is SocketException or ObjectDisposedException or InvalidOperationException)
            {
                // It is stopped, or the connection has ended already.
            }
        }
    }

    private async Task ServeAsync(Socket replica)
    {
        using Socket primary = new(AddressFamily.InterNetwork, SocketType.Stream, ProtocolType.Tcp);
        try
        {
            lock (_lock) _open.UnionWith([replica, primary]);
            replica.NoDelay = primary.NoDelay = true;
            await primary.ConnectAsync(new IPEndPoint(IPAddress.Loopback, Target));
            Fate fate;
            lock (_lock) fate = _nextFate();
            Task toReplica = PassAsync(primary, replica, fate.OfPrimary ? fate : fate with { BytesLeft = long.MaxValue });
            Task toPrimary = PassAsync(replica, primary, fate.OfPrimary ? fate with { BytesLeft = long.MaxValue } : fate);
            await Task.WhenAny(toReplica, toPrimary);
            replica.Dispose();
            primary.Dispose();
            await Task.WhenAll(toReplica, toPrimary);
        }
        catch (Exception failure) when (failure is SocketException or ObjectDisposedException)
        {
            // One side has ended.
        }
        finally
        {
            replica.Dispose();
            lock (_lock) _open.ExceptWith([replica, primary]);
        }
    }

    // A third ends in the handshake, a third in the data or soon after it, a third later.
    private static Func<Fate> RandomFates(int seed)
    {
        var random = new Random(seed);
        return () =>
        {
            bool isOfPrimary = random.Next(3) > 0;
            int bytes = random.Next(3) switch { 0 => random.Next(400), 1 => random.Next(20_000), _ => random.Next(120_000) };
            bool isSlow = random.Next(3) == 0;
            return new Fate(
                isOfPrimary,
                isOfPrimary ? bytes : bytes / 20, // a replica sends little
                DelayMs: isSlow ? random.Next(1, DelayMsMax) : 0,
                PauseMs: random.Next(4) == 0 ? random.Next(PauseMsMax) : 0,
                ChunkBytes: !isSlow && random.Next(3) == 0 ? random.Next(1, 200) : BufferBytes);
        };
    }

    private async Task PassAsync(Socket from, Socket to, Fate fate)
    {
        byte[] buffer = new byte[BufferBytes];
        long left = fate.BytesLeft;
        try
        {
            while (true)
            {
                int bytes = await from.ReceiveAsync(buffer.AsMemory(0, _isHealed ? BufferBytes : fate.ChunkBytes));
                if (bytes == 0) return;
                bool isCut = !_isHealed && bytes >= left;
                if (!_isHealed && fate.DelayMs > 0) await Task.Delay(fate.DelayMs);
                for (int sent = 0, end = isCut ? (int)left : bytes; sent < end;) sent += await to.SendAsync(buffer.AsMemory(sent, end - sent));
                if (isCut)
                {
                    if (fate.PauseMs > 0) await Task.Delay(fate.PauseMs); // the other side waits for what never comes
                    Interlocked.Increment(ref _cuts);
                    return;
                }

                left -= bytes;
            }
        }
        catch (Exception failure) when (failure is SocketException or ObjectDisposedException)
        {
            // One side has ended.
        }
    }

    private readonly record struct Fate(bool OfPrimary, long BytesLeft, int DelayMs, int PauseMs, int ChunkBytes);
}
