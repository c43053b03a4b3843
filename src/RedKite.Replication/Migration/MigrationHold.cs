using RedKite.Server.Sessions;

namespace RedKite.Server.Migration;

/// <summary>How many commands make those that write wait. Its lock protects the number and the closing and opening of the gate.</summary>
internal sealed class MigrationHolders
{
    internal Lock Lock { get; } = new();

    internal int Count { get; set; }
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
        lock (holders.Lock)
        {
            if (holders.Count++ == 0) gate.Close(WriteHold.Migration);
        }

        _timer = clock.CreateTimer(static hold => ((MigrationHold)hold!).End(), this, TimeSpan.FromMilliseconds(MigrationService.HoldMsMax), Timeout.InfiniteTimeSpan);
    }

    public void Dispose()
    {
        End();
        _timer.Dispose();
    }

    private void End()
    {
        lock (_holders.Lock)
        {
            if (_hasEnded) return;
            _hasEnded = true;
            if (--_holders.Count == 0) _gate.Open(WriteHold.Migration);
        }
    }
}
