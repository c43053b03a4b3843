using System.Buffers;
using System.Globalization;
using System.Text;
using RedKite.Net.Interop;
using RedKite.Server.Model;

namespace RedKite.Server.Sessions;

/// <summary>A command as watchers of all commands see it. Secrets are redacted, long arguments shortened.</summary>
internal sealed record MonitoredCommand(long UnixMicroseconds, int Database, string Address, string ClientName, string Name, byte[][] Arguments);

/// <summary>
/// Shows every command to the clients that called MONITOR, and to watchers in the process. Without either it costs nothing: the
/// server's attention flag is off, and commands take the short path.
/// </summary>
internal sealed class MonitorFeed(AttentionWord attention, ServerClock clock, BufferPool buffers)
{
    private readonly Lock _changing = new();
    private volatile Session[] _monitors = [];
    private volatile Action<MonitoredCommand>[] _watchers = [];

    /// <summary>Whether there are watchers.</summary>
    internal bool IsOn => _monitors.Length + _watchers.Length > 0;

    internal void Add(Session session)
    {
        lock (_changing)
        {
            if (!_monitors.Contains(session)) _monitors = [.. _monitors, session];
            SetAttention();
        }
    }

    internal void Remove(Session session)
    {
        lock (_changing)
        {
            if (!_monitors.Contains(session)) return;
            _monitors = [.. _monitors.Where(monitor => monitor != session)];
            SetAttention();
        }
    }

    /// <summary>Calls a watcher for every command, on the thread that executed it, until the result is disposed of. The watcher must be quick.</summary>
    internal IDisposable Watch(Action<MonitoredCommand> watcher)
    {
        lock (_changing)
        {
            _watchers = [.. _watchers, watcher];
            SetAttention();
        }

        return new Watching(this, watcher);
    }

    /// <summary>Shows a command that has executed.</summary>
    /// <param name="cmd">The command.</param>
    /// <param name="isOfScript">Whether a script has called it.</param>
    internal void Show(scoped in CommandContext cmd, bool isOfScript = false)
    {
        if (!cmd.Command.Is(CommandFlags.Admin | CommandFlags.SkipMonitor)) ShowAny(cmd, isOfScript);
    }

    /// <summary>Shows the call of a script that is about to run: what it calls follows it.</summary>
    internal void ShowScript(scoped in CommandContext cmd)
    {
        if (cmd.Command.Is(CommandFlags.SkipMonitor)) ShowAny(cmd, isOfScript: false);
    }

    private void ShowAny(scoped in CommandContext cmd, bool isOfScript)
    {
        string address = isOfScript ? "lua" : cmd.Session.Address;
        long microseconds = clock.NowMicroseconds;
        Session[] monitors = _monitors;
        if (monitors.Length > 0) Deliver(monitors, cmd, address, microseconds);
        Action<MonitoredCommand>[] watchers = _watchers;
        if (watchers.Length == 0) return;
        var shown = new MonitoredCommand(microseconds, cmd.Database.Index, address, cmd.Session.Name, cmd.Command.FullName, LoggedRequest.ArgumentsOf(cmd));
        foreach (Action<MonitoredCommand> watcher in watchers) watcher(shown);
    }

    private void Deliver(Session[] monitors, scoped in CommandContext cmd, string address, long microseconds)
    {
        var line = new ArrayBufferWriter<byte>();
        Encoding.Latin1.GetBytes(string.Create(CultureInfo.InvariantCulture, $"+{microseconds / 1_000_000}.{microseconds % 1_000_000:d6} [{cmd.Database.Index} {address}]"), line);
        for (int i = 0; i < cmd.Count; i++)
        {
            line.Write(" \""u8);
            if (cmd.Arguments.IsRedacted(i)) line.Write("(redacted)"u8);
            else Quote(cmd[i], line);
            line.Write("\""u8);
        }

        line.Write("\r\n"u8);
        Payload payload = Payload.Of(buffers, line.WrittenSpan);
        foreach (Session monitor in monitors)
        {
            if (!monitor.IsMonitor) Remove(monitor); // by RESET
            else if (monitor.ReplyMode == ReplyMode.On && !monitor.ClosesAfterReply) monitor.Deliver(payload);
        }

        payload.Buffer.Release();
    }

    private static void Quote(ReadOnlySpan<byte> argument, ArrayBufferWriter<byte> line)
    {
        foreach (byte character in argument)
        {
            switch (character)
            {
                case (byte)'"':
                case (byte)'\\':
                    line.Write([(byte)'\\', character]);
                    break;
                case (byte)'\n':
                    line.Write("\\n"u8);
                    break;
                case (byte)'\r':
                    line.Write("\\r"u8);
                    break;
                case (byte)'\t':
                    line.Write("\\t"u8);
                    break;
                case 7:
                    line.Write("\\a"u8);
                    break;
                case 8:
                    line.Write("\\b"u8);
                    break;
                case >= 32 and < 127:
                    line.Write([character]);
                    break;
                default:
                    Encoding.ASCII.GetBytes($"\\x{character:x2}", line);
                    break;
            }
        }
    }

    private void SetAttention() => attention.Set(ServerAttention.Monitored, IsOn);

    private sealed class Watching(MonitorFeed feed, Action<MonitoredCommand> watcher) : IDisposable
    {
        public void Dispose()
        {
            lock (feed._changing)
            {
                feed._watchers = [.. feed._watchers.Where(other => other != watcher)];
                feed.SetAttention();
            }
        }
    }
}
