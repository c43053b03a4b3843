using System.Net;
using System.Net.Sockets;

namespace RedKite.Net;

/// <summary>A bound, listening socket: TCP or Unix.</summary>
public sealed class ListeningSocket : IDisposable
{
    private ListeningSocket(Socket socket, string? unixPath)
    {
        Socket = socket;
        UnixPath = unixPath;
    }

    /// <summary>The port that is listened on; the one that the system chose where 0 was asked for.</summary>
    public int Port => Socket.LocalEndPoint is IPEndPoint ip ? ip.Port : 0;

    /// <summary>The path of a Unix socket.</summary>
    public string? UnixPath { get; }

    /// <summary>Whether it was disposed.</summary>
    public bool IsClosed => Socket.SafeHandle.IsClosed;

    internal Socket Socket { get; }

    internal bool IsListening { get; private set; } = true;

    /// <summary>Listens on an address and port.</summary>
    /// <exception cref="SocketException">The address cannot be bound.</exception>
    public static ListeningSocket Tcp(IPAddress address, int port, int backlog)
    {
        var socket = new Socket(address.AddressFamily, SocketType.Stream, ProtocolType.Tcp);
        try
        {
            // Elsewhere than on Windows the runtime's default lets a restarted server take its port back at once. Asking for
            // ReuseAddress there would set SO_REUSEPORT too, and two servers would share a port without knowing.
            if (OperatingSystem.IsWindows()) socket.ExclusiveAddressUse = true;
            if (address.AddressFamily == AddressFamily.InterNetworkV6) socket.DualMode = false;
            socket.Bind(new IPEndPoint(address, port));
            socket.Listen(backlog);
            return new ListeningSocket(socket, null);
        }
        catch
        {
            socket.Dispose();
            throw;
        }
    }

    /// <summary>Listens on a Unix socket, in place of what is at its path.</summary>
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
    public override string ToString() => UnixPath ?? Socket.LocalEndPoint?.ToString() ?? "";

    /// <summary>Stops listening; a Unix socket's path goes too.</summary>
    public void Dispose()
    {
        IsListening = false;
        Socket.Dispose();
        if (UnixPath is not null) File.Delete(UnixPath);
    }
}
