using RedKite.Protocol;
using RedKite.Server.Changes;
using RedKite.Server.Model;
using RedKite.Store.Keyspace;
using RedKite.Store.Memory;

namespace RedKite.Server.Execution;

/// <summary>
/// Executes commands inside the one that is executing, under its locks: those that EXEC has queued, and those that a script
/// calls. Each is counted and timed by itself, and its changes are published at once: to notifications, tracking and watches. The effects of
/// all of them are one record, which is published at the unit's end.
/// </summary>
internal sealed class NestedExecutor : INestedExecutor
{
    private readonly Invoker _invoker;
    private readonly Admission _admission;
    private readonly Engine _engine;
    private readonly CommandEnvironment _environment;
    private readonly InvocationRecording _recording;
    private readonly EffectWriter _effects = new(); // of the unit
    private int _depth;
    private bool _holdsAll;
    private bool _hasUnit;
    private bool _discardsEffects;
    private NativeSpan _keptRequest; // the input of the nested command, if it stays as it is until the unit's end

    internal NestedExecutor(Invoker invoker, Admission admission, Engine engine, CommandEnvironment environment)
    {
        _invoker = invoker;
        _admission = admission;
        _engine = engine;
        _environment = environment;
        _recording = environment.Recording;
    }

    /// <summary>Errors that nested commands replied into the executor's own reply: they are not the surrounding command's.</summary>
    internal long Errors { get; private set; }

    public EffectTargets EffectTargets { get; set; } = EffectTargets.All;

    public IAdmission Admission => _admission;

    public string? BusyReply => _engine.Script.BusyReply;

    public void PublishRecorded() => _invoker.PublishRecorded();

    public void BeginUnit()
    {
        // What the surrounding command has recorded so far, such as an expired key, precedes the unit's commands.
        bool isOutermost = _depth++ == 0;
        if (_recording.IsOn) _invoker.PublishRecorded();
        if (!isOutermost) return;
        _environment.IsInUnit = true;
        _environment.UnitWork.Begin();
        _holdsAll = _environment.HeldStripes.Equals(_engine.Keyspace.AllStripes);
        if (_holdsAll) _engine.Keyspace.NoteAllLocked(true);
    }

    public void EndUnit()
    {
        EffectTargets = EffectTargets.All; // a script's choice ends with it
        if (--_depth == 0)
        {
            _environment.IsInUnit = false;
            if (_holdsAll) _engine.Keyspace.NoteAllLocked(false);
            if (_effects.Count > 0) PublishUnit();
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
        if (_admission.AdmitsQueuedOrReply(cmd))
        {
            _environment.KeyHashes.Forget(); // those of the surrounding command, by its own arguments
            _keptRequest = new NativeSpan(request.Input);
            _invoker.RunNested(ref cmd);
        }

        Errors += reply.Errors - errors;
    }

    public void Call(Session session, Command command, Span<byte> input, ReadOnlySpan<ArgumentSlice> arguments, ReplyWriter reply)
    {
        CommandContext cmd = ContextOf(session, command, input, arguments, reply);
        _environment.IsInScript = true;
        if (_admission.IsPermittedOrReply(cmd))
        {
            ClaimStripes(cmd);
            _keptRequest = default; // a script reuses the memory of its arguments
            _environment.IsScriptBusy = _engine.Script.Current is { IsBusy: true };
            _invoker.RunNested(ref cmd);
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
            if (!_admission.IsPermittedOrReply(cmd)) return true;
            if (!_environment.HeldStripes.Contains(_invoker.StripesOfNested(cmd))) return false;
            _environment.KeyHashes.Forget();
            _keptRequest = default; // its memory is reused
            _invoker.RunNested(ref cmd);
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
        _discardsEffects = true;
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
            _invoker.Run(ref cmd, _environment.HeldStripes);
            if (_recording.IsOn) _recording.Clear();
        }

        EndUnit();
        _discardsEffects = false;
        _environment.Time.CallersExpiry = expiry;
        return position;
    }

    private Command? FindCommand(ReadOnlySpan<byte> input, ReadOnlySpan<ArgumentSlice> arguments)
    {
        Command? command = _engine.Commands.Find(input.Slice(arguments[0].Start, arguments[0].Length));
        if (command is not { Subcommands.Length: > 0 } || arguments.Length == 1) return command;
        return CommandTable.FindSubcommand(command, input.Slice(arguments[1].Start, arguments[1].Length));
    }

    public void NoteRejected(Command? command, ReplyWriter reply) => _invoker.Account.NoteRejected(command, reply);

    public bool MayExecute(Session session, Command command, Span<byte> input, ReadOnlySpan<ArgumentSlice> arguments) =>
        !session.User.Check(ContextOf(session, command, input, arguments, _invoker.Reply)).IsDenied;

    private CommandContext ContextOf(Session session, Command command, Span<byte> input, ReadOnlySpan<ArgumentSlice> arguments, ReplyWriter reply)
    {
        int key = command.FirstKey;
        ulong hash = key > 0 && key < arguments.Length ? _engine.Keyspace.Hash(input.Slice(arguments[key].Start, arguments[key].Length)) : 0;
        var cmd = new CommandContext(_environment, session, input, reply, session.DatabaseIndex);
        cmd.Begin(command, arguments, hash);
        return cmd;
    }

    public void ClaimStripes(scoped in CommandContext cmd)
    {
        StripeSet needed = _invoker.StripesOfNested(cmd);
        if (!_environment.HeldStripes.Contains(needed)) _environment.HeldStripes = _engine.Keyspace.Scripts.Claim(_environment.HeldStripes, needed);
    }

    public void Stop(Exception failure) => _engine.Keyspace.FailStop.End(failure, _environment.HeldStripes, "a script");

    /// <summary>Whether what a command does is published when it ends: it is not part of a unit.</summary>
    internal bool PublishesAtOnce => _depth == 0 && !_discardsEffects;

    /// <summary>Publishes the effects that a command has recorded or, inside a unit, collects them until its end. Its stripes are locked.</summary>
    /// <param name="request">The input of the command's request.</param>
    /// <returns>Whether there are any: then they are where WAIT looks.</returns>
    internal bool PublishEffects(scoped ReadOnlySpan<byte> request)
    {
        EffectWriter expiries = _recording.Expiries;
        EffectWriter effects = _recording.Effects;
        if (expiries.Count + effects.Count == 0 || _discardsEffects) return false;
        if (_depth == 0)
        {
            _engine.Changes.Publish(new EffectRecord(expiries, effects, request));
            return true;
        }

        if (_effects.Count == 0) _effects.Reset(recording: true);
        _effects.Append(expiries, request, _keptRequest);
        _effects.Append(effects, request, _keptRequest, EffectTargets);
        return true;
    }

    /// <summary>Whether a unit has been published since the last call.</summary>
    internal bool TakeUnit()
    {
        bool hasUnit = _hasUnit;
        _hasUnit = false;
        return hasUnit;
    }

    private void PublishUnit()
    {
        _engine.Changes.Publish(new EffectRecord(_effects, null, request: []));
        _effects.Reset(recording: false);
        _hasUnit = true;
    }
}
