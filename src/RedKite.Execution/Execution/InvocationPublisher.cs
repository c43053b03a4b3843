using RedKite.Server.Changes;
using RedKite.Server.Execution.Blocking;
using RedKite.Server.Model;
using RedKite.Store.Keyspace;

namespace RedKite.Server.Execution;

/// <summary>Publishes what one executor's commands have changed, and remembers what tracking clients have read. The stripes are locked.</summary>
internal sealed class InvocationPublisher(ExecutorCore core, UnitEffects effects, NotedKeys noted)
{
    private readonly Engine _engine = core.Engine;
    private readonly Keyspace _keyspace = core.Keyspace;
    private readonly CommandEnvironment _environment = core.Environment;
    private readonly InvocationRecording _recording = core.Environment.Recording;

    /// <summary>
    /// Publishes what a command changed to everything that observes its stripes, and notes the blocked clients that it may serve.
    /// Its stripes are locked.
    /// </summary>
    /// <param name="cmd">The command.</param>
    /// <param name="changes">How many changes it counted: without any it has no effect.</param>
    internal void Publish(scoped in CommandContext cmd, long changes)
    {
        if (_recording.TakesEffects)
        {
            bool hasEffects = effects.TakeUnit() || changes > 0;
            if (changes > 0 && !_recording.Effects.ReplacesRequest) PublishRequest(cmd);
            else hasEffects |= effects.PublishEffects(cmd.Arguments.Input);
            if (hasEffects) _engine.NoteWritten(cmd.Session, changes > 0); // also of a message, and of a key that was found expired
        }

        PublishChanges();
    }

    // The request is the effect: usually it is handed over as it was received.
    private void PublishRequest(scoped in CommandContext cmd)
    {
        if (_engine.Changes.TakesRequests && _recording.Expiries.Count == 0 && effects.PublishesAtOnce && cmd.Arguments.TryGetRequest(out int start, out int end))
        {
            _engine.Changes.PublishRequests(cmd.Database.Index, cmd.Slot(), cmd.Arguments.Input[start..end]);
            return;
        }

        cmd.EffectRequest();
        effects.PublishEffects(cmd.Arguments.Input);
    }

    /// <inheritdoc cref="PublishRecorded(Session?)"/>
    internal void PublishRecorded() => PublishRecorded(writer: null);

    /// <summary>Publishes the changes that the store made by itself: keys that it found expired. The stripe is locked.</summary>
    internal void PublishRecorded(Session? writer)
    {
        if (_recording.TakesEffects && effects.PublishEffects(request: []) && writer is not null) _engine.NoteWritten(writer, hasChanged: true);
        PublishChanges();
        _recording.Clear();
    }

    private void PublishChanges()
    {
        if ((_recording.Observers & StripeObservers.Values) != 0) _engine.Changes.Publish(_recording.Values);
        if (_recording.Changes.Count == 0) return;
        if ((_recording.Observers & StripeObservers.Events) != 0)
        {
            if (!_environment.IsInUnit) _recording.Changes.PatternBudget.Begin();
            _engine.Changes.Publish(_recording.Changes);
        }

        if ((_recording.Observers & StripeObservers.WatchedKeys) != 0) _engine.Watched.Note(_recording.Changes, _keyspace.Databases, _environment.Time.Expiry);
        noted.Note(_recording.Changes);
    }

    /// <summary>
    /// Remembers the keys that a tracking client's command has read; for a script, those that its commands read. Behind <see cref="Publish"/>: what the
    /// read itself has changed, such as a key that it found expired, invalidates earlier reads and not this one. CLIENT CACHING applies to one command, or one transaction.
    /// </summary>
    internal void NoteTracked(scoped in CommandContext cmd, ClientTracking tracking)
    {
        if (cmd.Command.Is(CommandFlags.ReadOnly) && !cmd.Command.Is(CommandFlags.RunsScript) && tracking.Remembers) _engine.Tracking.Remember(cmd);
        if (!cmd.Command.KeepsCaching && !_environment.IsInUnit && cmd.Session.Transaction is null) tracking.EndCaching();
    }
}
