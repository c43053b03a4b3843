using RedKite.Server.Sessions;

namespace RedKite.Server.Migration;

/// <summary>How many commands make those that write wait. Its lock protects the number and the closing and opening of the gate.</summary>
internal sealed class MigrationHolders
{
    private readonly Lock _lock = new();
    private int _count;

    /// <summary>Closes the gate for one more of them.</summary>
    internal void Add(WriteGate gate)
    {
        lock (_lock)
        {
            if (_count++ == 0) gate.Close(WriteHold.Migration);
        }
    }

    /// <summary>One of them has ended, which it says any number of times.</summary>
    internal void Remove(WriteGate gate, ref bool hasEnded)
    {
        lock (_lock)
        {
            if (hasEnded) return;
            hasEnded = true;
            if (--_count == 0) gate.Open(WriteHold.Migration);
        }
    }
}

/// <summary>
/// Makes commands that write wait, until it is disposed of or <see cref="MigrationService.HoldMsMax"/> have passed, whichever comes first: the
/// loop of the client that holds them may be busy with something else. From any thread, any number of times.
/// </summary>
internal sealed class MigrationHold : IDisposable
{
    private readonly MigrationHolders _holders;
    private readonly WriteGate _gate;
    private readonly ITimer _timer;
    private bool _hasEnded;

    internal MigrationHold(MigrationHolders holders, WriteGate gate, TimeProvider clock)
    {
        _holders = holders;
        _gate = gate;
        holders.Add(gate);

        _timer = clock.CreateTimer(static hold => ((MigrationHold)hold!).End(), this, TimeSpan.FromMilliseconds(MigrationService.HoldMsMax), Timeout.InfiniteTimeSpan);
    }

    public void Dispose()
    {
        End();
        _timer.Dispose();
    }

    private void End() => _holders.Remove(_gate, ref _hasEnded);
}
