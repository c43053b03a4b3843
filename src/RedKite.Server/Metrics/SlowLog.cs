using RedKite.Server.Model;

namespace RedKite.Server.Metrics;

/// <summary>A command that took long, as SLOWLOG GET tells it.</summary>
internal sealed record SlowLogEntry(long Id, long UnixSeconds, long Microseconds, byte[][] Arguments, string ClientAddress, string ClientName);

/// <summary>The slow commands, newest first. Shared by all executors under a lock: slow commands are rare.</summary>
internal sealed class SlowLog
{
    // Redis's own limits of what one entry shows.
    private const int ArgumentsMax = 32;
    private const int ArgumentBytesMax = 128;

    private readonly Lock _lock = new();
    private readonly LinkedList<SlowLogEntry> _entries = new();
    private long _nextId;

    /// <summary>What counts as slow.</summary>
    internal long ThresholdNs { get; set; } = long.MaxValue;

    internal long MaxLength { get; set; }

    internal int Length
    {
        get
        {
            lock (_lock) return _entries.Count;
        }
    }

    internal void Add(scoped in CommandContext cmd, long nowMs, long ns)
    {
        int shown = Math.Min(cmd.Count, ArgumentsMax);
        var arguments = new byte[shown][];
        for (int i = 0; i < shown; i++)
        {
            arguments[i] = i == shown - 1 && cmd.Count > ArgumentsMax
                ? Text($"... ({cmd.Count - shown + 1} more arguments)")
                : cmd.IsRedacted(i) ? Text("(redacted)") : Shortened(cmd[i]);
        }

        string address = cmd.Session.Connection?.RemoteAddress.ToString() ?? "";
        lock (_lock)
        {
            _entries.AddFirst(new SlowLogEntry(_nextId++, nowMs / 1000, ns / 1000, arguments, address, cmd.Session.Name));
            Trim();
        }
    }

    /// <summary>The newest entries; a negative count: all.</summary>
    internal SlowLogEntry[] Newest(long count)
    {
        lock (_lock)
        {
            return [.. count < 0 ? _entries : _entries.Take((int)Math.Min(count, _entries.Count))];
        }
    }

    internal void Clear()
    {
        lock (_lock) _entries.Clear();
    }

    private void Trim()
    {
        while (_entries.Count > MaxLength) _entries.RemoveLast();
    }

    private static byte[] Shortened(ReadOnlySpan<byte> argument) =>
        argument.Length <= ArgumentBytesMax
            ? argument.ToArray()
            : [.. argument[..ArgumentBytesMax], .. Text($"... ({argument.Length - ArgumentBytesMax} more bytes)")];

    private static byte[] Text(string text) => System.Text.Encoding.Latin1.GetBytes(text);
}
