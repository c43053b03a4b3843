using RedKite.Persistence.Files;
using RedKite.Server.Logging;
using RedKite.Store.Keyspace;

namespace RedKite.Server.Durability;

/// <content>The end: the log is completed and the data saved for the last time. Nothing here waits for a script without end.</content>
internal sealed partial class DurabilityService
{
    internal volatile int ScriptAtStopMs = 5000; // how long stopping waits for a script; tests wait less

    /// <summary>Ends the append-only file, with everything written and synced, and then saves if that is wanted. Nothing else is executed.</summary>
    internal void Stop(StopSaving saving)
    {
        _host.Stopping();
        Log.Stop(_host.Position);
        if (SavesAtStop(saving) && SaveAtStop(out bool saved) is null && !saved && !_hasEnded) _log.Warning(LogEvents.StopWithoutSave, "A script does not end, so the server stops without saving.");
        _hasEnded = true;
        _cancelsSave = true; // of a save whose snapshot has not begun
        Interlocked.MemoryBarrier();
        _running?.Abort();

        // What uses the data on another thread ends first. Threads that still come, for a log that was switched off or a shutdown that waited for
        // replicas, find that the end has come.
        EnterSaving(CancellationToken.None);
        _locks.Dumping.Wait();
        Log.Stop(); // one that a rewrite has begun meanwhile
        _locks.Dumping.Release();
        ReleaseSaving();
    }

    // Clients wait, so no other script begins: whether the one that runs ends soon.
    internal bool CanLockScripts() => WaitsUnlessScript(pollMs =>
    {
        if (_keyspace.Scripts.TryEnter())
        {
            _keyspace.Scripts.Exit();
            return true;
        }

        Thread.Sleep(pollMs);
        return false;
    });

    /// <summary>How often a stop has looked again whether the script that it waits for runs. For tests.</summary>
    internal int ScriptPolls { get; private set; }

    // For what a thread holds that may itself wait for a script: false if scripts have been running for so long.
    private bool WaitsUnlessScript(Func<int, bool> wait)
    {
        int busyMs = 0;
        while (!wait(ScriptPollMs))
        {
            ScriptPolls++;
            if (!_keyspace.Scripts.TryEnter())
            {
                busyMs += ScriptPollMs;
                if (busyMs >= ScriptAtStopMs) return false;
                continue;
            }

            _keyspace.Scripts.Exit();
            busyMs = 0;
        }

        return true;
    }

    /// <summary>Whether stopping saves.</summary>
    internal bool SavesAtStop(StopSaving saving) => saving == StopSaving.Always || (saving == StopSaving.BySavePoints && _settings.SavePoints.Length > 0);

    /// <summary>
    /// Saves because the server stops; a snapshot in progress is aborted. If a script does not end within some seconds, nothing is saved yet:
    /// a server must always stop.
    /// </summary>
    /// <param name="saved">Whether it was saved.</param>
    /// <returns>What failed; null: nothing.</returns>
    internal FileFailure? SaveAtStop(out bool saved)
    {
        saved = false;
        Log.Flush(); // what is logged is on the disk however long the save takes
        _log.Notice(LogEvents.SaveBegun, $"Saving the final RDB snapshot before exiting.{Estimate()}");
        _stops = true;
        Interlocked.MemoryBarrier();
        _running?.Abort();
        bool saves = WaitsUnlessScript(_locks.Saving.Wait); // whose holder may wait for the stripes of a script
        if (saves) _use = SavingUse.Other;
        bool dumps = saves && WaitsUnlessScript(_locks.Dumping.Wait);
        _stops = false; // if saving fails, the server goes on
        try
        {
            if (_hasEnded) return null;
            int polls = 0;
            if (dumps && TryEnterWhole(() => ++polls >= ScriptAtStopMs / ScriptPollMs, out ScriptMutexHold hold, polls: true))
            {
                FileFailure? failure = SaveEntered(hold);
                saved = failure is null;
                return failure;
            }

            return null;
        }
        finally
        {
            if (dumps) _locks.Dumping.Release();
            if (saves) ReleaseSaving();
        }
    }
}
