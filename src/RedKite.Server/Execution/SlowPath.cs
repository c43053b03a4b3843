using System.Diagnostics;
using System.Text;
using RedKite.Protocol;
using RedKite.Server.Metrics;
using RedKite.Server.Model;
using RedKite.Store.Keyspace;

namespace RedKite.Server.Execution;

/// <summary>
/// Executes what the executor's short path does not: every check in Redis's order, subcommands, commands over several
/// keys or whole databases, those that are timed one by one, and clients in a special state.
/// </summary>
internal sealed class SlowPath(CommandExecutor executor)
{
    private const int ArgumentsShownBytesMax = 128;

    private readonly RedKiteServer _server = executor.Server;
    private readonly Keyspace _keyspace = executor.Server.Keyspace;

    private ReplyWriter Reply => executor.Reply;

    /// <summary>Executes one request.</summary>
    /// <param name="now">What the clock says at its start; on return, at its end.</param>
    /// <returns>False when it must wait: nothing was done.</returns>
    internal bool Execute(ref CommandContext cmd, ref CommandExecutor.Request request, ReadOnlySpan<ArgumentSlice> arguments, ref long now)
    {
        Session session = cmd.Session;
        ReplyMode replies = session.ReplyMode;
        if (replies == ReplyMode.SkipNext) session.ReplyMode = ReplyMode.SkipThis;
        int length = Reply.Length;
        Command? command = request.Command;
        cmd.Begin(command!, arguments, request.Hash);
        if (Resolve(ref cmd, ref command) && IsAllowed(cmd, command!))
        {
            if (_server.Pause.Holds(session, command!, executor.NowMs))
            {
                session.ReplyMode = replies;
                return false;
            }

            if (_server.Behaviors is { } behaviors)
            {
                behaviors.Execute(this, ref cmd, command!, arguments, request.Hash, now);
                now = Stopwatch.GetTimestamp();
            }
            else
            {
                now = ExecuteLocked(ref cmd, command!, arguments, request.Hash, now);
            }
        }

        if (replies != ReplyMode.On)
        {
            if (session.Waiter is { } waiter) waiter.DropsReply = true;
            DropReply(session, length);
        }

        return true;
    }

    /// <summary>Locks the stripes of the command's keys, executes its handler, unlocks, and counts.</summary>
    /// <returns>What the clock says at the end.</returns>
    internal long ExecuteLocked(ref CommandContext cmd, Command command, ReadOnlySpan<ArgumentSlice> arguments, ulong firstKeyHash, long start)
    {
        if (command.Parent is not null && command.FirstKey > 0) firstKeyHash = _keyspace.Hash(cmd[command.FirstKey]);
        cmd.Begin(command, arguments, firstKeyHash);
        cmd.Session.LastCommand = command; // before it executes: CLIENT LIST shows itself
        long errors = Reply.Errors;
        StripeSet stripes = StripesOf(cmd, command, requestBytes: arguments[^1].Start + arguments[^1].Length - arguments[0].Start);
        LockScope locked = _keyspace.Lock(stripes);
        try
        {
            executor.HeldStripes = stripes;
            command.Handler(ref cmd);
            executor.KeyHashes.Forget();
            if (_server.Waiting.Count > 0) executor.Waiters.Serve(ref locked);
        }
        catch (Exception failure) when (_keyspace.FailStop.Ends(failure, locked.Held, command.FullName))
        {
            throw;
        }
        finally
        {
            executor.HeldStripes = StripeSet.Empty;
            locked.Dispose();
        }

        executor.Waiters.Deliver();
        if (cmd.Session.Waiter is { } waiter) RedKiteServer.WaitBegan(waiter);
        executor.NoteTouchMode(cmd.Session);

        long end = Stopwatch.GetTimestamp();
        long ns = RedKiteServer.TicksToNs(end - start);
        CommandMetrics metrics = executor.Metrics.Of(command.Index);
        metrics.Calls++;
        metrics.TotalNs += ns;
        executor.Metrics.CommandsProcessed++;
        if (_server.TracksLatency) metrics.Latency.Record(ns, 1);
        if (Reply.Errors != errors) NoteError(command);
        if (ns >= _server.SlowLog.ThresholdNs) NoteSlow(cmd, ns);
        if (ns >= _server.LatencyMonitor.ThresholdNs) _server.LatencyMonitor.AddCommand(command, executor.NowMs, ns);
        return end;
    }

    /// <summary>Counts the error that was just replied, by its class, and for its command if it got as far as that.</summary>
    internal void NoteError(Command? failed)
    {
        executor.Metrics.CountError(Reply.LastErrorCode);
        if (failed is not null) executor.Metrics.Of(failed.Index).Failed++;
    }

    /// <summary>Keeps a slow command for SLOWLOG.</summary>
    internal void NoteSlow(scoped in CommandContext cmd, long ns)
    {
        if (!cmd.Command.Is(CommandFlags.SkipSlowLog)) _server.SlowLog.Add(cmd, executor.NowMs, ns);
    }

