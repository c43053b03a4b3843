using System.Diagnostics;
using System.Net;
using System.Net.Sockets;

namespace RedKite.Figures.Types;

/// <summary>The longest of many requests, by two clocks.</summary>
/// <param name="WallUs">From a request to its reply.</param>
/// <param name="CpuUs">The server's CPU from a request to its reply, including other work that it did first.</param>
internal readonly record struct LongestDelay(double WallUs, double CpuUs);

/// <summary>A connection that repeatedly requests one small value and keeps the longest reply time.</summary>
internal sealed class LatencyProbe : IDisposable
{
    private readonly Socket _socket = new(AddressFamily.InterNetwork, SocketType.Stream, ProtocolType.Tcp) { NoDelay = true };
    private readonly byte[] _reply = new byte[64];
    private readonly int _processId;

    internal LatencyProbe(ServerUnderTest server)
    {
        _processId = server.ProcessId;
        _socket.Connect(IPAddress.Loopback, server.Port);
    }

    private static ReadOnlySpan<byte> Request => "*2\r\n$3\r\nGET\r\n$5\r\nprobe\r\n"u8;

    /// <summary>Sends requests for this long, one at a time, and at least one.</summary>
    internal LongestDelay Measure(int milliseconds)
    {
        long longestWallNs = 0, longestCpuNs = 0, now, end = Stopwatch.GetTimestamp() + (milliseconds * Stopwatch.Frequency / 1000);
        do
        {
            long before = Stopwatch.GetTimestamp(), cpuBeforeNs = KernelCpuClock.ReadProcessNs(_processId);
            _socket.Send(Request);
            ReceiveReply();
            long cpuNs = KernelCpuClock.ReadProcessNs(_processId) - cpuBeforeNs;
            now = Stopwatch.GetTimestamp();
            // Stopwatch ticks are nanoseconds on Linux.
            longestWallNs = Math.Max(longestWallNs, now - before);
            longestCpuNs = Math.Max(longestCpuNs, Math.Min(cpuNs, now - before));
        }
        while (now < end);

        return new LongestDelay(longestWallNs / 1e3, longestCpuNs / 1e3);
    }

    public void Dispose() => _socket.Dispose();

    private void ReceiveReply()
    {
        int received = 0, bytes;
        do
        {
            int read = _socket.Receive(_reply.AsSpan(received));
            if (read == 0) throw new CannotMeasureException("the server closed the connection");
            received += read;
        }
        while (!Replies.TryMeasure(_reply.AsSpan(0, received), out bytes) || bytes < received);
    }
}
