using System.Diagnostics;
using RedKite.Protocol;
using RedKite.Server.Changes;
using RedKite.Server.Metrics;
using RedKite.Server.Model;
using RedKite.Store.Keyspace;
using RedKite.Store.Memory;

namespace RedKite.Server.Execution;

/// <summary>
/// Executes commands inside the one that is executing, under its locks: those that EXEC has queued, and those that a script
/// calls. Each is counted and timed by itself, and its changes are published at once: to notifications, tracking and watches. The effects of
/// all of them are one record, which is published at the unit's end.
/// </summary>
internal sealed class NestedExecutor(ExecutorCore core, CommandRunner runner, InvocationPublisher publisher, UnitEffects effects, CommandStripes stripes, Admission admission, CommandAccount account) : INestedExecutor
{
    private readonly Engine _engine = core.Engine;
    private readonly CommandEnvironment _environment = core.Environment;
    private readonly InvocationRecording _recording = core.Environment.Recording;
    private readonly ScriptedTimes _scriptedTimes = new();
    private bool _holdsAll;

    /// <summary>Errors that nested commands replied into the executor's own reply: they are not the surrounding command's.</summary>
    internal long Errors { get; private set; }

    public EffectTargets EffectTargets
    {
        get => effects.Targets;
        set => effects.Targets = value;
    }

    public IAdmission Admission => admission;

    public string? BusyReply => _engine.Script.BusyReply;

    public void PublishRecorded(Session? writer = null) => publisher.PublishRecorded(writer);

    public void BeginUnit()
    {
        // What the surrounding command has recorded so far, such as an expired key, precedes the unit's commands.
        bool isOutermost = effects.Begin();
        if (_recording.IsOn) publisher.PublishRecorded();
        if (!isOutermost) return;
        _environment.IsInUnit = true;
        _environment.UnitWork.Begin();
        _holdsAll = _environment.HeldStripes.Equals(_engine.Keyspace.AllStripes);
        if (_holdsAll) _engine.Keyspace.NoteAllLocked(true);
    }

    public void EndUnit()
    {
        if (effects.End())
        {
            _environment.IsInUnit = false;
            if (_holdsAll) _engine.Keyspace.NoteAllLocked(false);
            effects.PublishUnit();
        }

        if (!_recording.IsOn) return;
        _recording.Clear(); // the surrounding command itself changes nothing
        _recording.Effects.ReplaceRequest();
    }

    public void RunQueued(Session session, scoped in QueuedCommand request, ReplyWriter reply)
    {
        var cmd = new CommandContext(_environment, session, request.Input, reply, session.DatabaseIndex);
        cmd.Begin(request.Command, request.Arguments, request.FirstKeyHash);
        long errors = reply.Errors;
        if (admission.AdmitsQueuedOrReply(cmd))
        {
            _environment.KeyHashes.Forget(); // those of the surrounding command, by its own arguments
            effects.KeptRequest = new NativeSpan(request.Input);
            RunNested(ref cmd);
        }

        Errors += reply.Errors - errors;
    }

    public void Call(Session session, Command command, Span<byte> input, ReadOnlySpan<ArgumentSlice> arguments, ReplyWriter reply)
    {
        CommandContext cmd = ContextOf(session, command, input, arguments, reply);
        _environment.IsInScript = true;
        if (admission.IsPermittedOrReply(cmd))
        {
            ClaimStripes(cmd);
            if (admission.RefusalOfScripted(cmd) is { } refusal)
            {
                account.Reject(command, reply, refusal);
            }
            else
            {
                effects.KeptRequest = default; // a script reuses the memory of its arguments
                _environment.IsScriptBusy = _engine.Script.Current is { IsBusy: true };
                RunNested(ref cmd);
            }
        }

        _environment.IsInScript = false;
        _environment.IsScriptBusy = false;
    }

    public bool TryCall(Session session, Command command, Span<byte> input, ReadOnlySpan<ArgumentSlice> arguments, ReplyWriter reply, List<ulong> keys)
    {
        CommandContext cmd = ContextOf(session, command, input, arguments, reply);
        var extraction = new KeyExtraction(command);
        while (extraction.MoveNext(cmd))
        {
            if (!keys.Contains(_engine.Keyspace.Hash(cmd[extraction.Argument]))) return false;
        }

        try
        {
            if (!admission.IsPermittedOrReply(cmd)) return true;
            if (!_environment.HeldStripes.Contains(stripes.OfNested(cmd))) return false;
            _environment.KeyHashes.Forget();
            effects.KeptRequest = default; // its memory is reused
            RunNested(ref cmd);
            return true;
        }
        catch (Exception failure) when (_engine.Keyspace.FailStop.Ends(failure, _environment.HeldStripes, command.FullName))
        {
            throw;
        }
    }

