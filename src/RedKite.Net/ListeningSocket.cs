using System.Net;
using System.Net.Sockets;

namespace RedKite.Net;

/// <summary>A bound, listening socket: TCP or Unix.</summary>
internal sealed class ListeningSocket : IDisposable
{
    private readonly EndPoint? _address;
    private volatile bool _isListening = true;
    private int _users = 1; // loops that accept here, and the owner until it stops or disposes
    private int _hasStopped;

    private ListeningSocket(Socket socket, string? unixPath)
    {
        Socket = socket;
        UnixPath = unixPath;
        _address = unixPath is null ? socket.LocalEndPoint : null;
        Port = _address is IPEndPoint ip ? ip.Port : 0;
    }

    /// <summary>The port; the one that the system chose where 0 was requested.</summary>
    public int Port { get; }

    /// <summary>The path of a Unix socket.</summary>
    public string? UnixPath { get; }

    /// <summary>Creates the layer of each connection that arrives here; null: connections have none.</summary>
    public Func<ByteLayer>? NewLayer { get; private init; }

    internal Socket Socket { get; }

    internal bool IsListening => _isListening;

    /// <summary>Listens on an address and port.</summary>
    /// <param name="newLayer">Creates the layer of each connection that arrives; null: connections have none.</param>
    /// <exception cref="SocketException">The address cannot be bound.</exception>
    public static ListeningSocket Tcp(IPAddress address, int port, int backlog, Func<ByteLayer>? newLayer = null)
    {
        var socket = new Socket(address.AddressFamily, SocketType.Stream, ProtocolType.Tcp);
        try
        {
            // Elsewhere than on Windows the runtime's default lets a restarted server take its port back at once. Asking for
            // ReuseAddress there would set SO_REUSEPORT too, and two servers would share a port unknowingly.
            if (OperatingSystem.IsWindows()) socket.ExclusiveAddressUse = true;
            if (address.AddressFamily == AddressFamily.InterNetworkV6) socket.DualMode = false;
            socket.Bind(new IPEndPoint(address, port));
            socket.Listen(backlog);
            return new ListeningSocket(socket, null) { NewLayer = newLayer };
        }
        catch
        {
            socket.Dispose();
            throw;
        }
    }

    /// <summary>Listens on a Unix socket, replacing whatever is at its path.</summary>
    /// <exception cref="SocketException">The path cannot be bound.</exception>
    public static ListeningSocket Unix(string path, int mode, int backlog)
    {
        var socket = new Socket(AddressFamily.Unix, SocketType.Stream, ProtocolType.Unspecified);
        try
        {
            File.Delete(path);
            socket.Bind(new UnixDomainSocketEndPoint(path));
            if (mode != 0 && !OperatingSystem.IsWindows()) File.SetUnixFileMode(path, (UnixFileMode)mode);
            socket.Listen(backlog);
            return new ListeningSocket(socket, path);
        }
        catch
        {
            socket.Dispose();
            throw;
        }
    }

    /// <inheritdoc/>
    public override string ToString() => UnixPath ?? _address?.ToString() ?? "";

    /// <summary>
    /// Stops listening at once, so that the address is free for another. From any thread, also while a loop accepts here:
    /// those loops must be notified with <see cref="EventLoop.StopListening(ListeningSocket)"/>; the last of them disposes this socket, so that its descriptor is never
    /// another file's while a loop knows it.
    /// </summary>
    public void Stop()
    {
        if (Interlocked.Exchange(ref _hasStopped, 1) != 0) return;
        _isListening = false;
        if (!OperatingSystem.IsLinux())
        {
            Socket.Dispose();
            return;
        }

        // Disposing would free the descriptor's number for another file while a loop still accepts by it.
        try
        {
            Socket.Shutdown(SocketShutdown.Both);
        }
        catch (Exception failure) when (failure is SocketException or ObjectDisposedException)
        {
            // It has stopped already.
        }

        RemoveLoop();
    }

    /// <summary>A loop begins to accept here. False: it has stopped.</summary>
    internal bool TryAddLoop()
    {
        for (int users = Volatile.Read(ref _users); _isListening && users > 0;)
        {
            int before = Interlocked.CompareExchange(ref _users, users + 1, users);
            if (before == users) return true;
            users = before;
        }

        return false;
    }

    /// <summary>A loop accepts here no more. The last one disposes of the socket.</summary>
    internal void RemoveLoop()
    {
        if (Interlocked.Decrement(ref _users) == 0) Dispose();
    }

    /// <summary>Closes the socket and removes a Unix socket's path. No loop listens here any more.</summary>
    public void Dispose()
    {
        _isListening = false;
        Socket.Dispose();
        if (UnixPath is not null) File.Delete(UnixPath);
    }
}
