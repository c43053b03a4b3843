using System.Diagnostics;
using RedKite.Protocol;
using RedKite.Server.Config;
using RedKite.Server.Diagnostics.Export;
using RedKite.Server.Metrics;
using RedKite.Server.Model;
using RedKite.Store.Keyspace;

namespace RedKite.Server.Execution;

/// <summary>
/// Counts what one executor executes and refuses, and adds slow and large commands to the logs. The commands of the
/// batch's short path are counted by runs (<see cref="RunMeter"/>).
/// </summary>
internal sealed class CommandAccount(ExecutorCore core, WaitMeter waits)
{
    // Of MULTI, which counts with EXEC: no slot was known before.
    private const int MultiBytes = 15;

    private readonly CommandEnvironment _environment = core.Environment;
    private readonly Engine _engine = core.Engine;
    private int _slot = KeySlot.None; // in a node of a cluster, of the last request that was admitted

    private bool TracksHotKeys => (_engine.Attention.Flags & ServerAttention.TracksHotKeys) != 0;

    /// <summary>Counts a command that was executed, and adds it to the logs. One that waits is counted when its wait ends, as in Redis.</summary>
    internal void Count(scoped in CommandContext cmd, long ticks, long end, long requestBytes, long replyBytes, bool failed, BlockedClient? waiting = null)
    {
        long ns = ServerClock.TicksToNs(ticks);
        long lockedNs = _engine.LockWaitNs(end - ticks, ns);
        ns -= lockedNs;
        CommandMetrics metrics = _environment.Metrics.Of(cmd.Command.Index);
        if (failed) NoteError(cmd.Command, cmd.Reply);
        if (waiting is not null)
        {
            waiting.UncountedNs = ns;
        }
        else
        {
            metrics.CountCalls(ns);
            _environment.Metrics.CountCommands(1);
            cmd.Session.Counts.CommandsProcessed++;
            if (cmd.Command.Is(CommandFlags.Write)) cmd.Session.Counts.BytesWritten += cmd.Arguments.Bytes;
            NoteTime(cmd, ns, lockedNs, end, isOfScript: requestBytes == 0);
            if (requestBytes > 0 && (_engine.Attention.Flags & (ServerAttention.TracksHotKeys | ServerAttention.Clustered)) != 0) CountByKeys(cmd, ns, requestBytes, replyBytes); // commands of a script count with it
        }

        if (requestBytes >= _engine.LargeRequests.Threshold) NoteLarge(_engine.LargeRequests, cmd, requestBytes);
        if (replyBytes >= _engine.LargeReplies.Threshold) NoteLarge(_engine.LargeReplies, cmd, replyBytes);
    }

    /// <summary>Notes the slot of the request that may execute next; <see cref="KeySlot.None"/>: it has no keys.</summary>
    internal void BeginIn(int slot) => _slot = slot;

    /// <summary>Counts a request that has become a part of a transaction: its bytes count for the slot at once, as in Redis.</summary>
    internal void CountQueued(scoped in CommandContext cmd, long requestBytes)
    {
        if (_slot != KeySlot.None) CountInSlot(_slot, cmd, ns: 0, requestBytes, replyBytes: 0);
    }

    private void CountByKeys(scoped in CommandContext cmd, long ns, long requestBytes, long replyBytes)
    {
        if (TracksHotKeys) _engine.HotKeys.Add(cmd, ns, requestBytes + replyBytes);
        if (_slot != KeySlot.None && !_environment.IsInUnit) CountInSlot(_slot, cmd, ns, requestBytes + (cmd.Command.RunsQueued ? MultiBytes : 0), replyBytes);
    }

    // Replies that the client does not want are not sent.
    private void CountInSlot(int slot, scoped in CommandContext cmd, long ns, long requestBytes, long replyBytes)
    {
        SlotStatistics kept = _engine.Settings.SlotStatistics & SlotStatistics.Counted;
        if (kept != SlotStatistics.None) _environment.Metrics.CountedSlots.Add(kept, slot, ns, requestBytes, cmd.Session.ReplyMode == ReplyMode.On ? replyBytes : 0);
    }

