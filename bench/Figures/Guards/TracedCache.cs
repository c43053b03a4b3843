using System.Globalization;
using System.Net;
using System.Net.Sockets;
using System.Text;

namespace RedKite.Figures.Guards;

/// <summary>A server as a cache with room for a given number of values: a key that a read misses is written.</summary>
internal sealed class TracedCache : IDisposable
{
    private const int SettleMs = 1200; // servers count their buffers once a second
    private const int Batch = 50;

    private static readonly string Value = new('v', 200);

    private readonly Socket _socket = new(AddressFamily.InterNetwork, SocketType.Stream, ProtocolType.Tcp) { NoDelay = true };
    private readonly ServerUnderTest _server;
    private byte[] _replies = new byte[64 * 1024];
    private long _reads;
    private long _hits;

    /// <param name="fitting">The number of values that fit.</param>
    internal TracedCache(ServerUnderTest server, string policy, int samples, int fitting)
    {
        _server = server;
        _socket.Connect(IPAddress.Loopback, server.Port);
        using SetupConnection connection = server.Connect();
        connection.Run("CONFIG", "SET", "maxmemory-policy", policy, "maxmemory-samples", samples.ToString(CultureInfo.InvariantCulture));
        for (int i = 0; i < fitting; i += Batch) Write([.. Enumerable.Range(i, Math.Min(Batch, fitting - i)).Select(key => -1 - key)]);
        Thread.Sleep(SettleMs);
        long used = connection.ReadInfo("memory", "used_memory") ?? throw new CannotMeasureException($"{server.Name} has no used_memory");
        connection.Run("CONFIG", "SET", "maxmemory", used.ToString(CultureInfo.InvariantCulture));
    }

    internal double HitRate => (double)_hits / _reads;

    internal void Use(ReadOnlySpan<int> keys, bool isCounted)
    {
        var request = new StringBuilder();
        foreach (int key in keys) request.Append(CultureInfo.InvariantCulture, $"GET {Name(key)}\r\n");
        bool[] found = Exchange(request.ToString(), keys.Length);
        HashSet<int> missing = [];
        for (int i = 0; i < keys.Length; i++)
        {
            if (!found[i]) missing.Add(keys[i]);
        }

        if (isCounted)
        {
            _reads += keys.Length;
            _hits += found.Count(one => one);
        }

        Write([.. missing]);
    }

    /// <summary>The keys that the server holds now.</summary>
    internal int CountKeys()
    {
        using SetupConnection connection = _server.Connect();
        return int.Parse(connection.Run("DBSIZE"), CultureInfo.InvariantCulture);
    }

    public void Dispose() => _socket.Dispose();

    private void Write(IReadOnlyList<int> keys)
    {
        if (keys.Count == 0) return;
        var request = new StringBuilder();
        foreach (int key in keys) request.Append(CultureInfo.InvariantCulture, $"SET {Name(key)} {Value}\r\n");
        Exchange(request.ToString(), keys.Count);
    }

    // Returns for each reply whether it is more than null.
    private bool[] Exchange(string request, int replies)
    {
        byte[] bytes = Encoding.ASCII.GetBytes(request);
        for (int sent = 0; sent < bytes.Length;) sent += _socket.Send(bytes.AsSpan(sent));
        bool[] found = new bool[replies];
        int at = 0, received = 0;
        for (int i = 0; i < replies; i++)
        {
            int length;
            while (!Types.Replies.TryMeasure(_replies.AsSpan(at, received - at), out length))
            {
                if (received == _replies.Length) Array.Resize(ref _replies, 2 * received);
                int read = _socket.Receive(_replies.AsSpan(received));
                if (read == 0) throw new CannotMeasureException($"{_server.Name} closed the connection");
                received += read;
            }

            found[i] = !_replies.AsSpan(at).StartsWith("$-1"u8);
            at += length;
        }

        return found;
    }

    private static string Name(int key) => key.ToString("D8", CultureInfo.InvariantCulture);
}
