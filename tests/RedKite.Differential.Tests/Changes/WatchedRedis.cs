using System.Globalization;
using RedKite.Testing;

namespace RedKite.Differential.Tests.Changes;

/// <summary>A redis-server in a process of its own, whose keyspace notifications a second connection subscribes to.</summary>
internal sealed class WatchedRedis : IWatchedServer
{
    private const string Prefix = "__keyevent@";
    private const string Suffix = "__:";

    private readonly ServerProcess _server;
    private readonly RespConnection _subscriber;

    public WatchedRedis(ServerProgram program)
    {
        _server = ServerProcess.Start(program, [.. WatchedServer.Options, "--notify-keyspace-events", "EAn"]);
        Control = _server.Connect();
        _subscriber = _server.Connect();
        _subscriber.Run($"PSUBSCRIBE {Prefix}*");
    }

    public int Port => _server.Port;

    public RespConnection Control { get; }

    // The server writes notifications into the subscriber's output while it executes a command, so they precede the reply to PING.
    public List<string> TakeEvents()
    {
        _subscriber.SendCommand("PING");
        List<string> events = [];
        while (true)
        {
            RespValue message = _subscriber.Read();
            if (message.Items.Count == 2) return events;
            if (message.Items.Count != 4) throw new InvalidOperationException($"not a message: {message}");
            events.Add(EventOf(message.Items[2].Text, message.Items[3].Payload!));
        }
    }

    public void Dispose()
    {
        _subscriber.Dispose();
        Control.Dispose();
        _server.Dispose();
    }

    // __keyevent@0__:set
    private static string EventOf(string channel, byte[] key)
    {
        int end = channel.IndexOf(Suffix, StringComparison.Ordinal);
        int database = int.Parse(channel.AsSpan(Prefix.Length, end - Prefix.Length), CultureInfo.InvariantCulture);
        return WatchedServer.Event(database, channel[(end + Suffix.Length)..], key);
    }
}