    /// <summary>Counts a command whose wait has ended.</summary>
    /// <param name="client">Its client.</param>
    /// <param name="replyBytes">The bytes of the reply; 0: its time is over, and as in Redis it has taken no bytes of its slot.</param>
    internal void CountWaited(BlockedClient client, long replyBytes = 0)
    {
        client.IsCallCounted = true;
        CommandMetrics metrics = _environment.Metrics.Of(client.Request.Command.Index);
        metrics.CountCalls(client.UncountedNs);
        _environment.Metrics.CountCommands(1);
        client.Session.Counts.CommandsProcessed++;
        if (client.EndedByError is { } errorClass)
        {
            metrics.CountFailed(errorClass);
            _environment.Metrics.CountError(errorClass);
        }

        if (_engine.Routing.Value is not null) CountWaitedInSlot(client, replyBytes);
        if (client.Block.Work is null) NoteWaited(client, Stopwatch.GetTimestamp());
    }

    private void CountWaitedInSlot(BlockedClient client, long replyBytes)
    {
        SavedRequest request = client.Request;
        int key = request.Command.FirstKey > 0 ? request.Command.FirstKey : request.Command.EarlyKey;
        if (key <= 0) return;
        var cmd = new CommandContext(_environment, client.Session, request.Input, core.Reply, request.DatabaseIndex);
        cmd.Begin(request.Command, request.Arguments, request.FirstKeyHash);
        CountInSlot(KeySlot.Of(cmd[key]), cmd, client.UncountedNs, replyBytes > 0 ? SavedBytes(cmd) : 0, replyBytes);
    }

    // The length of a saved request, whose arguments alone are kept, as its client has sent it.
    private static long SavedBytes(scoped in CommandContext cmd)
    {
        long bytes = "*\r\n"u8.Length + RespNumber.TextLength(cmd.Count);
        for (int i = 0; i < cmd.Count; i++) bytes += "$\r\n\r\n"u8.Length + RespNumber.TextLength(cmd[i].Length) + cmd[i].Length;
        return bytes;
    }

    /// <summary>
    /// Logs the time of a command that has waited. The slow log has that of all slices; what counts as latency is the longest, because others executed
    /// between them.
    /// </summary>
    /// <param name="client">The client, whose command has ended.</param>
    /// <param name="end">The timestamp at its end.</param>
    internal void NoteWaited(BlockedClient client, long end)
    {
        SavedRequest request = client.Request;
        var cmd = new CommandContext(_environment, client.Session, request.Input, core.Reply, request.DatabaseIndex);
        cmd.Begin(request.Command, request.Arguments, request.FirstKeyHash);
        cmd.Arguments.Redacted = request.Redacted;
        long ns = ServerClock.TicksToNs(client.ExecutedTicks);
        if (ns >= _engine.SlowLog.Threshold) NoteSlow(cmd, ns, end, hasWaited: true);
        NoteTime(cmd, ServerClock.TicksToNs(client.LongestTicks), lockedNs: 0, end, isLogged: true);
        if (TracksHotKeys) _engine.HotKeys.Add(cmd, ns, SavedBytes(cmd));
    }

    private void NoteTime(scoped in CommandContext cmd, long ns, long lockedNs, long end, bool isLogged = false, bool isOfScript = false)
    {
        if (_engine.Settings.LatencyTracking) _environment.Metrics.Of(cmd.Command.Index).Latency.Record(ns, 1);
        if (ns + lockedNs >= _engine.LongNs) NoteLong(cmd, ns, lockedNs, end, isLogged, isOfScript);
    }

