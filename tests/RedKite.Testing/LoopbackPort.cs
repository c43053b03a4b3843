using System.Net;
using System.Net.Sockets;

namespace RedKite.Testing;

/// <summary>
/// Free ports of loopback for programs that are told theirs. A port that the system picks is one that it may pick again for
/// another socket before the program has taken it. These are below the range in which systems pick (32,768 and up on Linux,
/// 49,152 and up elsewhere), each is given out once by a process, and processes begin at different places.
/// </summary>
public static class LoopbackPort
{
    private const int First = 12_000;
    private const int Count = 20_000;

    private static int _given = Random.Shared.Next(Count);

    /// <summary>A port that was free a moment ago, on all addresses.</summary>
    public static int Next()
    {
        for (int tried = 0; tried < Count; tried++)
        {
            int port = First + (int)((uint)Interlocked.Increment(ref _given) % Count);
            if (IsFree(port)) return port;
        }

        throw new InvalidOperationException($"None of the ports {First} to {First + Count - 1} is free.");
    }

    private static bool IsFree(int port)
    {
        using var socket = new Socket(AddressFamily.InterNetwork, SocketType.Stream, ProtocolType.Tcp);
        try
        {
            socket.Bind(new IPEndPoint(IPAddress.Any, port));
            return true;
        }
        catch (SocketException)
        {
            return false;
        }
    }
}
