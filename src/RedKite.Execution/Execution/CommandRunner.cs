using RedKite.Server.Changes;
using RedKite.Server.Metrics;
using RedKite.Server.Model;
using RedKite.Store.Keyspace;

namespace RedKite.Server.Execution;

/// <summary>Executes the handlers of commands whose stripes are locked, and publishes what they changed.</summary>
internal sealed class CommandRunner(ExecutorCore core, InvocationPublisher publisher)
{
    private readonly Engine _engine = core.Engine;
    private readonly CommandEnvironment _environment = core.Environment;
    private readonly CommandTime _time = core.Environment.Time;
    private readonly InvocationRecording _recording = core.Environment.Recording;

    /// <summary>Executes a handler and publishes what it changed. The stripes that it needs are locked.</summary>
    internal void Run(ref CommandContext cmd, StripeSet held)
    {
        _recording.Begin(held);
        long changes = _environment.Metrics.Changes;
        if (_engine.Monitors.IsOn) _engine.Monitors.ShowScript(cmd);
        bool isReplica = _engine.Replication.IsReplica;
        ExpiryPolicy outer = _time.BeginExpiry(cmd.Command, isFrozen: isReplica || !_engine.Pause.EndIfOver(_time.SteadyMs));
        cmd.Command.Handler(ref cmd);
        _time.EndExpiry(outer);
        if (isReplica && cmd.Command.Is(CommandFlags.Write) && !core.IsTrusted) _engine.LocalExpiries.Note(cmd);
        _environment.KeyHashes.Forget();
        if (_environment.Blocking.Request is { } block && !_environment.Blocking.IsServing)
        {
            _environment.Blocking.Request = null;
            if (block.Type is null || cmd.Count <= _engine.Settings.BlockedKeysMax || IsWithinBlockedKeysOrReply(cmd)) _engine.Blocked.Block(cmd, block, held, _time.IterationStart);
        }

        if (_recording.IsOn) publisher.Publish(cmd, _environment.Metrics.Changes - changes);
        if (cmd.Session.Tracking is { } tracking) publisher.NoteTracked(cmd, tracking);
    }

    private bool IsWithinBlockedKeysOrReply(scoped in CommandContext cmd)
    {
        int keys = 0;
        var extraction = new KeyExtraction(cmd.Command);
        while (extraction.MoveNext(cmd)) keys++;
        if (keys <= _engine.Settings.BlockedKeysMax) return true;
        cmd.ReplyOverLimit(Limit.BlockedKeys, $"ERR too many keys to block on, max-blocked-keys is {_engine.Settings.BlockedKeysMax}");
        return false;
    }
}