    /// <summary>Notes a command that took long, wherever its time is of interest.</summary>
    /// <param name="cmd">The command.</param>
    /// <param name="ns">How long it executed.</param>
    /// <param name="lockedNs">How long it waited for locks meanwhile: another command is behind that, so it is no slow one for that reason.</param>
    /// <param name="end">The timestamp at its end.</param>
    /// <param name="isLogged">Whether the slow log has it already.</param>
    /// <param name="isOfScript">Whether a script has called it, whose time includes it.</param>
    internal void NoteLong(scoped in CommandContext cmd, long ns, long lockedNs, long end, bool isLogged = false, bool isOfScript = false)
    {
        if (!isLogged && ns >= _engine.SlowLog.Threshold) NoteSlow(cmd, ns, end, hasWaited: false);
        if (ns >= Timeline.NoticeableNs && !cmd.Command.Is(CommandFlags.SkipSlowLog))
        {
            _engine.Note(TimelineKind.SlowCommand, cmd.Session, ns, cmd.Command.FullName);
            int subject = cmd.Command.FirstKey > 0 ? cmd.Command.FirstKey : 1;
            if (!isOfScript) _engine.LongCalls.Note(cmd.Command.FullName, subject < cmd.Count ? cmd[subject] : default, LoggedRequest.ArgumentsOf(cmd), cmd.Session.Id, ns);
        }

        if (lockedNs >= Timeline.NoticeableNs) _engine.Note(TimelineKind.LockWait, cmd.Session, lockedNs, cmd.Command.FullName);
        LatencyMonitor monitor = _engine.LatencyMonitor;
        if (ns >= monitor.ThresholdNs) monitor.AddCommand(cmd.Command.Is(CommandFlags.Fast), _environment.Time.NowMs, ns);
        if (lockedNs >= monitor.ThresholdNs) monitor.Add(LatencyMonitor.LockWait, _environment.Time.NowMs, lockedNs);
    }

    /// <summary>Counts the last error reply by its class, and for its command if one was resolved.</summary>
    internal void NoteError(Command? failed, ReplyWriter reply)
    {
        if (!reply.LastErrorWasCounted) _environment.Metrics.CountError(reply.LastErrorCode);
        if (failed is not null) _environment.Metrics.Of(failed.Index).CountFailed(reply.LastErrorCode);
    }

    /// <summary>Keeps a slow command for SLOWLOG.</summary>
    /// <param name="cmd">The command.</param>
    /// <param name="ns">How long it executed.</param>
    /// <param name="end">The timestamp at its end.</param>
    /// <param name="hasWaited">Whether its execution began in an earlier iteration: then neither its waiting time nor the time to send
    /// its reply is known.</param>
    private void NoteSlow(scoped in CommandContext cmd, long ns, long end, bool hasWaited)
    {
        if (cmd.Command.Is(CommandFlags.SkipSlowLog)) return;
        string address = cmd.Session.Connection?.RemoteAddress.ToString() ?? "";
        RequestLogEntry entry = _engine.SlowLog.Add(LoggedRequest.ArgumentsOf(cmd), cmd.Count, address, cmd.Session.Name, _environment.Time.NowMs, ns / 1000);
        if (!hasWaited)
        {
            entry.EndedTicks = end;
            entry.WaitingMicroseconds = Math.Max(0, (waits.WaitedNs(end) - ns) / 1000);
            waits.NoteUnsent(entry);
        }

        if (!ServerEvents.HearsSlowCommands) return;
        var slow = new SlowCommandEvent(cmd.Command.FullName, ns / 1000, cmd.Session.Id, address);
        ServerEvents.SlowCommand(slow, DateTime.UnixEpoch.AddMicroseconds(_engine.Clock.NowMicroseconds));
    }

    /// <summary>Keeps a command whose request or reply was large for COMMANDLOG.</summary>
    internal void NoteLarge(RequestLog log, scoped in CommandContext cmd, long bytes)
    {
        if (cmd.Command.Is(CommandFlags.SkipSlowLog)) return;
        string address = cmd.Session.Connection?.RemoteAddress.ToString() ?? "";
        log.Add(LoggedRequest.ArgumentsOf(cmd), cmd.Count, address, cmd.Session.Name, _environment.Time.NowMs, bytes);
    }

    /// <summary>Replies an error instead of executing a command, and counts it.</summary>
    internal void Reject(Command? command, ReplyWriter reply, string error)
    {
        if (command?.RunsQueued == true) error = "EXECABORT Transaction discarded because of: " + (error.StartsWith("ERR ", StringComparison.Ordinal) ? error[4..] : error);
        reply.Error(error);
        NoteRejected(command, reply);
    }

    /// <summary>Counts an error that was replied instead of executing the command.</summary>
    internal void NoteRejected(Command? command) => NoteRejected(command, core.Reply);

    /// <inheritdoc cref="NoteRejected(Command?)"/>
    internal void NoteRejected(Command? command, ReplyWriter reply)
    {
        NoteError(null, reply);
        if (command is not null) _environment.Metrics.Of(command.Index).CountRejected(reply.LastErrorCode);
    }
}
