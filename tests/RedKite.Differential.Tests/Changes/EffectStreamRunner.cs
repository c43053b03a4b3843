using RedKite.Differential.Tests.Streams;
using RedKite.TestSupport;

namespace RedKite.Differential.Tests.Changes;

/// <summary>
/// Runs a stream on one RedKite and replays only the recorded effects on a second one, which must hold the same data after
/// every command. The second server replays a day later, as a log is replayed: an effect that depends on the time at which it is
/// replayed makes a difference, and every expiry has passed.
/// </summary>
internal sealed class EffectStreamRunner
{
    private const int StateEverySteps = 50;
    private const long DelayMs = 24 * 60 * 60 * 1000;

    private readonly WatchedRedKite _primary;
    private readonly EffectReplica _replica;
    private readonly int _stateEverySteps;
    private readonly RespConnection?[] _connections = new RespConnection?[StreamGenerator.Connections];

    private readonly Replied? _replied;

    private EffectStreamRunner(WatchedRedKite primary, EffectReplica replica, int stateEverySteps, Replied? replied) =>
        (_primary, _replica, _stateEverySteps, _replied) = (primary, replica, stateEverySteps, replied);

    /// <summary>Receives a command of a step, its reply and the number of its effects.</summary>
    internal delegate void Replied(int step, byte[][] command, RespValue reply, int effects);

    /// <summary>How many effects were replayed by all runners, for the report of a run.</summary>
    public static long EffectsReplayed { get; private set; }

    /// <summary>Runs a stream on emptied servers; null if the second server follows to the end.</summary>
    /// <param name="stateEverySteps">How often the data is compared in full; the digest is compared after every command.</param>
    /// <param name="replied">Called after every command.</param>
    public static Difference? Run(WatchedRedKite primary, EffectReplica replica, IReadOnlyList<Step> steps, int stateEverySteps = StateEverySteps, Replied? replied = null)
    {
        ((IWatchedServer)primary).Reset();
        primary.TakeEffects();
        replica.Reset(primary.Clock!.NowMs + DelayMs);
        EffectStreamRunner runner = new(primary, replica, stateEverySteps, replied);
        try
        {
            for (int i = 0; i < steps.Count; i++)
            {
                if (runner.RunStep(i, steps[i]) is { } difference) return difference;
            }

            return runner.CompareState(steps.Count);
        }
        finally
        {
            foreach (RespConnection? connection in runner._connections) connection?.Dispose();
        }
    }

    private Difference? RunStep(int index, Step step)
    {
        foreach (byte[][] command in step.Episode.Commands)
        {
            if (Exchange(index, step.Connection, command) is { } difference) return difference;
        }

        _primary.Clock!.Advance(step.Episode.WaitMs);
        foreach (byte[][] command in step.Episode.CommandsAfterWait)
        {
            if (Exchange(index, step.Connection, command) is { } difference) return difference;
        }

        return index % _stateEverySteps == _stateEverySteps - 1 ? CompareState(index) : null;
    }

    private Difference? Exchange(int step, int connection, byte[][] command)
    {
        RespConnection primary = _connections[connection] ??= RespConnection.Connect(_primary.Port);
        primary.Send(CommandLine.Encode(command));
        RespValue reply = primary.Read();
        // Settings are each server's own, and decide how values are kept.
        if (command[0].AsSpan().SequenceEqual("CONFIG"u8)) _replica.Configure(command);
        List<RecordedEffect> effects = _primary.TakeEffects();
        EffectsReplayed += effects.Count;
        _replied?.Invoke(step, command, reply, effects.Count);
        string shown = $"{(effects.Count == 0 ? "(no effects)" : string.Join("; ", effects))}  (reply {reply})";
        if (_replica.Replay(effects) is { } refused) return new Difference(step, command, shown, refused);

        (string expected, string actual) = (_primary.Control.Run("DEBUG DIGEST").Text, _replica.DigestAt(_primary.Clock!.NowMs));
        return expected == actual ? null : new Difference(step, command, $"digest {expected} after {shown}", $"digest {actual}");
    }

    // What the digest leaves out: when keys and fields expire, groups of streams. A first look removes what has expired.
    private Difference? CompareState(int step)
    {
        DatasetText.Of(command => _primary.Control.Run(command));
        string[] expected = DatasetText.Of(command => _primary.Control.Run(command));
        _replica.Replay(_primary.TakeEffects());
        string[] actual = _replica.StateAt(_primary.Clock!.NowMs);
        if (expected.SequenceEqual(actual)) return null;
        string[] missing = [.. expected.Except(actual)];
        string[] extra = [.. actual.Except(expected)];
        return new Difference(step, ["state"u8.ToArray()], string.Join('\n', missing), string.Join('\n', extra));
    }
}
