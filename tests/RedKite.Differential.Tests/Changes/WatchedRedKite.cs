using RedKite.Server.Changes;
using RedKite.Server.Model;
using RedKite.TestSupport;

namespace RedKite.Differential.Tests.Changes;

/// <summary>A RedKite in this process, on a port of its own, with an observer that records every change and every effect.</summary>
internal sealed class WatchedRedKite : IWatchedServer, IChangeConsumer, IEffectConsumer
{
    private readonly Lock _recording = new();
    private readonly RedKiteServer _server;
    private List<string> _events = [];
    private List<RecordedEffect> _effects = [];

    /// <param name="clock">The server's clock; null is the system's.</param>
    public WatchedRedKite(HeldClock? clock = null)
    {
        Clock = clock;
        _server = RedKiteServer.StartAsync(WatchedServer.RedKiteOptions(clock ?? TimeProvider.System)).GetAwaiter().GetResult();
        _server.Engine.Changes.Subscribe(this);
        _server.Engine.Changes.SubscribeToEffects(this);
        Control = RespConnection.Connect(_server.Port);
    }

    public HeldClock? Clock { get; }

    public int Port => _server.Port;

    public RespConnection Control { get; }

    internal CommandTable Commands => _server.Engine.Commands;

    public List<string> TakeEvents()
    {
        lock (_recording)
        {
            List<string> events = _events;
            _events = [];
            return events;
        }
    }

    /// <summary>The effects since the last call, in order.</summary>
    public List<RecordedEffect> TakeEffects()
    {
        lock (_recording)
        {
            List<RecordedEffect> effects = _effects;
            _effects = [];
            return effects;
        }
    }

    public void Dispose()
    {
        Control.Dispose();
        _server.DisposeAsync().AsTask().GetAwaiter().GetResult();
    }

    // On the thread of the command, before its reply is sent.
    void IChangeConsumer.Published(ChangeList changes)
    {
        lock (_recording)
        {
            for (int i = 0; i < changes.Count; i++)
            {
                Change change = changes[i];
                string name = KeyEvents.Name(change.Event);
                if (name.Length > 0 && change.Event != KeyEvent.KeyMiss) _events.Add(WatchedServer.Event(change.Database, name, changes.KeyOf(change)));
            }
        }
    }

    void IEffectConsumer.Published(scoped in EffectRecord record)
    {
        lock (_recording)
        {
            if (record.IsFramed) _effects.Add(new RecordedEffect(record[0].Database, ["MULTI"u8.ToArray()]));
            for (int i = 0; i < record.Count; i++)
            {
                EffectCommand command = record[i];
                var request = new MemoryStream();
                foreach (ReadOnlySpan<byte> part in command) request.Write(part);
                _effects.Add(new RecordedEffect(command.Database, CommandOf(request.ToArray())));
            }

            if (record.IsFramed) _effects.Add(new RecordedEffect(record[record.Count - 1].Database, ["EXEC"u8.ToArray()]));
        }
    }

    // *2\r\n$3\r\nDEL\r\n$1\r\nk\r\n is an array reply, too.
    private static byte[][] CommandOf(byte[] request)
    {
        int at = 0;
        RespReader reader = new((buffer, offset) =>
        {
            int count = Math.Min(buffer.Length - offset, request.Length - at);
            request.AsSpan(at, count).CopyTo(buffer.AsSpan(offset));
            at += count;
            return count;
        });
        return [.. reader.Read().Items.Select(word => word.Payload!)];
    }
}
