using RedKite.Server.Changes;
using RedKite.Store.Memory;

namespace RedKite.Server.Execution;

/// <summary>
/// Publishes the effects of an executor's commands: those of one command when it ends, those of a unit (a transaction, a script) as one record at the unit's end.
/// </summary>
internal sealed class UnitEffects(ExecutorCore core)
{
    private readonly ChangePublisher _changes = core.Engine.Changes;
    private readonly InvocationRecording _recording = core.Environment.Recording;
    private readonly EffectWriter _unit = new();
    private int _depth;
    private bool _hasUnit;

    /// <summary>Who gets the effects of the unit's next commands.</summary>
    internal EffectTargets Targets { get; set; } = EffectTargets.All;

    /// <summary>The input of the nested command, if it stays as it is until the unit's end.</summary>
    internal NativeSpan KeptRequest { get; set; }

    /// <summary>Whether no effects are published, because a log has them already.</summary>
    internal bool Discards { get; set; }

    /// <summary>Whether what a command does is published when it ends: it is not part of a unit.</summary>
    internal bool PublishesAtOnce => _depth == 0 && !Discards;

    /// <summary>Begins a unit, or one inside it.</summary>
    /// <returns>Whether it is the outermost.</returns>
    internal bool Begin() => _depth++ == 0;

    /// <summary>Ends a unit, or one inside it.</summary>
    /// <returns>Whether it was the outermost.</returns>
    internal bool End()
    {
        Targets = EffectTargets.All; // a script's choice ends with it
        return --_depth == 0;
    }

    /// <summary>Publishes what the outermost unit has collected.</summary>
    internal void PublishUnit()
    {
        if (_unit.Count == 0) return;
        _changes.Publish(new EffectRecord(_unit, null, request: []));
        _unit.Reset(recording: false);
        _hasUnit = true;
    }

    /// <summary>Publishes the effects that a command has recorded or, inside a unit, collects them until its end. Its stripes are locked.</summary>
    /// <param name="request">The input of the command's request.</param>
    /// <returns>Whether there are any: then they are where WAIT looks.</returns>
    internal bool PublishEffects(scoped ReadOnlySpan<byte> request)
    {
        EffectWriter expiries = _recording.Expiries;
        EffectWriter effects = _recording.Effects;
        if (expiries.Count + effects.Count == 0 || Discards) return false;
        if (_depth == 0)
        {
            _changes.Publish(new EffectRecord(expiries, effects, request));
            return true;
        }

        if (_unit.Count == 0) _unit.Reset(recording: true);
        _unit.Append(expiries, request, KeptRequest);
        _unit.Append(effects, request, KeptRequest, Targets);
        return true;
    }

    /// <summary>Whether a unit has been published since the last call.</summary>
    internal bool TakeUnit()
    {
        bool hasUnit = _hasUnit;
        _hasUnit = false;
        return hasUnit;
    }
}