    public int Replay(Session session, Span<byte> requests, ReplyWriter reply)
    {
        var parser = new RequestParser();
        ExpiryPolicy expiry = _environment.Time.CallersExpiry;
        _environment.Time.CallersExpiry = ExpiryPolicy.Keep;
        effects.Discards = true;
        BeginUnit();
        int position = 0;
        while (position < requests.Length)
        {
            parser.Clear();
            if (parser.Parse(requests, ref position, RequestLimits.OfLog, ref session.Partial, out int first, out int count) != ParseStatus.Complete) break;
            ReadOnlySpan<ArgumentSlice> arguments = parser.Arguments(first, count);
            Command? command = count == 0 ? null : FindCommand(requests, arguments);
            if (command?.Accepts(count) != true || command.Is(CommandFlags.NotQueued)) continue;
            CommandContext cmd = ContextOf(session, command, requests, arguments, reply);
            _environment.KeyHashes.Forget();
            runner.Run(ref cmd, _environment.HeldStripes);
            if (_recording.IsOn) _recording.Clear();
        }

        EndUnit();
        effects.Discards = false;
        _environment.Time.CallersExpiry = expiry;
        return position;
    }

    private Command? FindCommand(ReadOnlySpan<byte> input, ReadOnlySpan<ArgumentSlice> arguments)
    {
        Command? command = _engine.Commands.Find(input.Slice(arguments[0].Start, arguments[0].Length));
        if (command is not { Subcommands.Length: > 0 } || arguments.Length == 1) return command;
        return CommandTable.FindSubcommand(command, input.Slice(arguments[1].Start, arguments[1].Length));
    }

    public void NoteRejected(Command? command, ReplyWriter reply) => account.NoteRejected(command, reply);

    public bool MayExecute(Session session, Command command, Span<byte> input, ReadOnlySpan<ArgumentSlice> arguments) =>
        !session.User.Check(ContextOf(session, command, input, arguments, core.Reply)).IsDenied;

    private CommandContext ContextOf(Session session, Command command, Span<byte> input, ReadOnlySpan<ArgumentSlice> arguments, ReplyWriter reply)
    {
        int key = command.FirstKey;
        ulong hash = key > 0 && key < arguments.Length ? _engine.Keyspace.Hash(input.Slice(arguments[key].Start, arguments[key].Length)) : 0;
        var cmd = new CommandContext(_environment, session, input, reply, session.DatabaseIndex);
        cmd.Begin(command, arguments, hash);
        return cmd;
    }

    // Locks the stripes of a command that a script calls, as far as they are not locked yet. Others give way.
    private void ClaimStripes(scoped in CommandContext cmd)
    {
        StripeSet needed = stripes.OfNested(cmd);
        if (!_environment.HeldStripes.Contains(needed)) _environment.HeldStripes = _engine.Keyspace.Scripts.Claim(_environment.HeldStripes, needed);
    }

    public void Stop(Exception failure) => _engine.Keyspace.FailStop.End(failure, _environment.HeldStripes, "a script");

    // Under the locks of the surrounding command.
    private void RunNested(ref CommandContext cmd)
    {
        ReplyWriter reply = cmd.Reply;
        bool isOfScript = !ReferenceEquals(reply, core.Reply); // which gets every reply, whatever its client wants
        CommandMetrics? estimated = isOfScript && cmd.Command.IsShort ? _environment.Metrics.Of(cmd.Command.Index) : null;
        long estimate = estimated is null ? 0 : _scriptedTimes.Estimate(estimated, Math.Min(_engine.SlowLog.Threshold, _engine.LatencyMonitor.ThresholdNs));
        long start = estimate > 0 ? 0 : Stopwatch.GetTimestamp();
        ReplyMode replies = isOfScript ? ReplyMode.On : cmd.Session.ReplyMode;
        long errors = reply.Errors;
        long replied = reply.Length;
        _recording.Changes.IsOfScript = isOfScript;
        runner.Run(ref cmd, _environment.HeldStripes);
        _recording.Changes.IsOfScript = false;
        if (_recording.IsOn) _recording.Clear(); // it is published
        if (_engine.Monitors.IsOn) _engine.Monitors.Show(cmd, isOfScript);
        _environment.Accesses.BeginClient(cmd.Session);
        long end = estimate > 0 ? 0 : Stopwatch.GetTimestamp();
        long ticks = estimate > 0 ? estimate : end - start;
        estimated?.NoteScripted(ticks);
        account.Count(cmd, ticks, end, isOfScript ? 0 : cmd.Arguments.FramedBytes, reply.Length - replied, failed: reply.Errors != errors);

        // CLIENT REPLY SKIP in a transaction skips the reply of the command after EXEC.
        if (replies is ReplyMode.Off or ReplyMode.SkipThis && cmd.Session.ReplyMode == replies) reply.Truncate(replied);
    }
}
