using System.Globalization;
using RedKite.TestSupport;

namespace RedKite.Differential.Tests.Changes;

/// <summary>A server in a process of its own, whose keyspace notifications a second connection subscribes to.</summary>
internal sealed class WatchedRedis : IWatchedServer
{
    private const string EventPrefix = "__keyevent@";
    private const string KeyPrefix = "__keyspace@";
    private const string Suffix = "__:";
    private const string End = "__key end";

    private readonly ServerProcess _server;
    private readonly RespConnection _subscriber;

    /// <param name="program">The server.</param>
    /// <param name="classes">The notifications that it sends, as in notify-keyspace-events.</param>
    public WatchedRedis(ServerProgram program, string classes = "EAn")
    {
        _server = ServerProcess.Start(program, [.. WatchedServer.Options, "--notify-keyspace-events", classes]);
        Control = _server.Connect();
        _subscriber = _server.Connect();
        _subscriber.Run("PSUBSCRIBE __key*");
    }

    public int Port => _server.Port;

    public RespConnection Control { get; }

    // Messages reach a subscriber in the order in which they were published: notifications of earlier commands precede this one.
    public List<string> TakeEvents()
    {
        Control.Run($"PUBLISH \"{End}\" x").IsInteger(1);
        List<string> events = [];
        while (true)
        {
            RespValue message = _subscriber.Read();
            if (message.Items.Count != 4) throw new InvalidOperationException($"not a message: {message}");
            string channel = message.Items[2].Text;
            if (channel == End) return events;
            events.Add(EventOf(channel, message.Items[2].Payload!, message.Items[3]));
        }
    }

    public void Dispose()
    {
        _subscriber.Dispose();
        Control.Dispose();
        _server.Dispose();
    }

    // __keyevent@0__:set with the key as its message, or __keyspace@0__:key with the event.
    private static string EventOf(string channel, byte[] channelBytes, RespValue message)
    {
        bool ofKey = channel.StartsWith(KeyPrefix, StringComparison.Ordinal);
        int prefix = (ofKey ? KeyPrefix : EventPrefix).Length;
        int end = channel.IndexOf(Suffix, StringComparison.Ordinal);
        int database = int.Parse(channel.AsSpan(prefix, end - prefix), CultureInfo.InvariantCulture);
        int name = end + Suffix.Length;
        return ofKey
            ? "key: " + WatchedServer.Event(database, message.Text, channelBytes.AsSpan(name))
            : WatchedServer.Event(database, channel[name..], message.Payload!);
    }
}
