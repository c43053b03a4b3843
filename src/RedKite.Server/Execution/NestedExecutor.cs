using RedKite.Protocol;
using RedKite.Server.Acl;
using RedKite.Server.Changes;
using RedKite.Server.Model;
using RedKite.Store.Keyspace;

namespace RedKite.Server.Execution;

/// <summary>
/// Executes commands inside the one that is executing, under its locks: those that EXEC has queued, and those that a script
/// calls. Each is published, counted and timed by itself; consumers of effects see them framed by MULTI and EXEC.
/// </summary>
internal sealed class NestedExecutor : INestedExecutor
{
    private static readonly ChangeList NoChanges = new();

    private readonly Invoker _invoker;
    private readonly Engine _engine;
    private readonly CommandEnvironment _environment;
    private readonly EffectWriter _frame = new();
    private int _depth;
    private bool _holdsAll;
    private bool _isFramed; // the frame's beginning was published

    internal NestedExecutor(Invoker invoker, Engine engine, CommandEnvironment environment)
    {
        _invoker = invoker;
        _engine = engine;
        _environment = environment;
    }

    /// <summary>Errors that nested commands replied into the executor's own reply: they are not the surrounding command's.</summary>
    internal long Errors { get; private set; }

    public void BeginUnit()
    {
        // The changes that the surrounding command has recorded so far, such as an expired key, come before the unit.
        if (_environment.IsObserved) _invoker.PublishRecorded();
        if (_depth++ > 0) return;
        _environment.DeniesBlocking = true;
        _holdsAll = _environment.HeldStripes.Equals(_engine.Keyspace.AllStripes);
        if (_holdsAll) _engine.Keyspace.NoteAllLocked(true);
    }

    public void EndUnit()
    {
        if (--_depth == 0)
        {
            _environment.DeniesBlocking = false;
            if (_holdsAll) _engine.Keyspace.NoteAllLocked(false);
            if (_isFramed) PublishFrame("EXEC"u8);
            _isFramed = false;
        }

        if (!_environment.IsObserved) return;
        _environment.BeginRecording(); // the surrounding command itself changes nothing
        _environment.Effects.ReplaceRequest();
    }

    public void RunQueued(Session session, SavedRequest request, ReplyWriter reply)
    {
        if (session.User.Permissions is { } permissions)
        {
            var cmd = new CommandContext(_environment, session, request.Input, reply, session.DatabaseIndex);
            cmd.Begin(request.Command, request.Arguments, request.FirstKeyHash);
            if (permissions.Check(cmd) is { IsDenied: true } denial)
            {
                _engine.Users.NoteDenied(cmd, denial, DenialContext.Transaction);
                reply.Error(DenialText.InTransaction(denial));
                Errors++;
                _invoker.Account.NoteRejected(request.Command);
                return;
            }
        }

        Run(session, request.Command, request.Input, request.Arguments, request.FirstKeyHash, reply);
    }

    public void Run(Session session, Command command, Span<byte> input, ReadOnlySpan<ArgumentSlice> arguments, ulong firstKeyHash, ReplyWriter reply)
    {
        var cmd = new CommandContext(_environment, session, input, reply, session.DatabaseIndex);
        cmd.Begin(command, arguments, firstKeyHash);
        long errors = reply.Errors;
        _environment.KeyHashes.Forget(); // those of the surrounding command, by its own arguments
        _invoker.RunNested(ref cmd);
        if (ReferenceEquals(reply, _invoker.Reply)) Errors += reply.Errors - errors;
    }

    public void Call(Session session, Command command, Span<byte> input, ReadOnlySpan<ArgumentSlice> arguments, ReplyWriter reply)
    {
        CommandContext cmd = ContextOf(session, command, input, arguments, reply);
        if (session.User.Permissions is { } permissions && permissions.Check(cmd) is { IsDenied: true } denial)
        {
            _engine.Users.NoteDenied(cmd, denial, DenialContext.Script);
            reply.Error("ERR ACL failure in script: " + DenialText.Of(session.User, cmd, denial, withNames: false));
            NoteRejected(command, reply);
            return;
        }

        ClaimStripes(cmd);
        _environment.IsInScript = true;
        _invoker.RunNested(ref cmd);
        _environment.IsInScript = false;
    }

    public void NoteRejected(Command? command, ReplyWriter reply) => _invoker.Account.NoteRejected(command, reply);

    public bool MayExecute(Session session, Command command, Span<byte> input, ReadOnlySpan<ArgumentSlice> arguments) =>
        session.User.Permissions is not { } permissions || !permissions.Check(ContextOf(session, command, input, arguments, _invoker.Reply)).IsDenied;

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

    /// <summary>Before the first effects of a unit are published.</summary>
    internal void NoteEffects()
    {
        if (_depth == 0 || _isFramed) return;
        _isFramed = true;
        PublishFrame("MULTI"u8);
    }

    private void PublishFrame(ReadOnlySpan<byte> name)
    {
        _frame.Reset(recording: true);
        _frame.Begin(0, 1, name);
        _engine.Changes.Publish(new Invocation(NoChanges, EffectWriter.Off, _frame));
        _frame.Reset(recording: true);
    }
}
