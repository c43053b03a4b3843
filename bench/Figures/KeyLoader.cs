using System.Buffers.Text;
using System.Diagnostics;
using System.Globalization;
using System.Net;
using System.Net.Sockets;
using System.Text;

namespace RedKite.Figures;

/// <summary>
/// Loads numbered keys into a server over one connection with deep pipelines. Loading is not measured, so it only needs to
/// be fast.
/// </summary>
internal static class KeyLoader
{
    private const int BatchCommands = 1000;

    private static ReadOnlySpan<byte> Ok => "+OK\r\n"u8;

    /// <summary>Sets the keys numbered 0 to <paramref name="keys"/> - 1.</summary>
    internal static void Load(ServerUnderTest server, KeyForm form, int keys, int valueBytes)
    {
        Set(server, form, keys, valueBytes);
        using SetupConnection connection = server.Connect();
        string loaded = connection.Run("DBSIZE");
        if (loaded != $"{keys}") throw new CannotMeasureException($"{server.Name} holds {loaded} keys after {keys} were loaded");
    }

    /// <summary>Sets the keys numbered 0 to <paramref name="keys"/> - 1, all with the same expiry.</summary>
    internal static void LoadExpiring(ServerUnderTest server, KeyForm form, int keys, int valueBytes, DateTime expiry) =>
        Set(server, form, keys, valueBytes, new DateTimeOffset(expiry).ToUnixTimeMilliseconds());

    /// <summary>
    /// Sets one key many times and deletes it: afterwards the server's code is compiled and its buffers are allocated, but
    /// it has no data.
    /// </summary>
    /// <returns>The time per key.</returns>
    internal static TimeSpan WarmUp(ServerUnderTest server, int valueBytes)
    {
        const int Repetitions = 500_000;
        var elapsed = Stopwatch.StartNew();
        using (Socket socket = Connect(server.Port))
        {
            Set(socket, KeyForm.Memory, Enumerable.Repeat(0, Repetitions), valueBytes);
        }

        TimeSpan aKey = elapsed.Elapsed / Repetitions;
        using SetupConnection connection = server.Connect();
        connection.Run("FLUSHALL");
        return aKey;
    }

    private static Socket Connect(int port)
    {
        var socket = new Socket(AddressFamily.InterNetwork, SocketType.Stream, ProtocolType.Tcp) { NoDelay = true };
        socket.Connect(IPAddress.Loopback, port);
        return socket;
    }

    private static void Set(ServerUnderTest server, KeyForm form, int keys, int valueBytes, long? expiryMs = null)
    {
        Console.Error.WriteLine($"{server.Name}: loading {keys} keys");
        using Socket socket = Connect(server.Port);
        Set(socket, form, Enumerable.Range(0, keys), valueBytes, expiryMs);
    }

    private static void Set(Socket socket, KeyForm form, IEnumerable<int> numbers, int valueBytes, long? expiryMs = null)
    {
        string option = expiryMs is { } ms ? string.Create(CultureInfo.InvariantCulture, $"$4\r\nPXAT\r\n${ms.ToString(CultureInfo.InvariantCulture).Length}\r\n{ms}\r\n") : "";
        byte[] beforeLength = Encoding.ASCII.GetBytes($"*{(expiryMs is null ? 3 : 5)}\r\n$3\r\nSET\r\n$");
        byte[] afterKey = Encoding.ASCII.GetBytes($"\r\n${valueBytes}\r\n{new string('x', valueBytes)}\r\n{option}");
        byte[] request = new byte[BatchCommands * (64 + KeyForm.BytesMax + afterKey.Length)];
        byte[] replies = new byte[BatchCommands * Ok.Length];
        int commands = 0, bytes = 0;
        foreach (int number in numbers)
        {
            bytes += WriteSet(request.AsSpan(bytes), form, number, beforeLength, afterKey);
            if (++commands < BatchCommands) continue;
            Exchange(socket, request.AsSpan(0, bytes), replies.AsSpan(0, commands * Ok.Length));
            (commands, bytes) = (0, 0);
        }

        if (commands > 0) Exchange(socket, request.AsSpan(0, bytes), replies.AsSpan(0, commands * Ok.Length));
    }

    private static int WriteSet(Span<byte> destination, KeyForm form, int number, byte[] beforeLength, byte[] afterKey)
    {
        Span<byte> key = stackalloc byte[KeyForm.BytesMax];
        int keyBytes = form.Write(key, number);

        beforeLength.CopyTo(destination);
        int at = beforeLength.Length;
        Utf8Formatter.TryFormat(keyBytes, destination[at..], out int digits);
        at += digits;
        "\r\n"u8.CopyTo(destination[at..]);
        key[..keyBytes].CopyTo(destination[(at + 2)..]);
        afterKey.CopyTo(destination[(at + 2 + keyBytes)..]);
        return at + 2 + keyBytes + afterKey.Length;
    }

    private static void Exchange(Socket socket, ReadOnlySpan<byte> request, Span<byte> replies)
    {
        socket.Send(request);
        for (int received = 0; received < replies.Length;)
        {
            int bytes = socket.Receive(replies[received..]);
            if (bytes == 0) throw new CannotMeasureException("the server closed the connection while keys were loaded");
            received += bytes;
            if (replies[0] != '+') throw new CannotMeasureException($"SET: {Encoding.UTF8.GetString(replies[..received])}");
        }

        if (!replies.EndsWith(Ok)) throw new CannotMeasureException("a SET was not answered with OK while keys were loaded");
    }
}
