using System.Net;
using System.Net.Sockets;

namespace RedKite.Differential.Tests.Streams;

/// <summary>
/// A proxy in front of the system under test that alters the traffic, to prove that the comparison notices. It works by chunk:
/// a pattern is found if its command or reply arrives in one piece, which holds for commands that are not pipelined.
/// </summary>
internal sealed class SpoilingProxy : IDisposable
{
    private readonly TcpListener _listener = new(IPAddress.Loopback, 0);
    private readonly List<Socket> _sockets = [];
    private readonly Func<byte[], byte[]> _onRequest;
    private readonly Func<byte[], byte[]> _onReply;
    private readonly int _serverPort;

    public SpoilingProxy(int serverPort, Func<byte[], byte[]>? onRequest = null, Func<byte[], byte[]>? onReply = null)
    {
        (_serverPort, _onRequest, _onReply) = (serverPort, onRequest ?? (bytes => bytes), onReply ?? (bytes => bytes));
        _listener.Start();
        Start(Accept);
    }

    public int Port => ((IPEndPoint)_listener.LocalEndpoint).Port;

    public void Dispose()
    {
        _listener.Dispose();
        lock (_sockets)
        {
            foreach (Socket socket in _sockets) socket.Dispose();
        }
    }

    private void Accept()
    {
        while (true)
        {
            Socket client = Keep(_listener.AcceptSocket());
            Socket server = Keep(new Socket(AddressFamily.InterNetwork, SocketType.Stream, ProtocolType.Tcp) { NoDelay = true });
            server.Connect(IPAddress.Loopback, _serverPort);
            Start(() => Relay(client, server, _onRequest));
            Start(() => Relay(server, client, _onReply));
        }
    }

    private static void Relay(Socket from, Socket to, Func<byte[], byte[]> spoil)
    {
        byte[] buffer = new byte[256 * 1024];
        for (int count; (count = from.Receive(buffer)) > 0;) to.Send(spoil(buffer[..count]));
        to.Shutdown(SocketShutdown.Send);
    }

    private Socket Keep(Socket socket)
    {
        lock (_sockets) _sockets.Add(socket);
        return socket;
    }

    private static void Start(Action work) => new Thread(() =>
    {
        try
        {
            work();
        }
        catch (Exception e) when (e is SocketException or ObjectDisposedException or InvalidOperationException)
        {
            // One end was closed, so the thread ends.
        }
    })
    { IsBackground = true }.Start();
}
