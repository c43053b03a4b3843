using System.Globalization;
using System.Net.Sockets;
using RedKite.TestSupport;

namespace RedKite.EndToEnd.Tests.Hosts;

/// <summary>Clients outside of the hosts, each with a key of its own, and an observer of all servers. They write down what they see.</summary>
internal sealed class HostClients : IDisposable
{
    private const int Writers = 3;
    private const int PauseMs = 20;

    private readonly CancellationTokenSource _end = new();
    private readonly HostServers _servers;
    private readonly Thread[] _threads;
    private long _confirmed;

    internal HostClients(HostServers servers)
    {
        _servers = servers;
        _threads = [.. Enumerable.Range(0, Writers).Select(number => new Thread(() => Work(KeyOf(number))) { IsBackground = true }), new Thread(Observe) { IsBackground = true }];
        foreach (Thread thread in _threads) thread.Start();
    }

    internal ReplicationHistory History { get; } = new();

    /// <summary>Writes that at least one replica has confirmed.</summary>
    internal long Confirmed => Interlocked.Read(ref _confirmed);

    internal static IEnumerable<string> Keys => Enumerable.Range(0, Writers).Select(KeyOf);

    internal void Stop()
    {
        _end.Cancel();
        foreach (Thread thread in _threads) thread.Join();
    }

    public void Dispose()
    {
        Stop();
        _end.Dispose();
    }

    private static string KeyOf(int number) => string.Create(CultureInfo.InvariantCulture, $"writer:{number}");

    private void Work(string key)
    {
        for (long value = 0; !_end.IsCancellationRequested;)
        {
            int node = _servers.Primary;
            try
            {
                using RespConnection client = _servers.Connect(node);
                while (!_end.IsCancellationRequested && node == _servers.Primary) Write(client, key, ++value, node);
            }
            catch (Exception failure) when (failure is SocketException or IOException)
            {
                _end.Token.WaitHandle.WaitOne(PauseMs);
            }
        }
    }

    private void Write(RespConnection client, string key, long value, int node)
    {
        long start = ReplicationHistory.Now;
        int confirmed = 0;
        try
        {
            RespValue reply = Run(client, string.Create(CultureInfo.InvariantCulture, $"SET {key} {value}"));
            if (reply.IsError) // a replica, or one that loads
            {
                _end.Token.WaitHandle.WaitOne(PauseMs);
                return;
            }

            RespValue replicas = Run(client, "WAIT 1 300");
            if (replicas.IsInteger) confirmed = (int)replicas.Number;
        }
        finally
        {
            History.Writes.Enqueue(new Write(key, value, node, start, ReplicationHistory.Now, confirmed));
        }

        if (confirmed > 0) Interlocked.Increment(ref _confirmed);
        Read(client, key, node);
    }

    /// <summary>Reads a key from a primary.</summary>
    internal void Read(RespConnection client, string key, int node)
    {
        long start = ReplicationHistory.Now;
        RespValue value = Run(client, $"GET {key}");
        if (!value.IsError) History.Reads.Enqueue(new Read(key, value.IsNull ? -1 : long.Parse(value.Text, CultureInfo.InvariantCulture), node, start, ReplicationHistory.Now));
    }

    // Without a reply in time it is not known what the next one belongs to: the client connects again.
    private static RespValue Run(RespConnection client, string command)
    {
        RespValue reply = client.Run(command);
        return reply.IsClosed || reply.IsTimeout ? throw new IOException("no reply") : reply;
    }

    private void Observe()
    {
        while (!_end.IsCancellationRequested)
        {
            for (int server = 0; server < _servers.Count; server++)
            {
                int run = _servers.Runs[server];
                string? info = _servers.TryRun(server, "INFO replication");
                if (run == _servers.Runs[server] && HostServers.FieldOf(info, "master_replid") is { } id) History.Places.Enqueue(new PlaceSeen(server, run, id, long.Parse(HostServers.FieldOf(info, "master_repl_offset")!, CultureInfo.InvariantCulture)));
            }

            _end.Token.WaitHandle.WaitOne(PauseMs);
        }
    }
}
