using System.Net;
using System.Net.Sockets;
using System.Text;

namespace RedKite.Bench.Tests;

/// <summary>A server that replies OK to every request, except for one stall after a given time.</summary>
internal sealed class StallingServer : IDisposable
{
    private readonly TcpListener _listener = new(IPAddress.Loopback, 0);
    private readonly Thread _thread;
    private readonly int _stallAfterMs;
    private readonly int _stallMs;

    internal StallingServer(int stallAfterMs, int stallMs)
    {
        _stallAfterMs = stallAfterMs;
        _stallMs = stallMs;
        _listener.Start();
        _thread = new Thread(Serve) { IsBackground = true };
        _thread.Start();
    }

    internal int Port => ((IPEndPoint)_listener.LocalEndpoint).Port;

    public void Dispose()
    {
        _listener.Stop();
        _thread.Join();
    }

    private void Serve()
    {
        try
        {
            using Socket socket = _listener.AcceptSocket();
            socket.NoDelay = true;
            var buffer = new byte[64 * 1024];
            long first = 0;
            bool stalled = false;
            int received;
            while ((received = socket.Receive(buffer)) > 0)
            {
                if (first == 0) first = Environment.TickCount64;
                if (!stalled && Environment.TickCount64 - first >= _stallAfterMs)
                {
                    stalled = true;
                    Thread.Sleep(_stallMs);
                }

                // Requests arrive whole: there is one connection, and each request is far smaller than a segment.
                int requests = buffer.AsSpan(0, received).Count((byte)'*');
                socket.Send(Encoding.ASCII.GetBytes(string.Concat(Enumerable.Repeat("+OK\r\n", requests))));
            }
        }
        catch (SocketException)
        {
            // The test has ended.
        }
    }
}
