using System.Collections.Concurrent;
using System.Net;
using System.Net.Sockets;

namespace RedKite.TestSupport;

/// <summary>
/// Free loopback ports for programs that need a fixed one. The system may reuse a port that it assigned before the program
/// has bound it. These ports are below the system's range (32,768 and up on Linux, 49,152 and up elsewhere), and each is used
/// by one process once: a locked file reserves it, so that no other suite's server or client meets it.
/// </summary>
public static class LoopbackPort
{
    private const int First = 12_000;
    private const int Count = 20_000;

    private static readonly ConcurrentBag<FileStream> Reserved = [];

    private static int _given = Random.Shared.Next(Count);

    // The files would stay: nothing closes them when a process exits.
    static LoopbackPort() => AppDomain.CurrentDomain.ProcessExit += (_, _) =>
    {
        foreach (FileStream file in Reserved) file.Dispose();
    };

    /// <summary>A port that was free on all addresses a moment ago.</summary>
    public static int Next()
    {
        for (int tried = 0; tried < Count; tried++)
        {
            int port = First + (int)((uint)Interlocked.Increment(ref _given) % Count);
            if (TryReserve(port) && IsFree(port)) return port;
        }

        throw new InvalidOperationException($"None of the ports {First} to {First + Count - 1} is free.");
    }

    /// <summary>A port of which the one at the distance is free, too: that of the dashboard.</summary>
    public static int NextWithFreeAt(int distance)
    {
        while (true)
        {
            int port = Next();
            if (TryReserve(port + distance) && IsFree(port + distance)) return port;
        }
    }

    // Until the process ends.
    private static bool TryReserve(int port)
    {
        string path = Path.Combine(Path.GetTempPath(), $"redkite-test-port-{port}");
        try
        {
            Reserved.Add(new FileStream(path, FileMode.OpenOrCreate, FileAccess.ReadWrite, FileShare.None, bufferSize: 1, FileOptions.DeleteOnClose));
            return true;
        }
        catch (IOException)
        {
            return false;
        }
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
