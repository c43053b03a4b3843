using System.Text;
using RedKite.Server.Changes;

namespace RedKite.Server.Tests.Changes;

/// <summary>Records the events and effects that it receives, as text. Effects are framed as in a log.</summary>
internal sealed class ChangeRecording : IChangeConsumer, IEffectConsumer
{
    private readonly Lock _recording = new();
    private readonly List<string> _events = [];
    private readonly List<string> _effects = [];
    private int _records;

    public void Published(ChangeList changes)
    {
        lock (_recording)
        {
            for (int i = 0; i < changes.Count; i++)
            {
                Change change = changes[i];
                string name = KeyEvents.Name(change.Event);
                if (name.Length > 0) _events.Add($"{name} {Encoding.Latin1.GetString(changes.KeyOf(change))}");
            }
        }
    }

    public void Published(scoped in EffectRecord record)
    {
        lock (_recording)
        {
            _records++;
            long bytes = 0;
            if (record.IsFramed) _effects.Add("MULTI");
            for (int i = 0; i < record.Count; i++)
            {
                EffectCommand command = record[i];
                var request = new MemoryStream();
                foreach (ReadOnlySpan<byte> part in command) request.Write(part);
                Assert.Equal(command.Bytes, request.Length);
                bytes += command.Bytes;
                _effects.Add((command.Targets == EffectTargets.Replicas ? "(replicas) " : "") + Words(request.ToArray()));
            }

            Assert.Equal(record.Bytes, bytes);
            if (record.IsFramed) _effects.Add("EXEC");
        }
    }

    internal string[] TakeEvents() => Take(_events);

    internal string[] TakeEffects() => Take(_effects);

    /// <summary>The number of records since the last call.</summary>
    internal int TakeRecords()
    {
        lock (_recording)
        {
            int records = _records;
            _records = 0;
            return records;
        }
    }

    private string[] Take(List<string> list)
    {
        lock (_recording)
        {
            string[] taken = [.. list];
            list.Clear();
            return taken;
        }
    }

    // The arguments of a request in the protocol's form.
    private static string Words(byte[] request)
    {
        string[] lines = Encoding.Latin1.GetString(request).Split("\r\n");
        return string.Join(' ', lines.Where((line, index) => index % 2 == 0 && index > 0 && line.Length > 0));
    }
}
