using RedKite.Server.Config;
using RedKite.Server.Durability;
using RedKite.Server.Logging;
using RedKite.Server.Model;
using RedKite.Server.Sessions;

namespace RedKite.Server.Replication;

/// <summary>
/// Before a server stops, its replicas get what it has executed: commands that write wait, at most for shutdown-timeout. A replica that has
/// everything can go on with the server that is started again. From any thread.
/// </summary>
internal sealed class ShutdownWait(ReplicaList replicas, IReplicationHost host, ClientPause pause, Settings settings, ServerClock clock, ServerLog log)
{
    private const int PollMs = 5;

    private readonly Lock _stopping = new(); // one shutdown at a time saves
    private readonly Lock _holding = new(); // the next, together with the pause
    private int _holds; // shutdowns whose wait has begun and that have not failed
    private int _waits; // threads
    private long _deadlineMs; // steady; of the last wait that began
    private volatile int _aborts; // so far: a wait that begins behind one is not ended by it, nor does it undo it

    /// <summary>How long it waits at most; null: none is in progress.</summary>
    internal long? RemainingMs => IsInProgress ? Math.Max(0, Volatile.Read(ref _deadlineMs) - clock.SteadyMs) : null;

    internal bool IsInProgress => Volatile.Read(ref _waits) > 0;

    /// <summary>Whether a replica lacks something.</summary>
    internal bool IsNeeded => settings.ShutdownTimeoutSeconds > 0 && !replicas.State.IsReplica && CountBehind() > 0;

    /// <summary>Stops the server when replicas have everything. Not on a loop's thread.</summary>
    /// <param name="stop">Saves, if that is wanted, and stops; false if saving failed.</param>
    /// <param name="saving">Whether the data is saved.</param>
    /// <param name="forces">Whether the server stops although saving fails.</param>
    /// <returns>False if saving failed, or SHUTDOWN ABORT has ended the wait: then the server goes on.</returns>
    internal bool TryStop(Func<StopSaving, bool> stop, StopSaving saving, bool forces)
    {
        bool holds = IsNeeded;
        if (holds && !Wait()) return false;
        lock (_stopping)
        {
            if (stop(saving) || (forces && stop(StopSaving.Never))) return true;
        }

        if (holds) End();
        return false;
    }

    /// <summary>Waits until all replicas have everything, or the time is over. Not on a loop's thread.</summary>
    /// <returns>False: SHUTDOWN ABORT has ended the wait.</returns>
    private bool Wait()
    {
        long deadlineMs = clock.SteadyMs + (settings.ShutdownTimeoutSeconds * 1000L);
        Volatile.Write(ref _deadlineMs, deadlineMs);
        int aborts = _aborts;
        Interlocked.Increment(ref _waits);
        List<ReplicaClient> awaited = [.. Behind()]; // who loses the connection meanwhile is not forgotten
        lock (_holding)
        {
            _holds++;
            pause.Hold(PauseReason.Shutdown);
        }

        try
        {
            log.Notice(LogEvents.ShutdownWaits, $"Waiting for replicas before shutting down, at most {settings.ShutdownTimeoutSeconds} seconds (shutdown-timeout).");
            while (CountBehind() > 0 && _aborts == aborts && clock.SteadyMs < deadlineMs)
            {
                replicas.AskForOffsets();
                Thread.Sleep(PollMs);
            }

            if (_aborts != aborts)
            {
                log.Notice(LogEvents.ShutdownWaits, "Shutdown aborted.");
                End();
                return false;
            }

            string[] lacking = [.. awaited.Concat(Behind()).Where(replica => !HasAll(replica)).Select(static replica => replica.Name).Distinct()];
            log.Notice(LogEvents.ShutdownWaits, lacking.Length == 0 ? "All replicas have everything." : $"{lacking.Length} of {awaited.Concat(replicas.All).Select(static replica => replica.Name).Distinct().Count()} replicas do not have everything: {string.Join(", ", lacking)}.");
            return true;
        }
        finally
        {
            Interlocked.Decrement(ref _waits);
        }
    }

    /// <summary>Ends the waits of all shutdowns.</summary>
    /// <returns>False if there are none.</returns>
    internal bool Abort()
    {
        if (!IsInProgress) return false;
        Interlocked.Increment(ref _aborts);
        return true;
    }

    /// <summary>The server goes on after all: commands that write do, too, unless another shutdown waits.</summary>
    private void End()
    {
        lock (_holding)
        {
            if (--_holds > 0) return;
            pause.Release(PauseReason.Shutdown);
        }

        host.ResumePaused();
    }

    private int CountBehind() => Behind().Count();

    private IEnumerable<ReplicaClient> Behind()
    {
        long offset = replicas.Stream.Offset;
        return replicas.All.Where(replica => replica is { State: ReplicaState.Online or ReplicaState.Loading or ReplicaState.Streaming, IsBeforePsync: false } && replica.AcknowledgedOffset < offset);
    }

    // By this connection, or by another one since.
    private bool HasAll(ReplicaClient replica)
    {
        long offset = replicas.Stream.Offset;
        return replica.AcknowledgedOffset >= offset || replicas.All.Any(other => other.Name == replica.Name && other.AcknowledgedOffset >= offset);
    }
}
