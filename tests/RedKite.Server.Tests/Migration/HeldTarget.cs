using System.Net;
using System.Net.Sockets;
using System.Text;
using RedKite.TestSupport;

namespace RedKite.Server.Tests.Migration;

/// <summary>
/// A target of MIGRATE in front of a server, which executes what it receives. It holds each request, or each reply, until the test lets it go on;
/// or a script replies in place of the server.
/// </summary>
internal sealed class HeldTarget : IDisposable
{
    private const int PatienceMs = 60_000;

    private readonly TcpListener _listener = new(IPAddress.Loopback, 0);
    private readonly int _serverPort;
    private readonly SemaphoreSlim _held = new(0);
    private readonly SemaphoreSlim _goesOn = new(0);
    private readonly List<string[]> _requests = [];
    private readonly List<Socket> _connections = [];
    private volatile bool _holds;
    private int _accepted;

    /// <param name="serverPort">The server's port; 0: there is none, and all replies are the script's.</param>
    internal HeldTarget(int serverPort = 0)
    {
        _serverPort = serverPort;
        _listener.Start();
        _ = Task.Run(AcceptAsync);
    }

    internal int Port => ((IPEndPoint)_listener.LocalEndpoint).Port;

    /// <summary>Replies in place of the server: null closes the connection, and an empty text replies nothing.</summary>
    internal Func<string[], string?>? Script { get; set; }

    /// <summary>The name of the requests that are held when they were executed, before their replies; null: all are.</summary>
    internal string? HeldName { get; set; }

    /// <summary>Whether requests are held.</summary>
    internal bool Holds
    {
        get => _holds;
        set => _holds = value;
    }

    /// <summary>Connections so far.</summary>
    internal int Accepted => Volatile.Read(ref _accepted);

    /// <summary>The names of the requests so far, with their first arguments.</summary>
    internal string[] Requests
    {
        get
        {
            lock (_requests) return [.. _requests.Select(static request => string.Join(' ', request.Take(2)) + (request[^1] == "REPLACE" ? " REPLACE" : ""))];
        }
    }

    /// <summary>Waits until a request is held.</summary>
    internal void WaitUntilHeld() => Assert.True(_held.Wait(PatienceMs), "nothing is held");

    internal void GoOn() => _goesOn.Release();

    public void Dispose()
    {
        _holds = false;
        _goesOn.Release(1000);
        _listener.Stop();
        lock (_connections)
        {
            foreach (Socket connection in _connections) connection.Dispose();
        }
    }

    private async Task AcceptAsync()
    {
        try
        {
            while (true)
            {
                Socket socket = await _listener.AcceptSocketAsync();
                lock (_connections) _connections.Add(socket);
                Interlocked.Increment(ref _accepted);
                _ = Task.Run(() => Serve(socket));
            }
        }
        catch (Exception failure) when (failure is SocketException or ObjectDisposedException or InvalidOperationException)
        {
            // It is stopped.
        }
    }

    private void Serve(Socket socket)
    {
        using var stream = new BufferedStream(new NetworkStream(socket));
        using RespConnection? server = _serverPort > 0 ? RespConnection.Connect(_serverPort) : null;
        try
        {
            while (ReadRequest(stream) is { } request)
            {
                lock (_requests) _requests.Add(request);
                string? reply = Script is { } script ? script(request) : Execute(server!, request);
                if (_holds && (HeldName is null || request[0] == HeldName))
                {
                    _held.Release();
                    Assert.True(_goesOn.Wait(PatienceMs));
                }

                if (reply is null)
                {
                    socket.Dispose();
                    return;
                }

                socket.Send(Encoding.Latin1.GetBytes(reply));
            }
        }
        catch (Exception failure) when (failure is IOException or SocketException or ObjectDisposedException)
        {
            // The source has closed the connection, or the test has ended.
        }
    }

    private static string Execute(RespConnection server, string[] request)
    {
        server.Run([.. request.Select(Encoding.Latin1.GetBytes)]);
        return Encoding.Latin1.GetString(server.LastBytes);
    }

    private static string[]? ReadRequest(Stream stream)
    {
        if (ReadLine(stream) is not { } head) return null;
        var arguments = new string[int.Parse(head.AsSpan(1), System.Globalization.CultureInfo.InvariantCulture)];
        for (int i = 0; i < arguments.Length; i++)
        {
            byte[] bytes = new byte[int.Parse(ReadLine(stream).AsSpan(1), System.Globalization.CultureInfo.InvariantCulture) + 2];
            stream.ReadExactly(bytes);
            arguments[i] = Encoding.Latin1.GetString(bytes, 0, bytes.Length - 2);
        }

        return arguments;
    }

    private static string? ReadLine(Stream stream)
    {
        var line = new StringBuilder();
        for (int next = stream.ReadByte(); next != '\n'; next = stream.ReadByte())
        {
            if (next < 0) return null;
            line.Append((char)next);
        }

        return line.ToString().TrimEnd('\r');
    }
}
