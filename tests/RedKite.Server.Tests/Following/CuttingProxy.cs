using System.Net;
using System.Net.Sockets;

namespace RedKite.Server.Tests.Following;

/// <summary>Passes connections on to a server, and cuts each after some bytes of what the server sends.</summary>
internal sealed class CuttingProxy : IDisposable
{
    private readonly TcpListener _listener = new(IPAddress.Loopback, 0);
    private readonly Func<long> _nextCut;
    private readonly int _target;
    private int _cuts;

    /// <param name="target">The server's port.</param>
    /// <param name="nextCut">After how many bytes the next connection is cut.</param>
    internal CuttingProxy(int target, Func<long> nextCut)
    {
        _target = target;
        _nextCut = nextCut;
        _listener.Start();
        _ = AcceptAsync();
    }

    internal int Port => ((IPEndPoint)_listener.LocalEndpoint).Port;

    /// <summary>Connections that were cut.</summary>
    internal int Cuts => Volatile.Read(ref _cuts);

    public void Dispose() => _listener.Dispose();

    private async Task AcceptAsync()
    {
        try
        {
            while (true)
            {
                TcpClient client = await _listener.AcceptTcpClientAsync();
                _ = PassAsync(client);
            }
        }
        catch (Exception failure) when (failure is SocketException or ObjectDisposedException)
        {
            // Disposed.
        }
    }

    private async Task PassAsync(TcpClient client)
    {
        using (client)
        using (var server = new TcpClient())
        {
            try
            {
                await server.ConnectAsync(IPAddress.Loopback, _target);
                long left = _nextCut();
                await Task.WhenAny(CopyAsync(client, server, long.MaxValue), CopyAsync(server, client, left));
            }
            catch (Exception failure) when (failure is SocketException or IOException)
            {
                // Both are closed.
            }
        }
    }

    private async Task CopyAsync(TcpClient from, TcpClient to, long left)
    {
        byte[] buffer = new byte[16 * 1024];
        try
        {
            while (left > 0)
            {
                int read = await from.GetStream().ReadAsync(buffer.AsMemory(0, (int)Math.Min(buffer.Length, left)));
                if (read == 0) return;
                await to.GetStream().WriteAsync(buffer.AsMemory(0, read));
                left -= read;
            }

            Interlocked.Increment(ref _cuts);
        }
        catch (Exception failure) when (failure is IOException or ObjectDisposedException or InvalidOperationException)
        {
            // The other direction has ended.
        }
    }
}