    /// <summary>Counts an error that was replied instead of executing the command.</summary>
    internal void NoteRejected(Command? command)
    {
        NoteError(null);
        if (command is not null) executor.Metrics.Of(command.Index).Rejected++;
    }

    // Finds the subcommand and checks the number of arguments, or replies what is wrong.
    private bool Resolve(ref CommandContext cmd, ref Command? command)
    {
        if (command is null)
        {
            if (CutsCrossProtocolAttack(cmd)) return false;
            Reject(null, UnknownCommand(cmd));
            return false;
        }

        if (command.Subcommands.Length > 0 && cmd.Count > 1)
        {
            Command? subcommand = CommandTable.FindSubcommand(command, cmd[1]);
            if (subcommand is null)
            {
                string name = Shown(cmd[1]);
                Reject(null, $"ERR unknown subcommand '{name}'. Try {command.Name.ToUpperInvariant()} HELP.");
                return false;
            }

            command = subcommand;
        }

        if (!command.Accepts(cmd.Count))
        {
            Reject(command, $"ERR wrong number of arguments for '{command.FullName}' command");
            return false;
        }

        return true;
    }

    private bool IsAllowed(scoped in CommandContext cmd, Command command)
    {
        if (command.Is(CommandFlags.Protected) && !_server.AllowsProtected(command, cmd.Session))
        {
            string name = (command.Parent ?? command).Name;
            Reject(command, $"ERR {name.ToUpperInvariant()} command not allowed. If the enable-{name}-command option is set to \"local\", you can run it from a local connection, otherwise you need to set this option in the configuration file, and then restart the server.");
            return false;
        }

        if (_server.RequiresLogin(cmd.Session) && !command.Is(CommandFlags.NoAuth))
        {
            Reject(command, "NOAUTH Authentication required.");
            return false;
        }

        return true;
    }

    private StripeSet StripesOf(scoped in CommandContext cmd, Command command, int requestBytes)
    {
        if (command.Is(CommandFlags.AllStripes) || command.NeedsAllStripes?.Invoke(cmd) == true) return _keyspace.AllStripes;
        StripeSet stripes = StripeSet.Empty;
        int count = 0;
        var keys = new KeyExtraction(command);
        while (keys.MoveNext(cmd))
        {
            count++;
            ulong hash = cmd.HashOf(keys.Argument);
            executor.KeyHashes.Keep(cmd.Database, keys.Argument, hash);
            stripes = stripes.With(_keyspace.StripeOf(hash));
        }

        if (count > 0) executor.KeyHashes.PrefetchEntries(mayAdd: command.Is(CommandFlags.Write), executor.EntryBytes(requestBytes, count));
        return stripes;
    }

    private void DropReply(Session session, int length)
    {
        // A command that turns replies on is answered.
        if (session.ReplyMode == ReplyMode.On) return;
        if (length < Reply.Length) Reply.Truncate(length);
        if (session.ReplyMode == ReplyMode.SkipThis) session.ReplyMode = ReplyMode.On;
    }

    private void Reject(Command? command, string error)
    {
        Reply.Error(error);
        NoteRejected(command);
    }

    // A web page can make a browser send HTTP here; its first words end the connection before its body is executed.
    private bool CutsCrossProtocolAttack(scoped in CommandContext cmd)
    {
        if (!cmd.Is(0, "POST"u8) && !cmd.Is(0, "HOST:"u8)) return false;
        _server.Log.Warning("Possible SECURITY ATTACK detected: a client sends HTTP (POST or Host:). This is probably somebody using cross-protocol scripting. Connection closed.");
        cmd.Session.CloseAfterReply();
        if (cmd.Session.ClosesAfterReply) Reply.Truncate(0); // whoever is behind it learns nothing
        return true;
    }

    private static string UnknownCommand(scoped in CommandContext cmd)
    {
        var text = new StringBuilder("ERR unknown command '").Append(Shown(cmd[0])).Append("', with args beginning with: ");
        int shown = 0;
        for (int i = 1; i < cmd.Count && shown < ArgumentsShownBytesMax; i++)
        {
            ReadOnlySpan<byte> argument = cmd[i];
            string part = Printable(argument, ArgumentsShownBytesMax - shown);
            text.Append('\'').Append(part).Append("' ");
            shown += part.Length + 3;
        }

        return text.ToString();
    }

    private static string Shown(ReadOnlySpan<byte> name) => Printable(name, ArgumentsShownBytesMax);

    // A NUL ends the text, as for a C string.
    private static string Printable(ReadOnlySpan<byte> text, int bytesMax)
    {
        int end = text.IndexOf((byte)0);
        if (end < 0) end = text.Length;
        return Encoding.Latin1.GetString(text[..Math.Min(end, bytesMax)]);
    }
}
