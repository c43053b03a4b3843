using RedKite.Persistence.Files;
using RedKite.Server.Durability;
using RedKite.Server.Logging;
using RedKite.Server.Loops;
using RedKite.Server.Sessions;

namespace RedKite;

/// <content>How a server stops.</content>
public sealed partial class RedKiteServer
{
    /// <summary>Stops the server: no new connections, the loops end, the memory is freed. What fails meanwhile, by a bug, is logged and fails the task.</summary>
    public Task StopAsync()
    {
        if (Interlocked.Exchange(ref _stopping, 1) == 0)
        {
            if (Interlocked.CompareExchange(ref _isBegun, 2, 0) == 0) _loaded.Set(); // no load will be waited for
            _ = Task.Factory.StartNew(Stop, CancellationToken.None, TaskCreationOptions.LongRunning, TaskScheduler.Default); // it waits for threads
        }

        return Stopped;
    }

    /// <summary>
    /// Saves the data, if that is wanted, while the clients wait, and begins to stop. From any thread that holds no stripe.
    /// </summary>
    /// <param name="saving">Whether the data is saved.</param>
    /// <param name="failed">Called if saving failed. Another stop waits for it, so the reply to the client leaves before its connection ends.</param>
    /// <returns>False if saving failed: then the server goes on.</returns>
    internal bool TryStop(StopSaving saving, Action? failed = null)
    {
        if (!Parts.Durability.SavesAtStop(saving))
        {
            if (_stopping == 0) _savingAtStop = StopSaving.Never; // nor does one that waits for a script to save
            _ = StopAsync();
            return true;
        }

        lock (_savingToStop)
        {
            if (TryStopSaving(saving)) return true;
            failed?.Invoke();
            return false;
        }
    }

    private bool TryStopSaving(StopSaving saving)
    {
        if (_stopping != 0) return true;
        if (_isLoaded) // what is loaded meanwhile is saved when the loops have ended
        {
            FileFailure? failed = null;
            bool saved = false;
            try
            {
                Engine.Pause.Hold(PauseReason.LastSave);
                bool heed = LoopsHeed(); // what a loop has admitted before is saved; callers in the process look again with their stripes locked
                Parts.Replicas.IsStopping = true;
                bool scriptsEnd = heed && Parts.Durability.CanLockScripts(); // otherwise a link may wait for one, too
                if (scriptsEnd && _follower.Suspend()) failed = Parts.Durability.SaveAtStop(out saved);
                if (!saved && failed is null) Engine.Log.Warning(LogEvents.StopWithoutSave, "A script does not end: the server saves when it has stopped it.");
            }
#pragma warning disable CA1031 // Clients must not wait for ever because of a bug.
            catch (Exception failure)
#pragma warning restore CA1031
            {
                Engine.Log.Warning(LogEvents.StopFailed, $"A bug: the data could not be saved for the last time, and the server goes on. {failure}");
                GoOn();
                return false;
            }

            if (failed is not null)
            {
                GoOn();
                return false;
            }

            if (_stopping == 0) _savingAtStop = saved ? StopSaving.Never : saving; // a script is stopped with its loop, and nothing else executes then
        }

        _ = StopAsync();
        return true;

        void GoOn()
        {
            Parts.Replicas.IsStopping = false;
            _follower.Resume();
            Engine.Pause.Release(PauseReason.LastSave);
            ResumePaused();
        }
    }

    // Whether all loops have come to know of the pause. One that runs a script may not soon: then the save does not begin yet.
    private bool LoopsHeed()
    {
        if (Array.Exists(_loops, static loop => loop.Loop.IsCurrent)) return true;
        using var limit = new CancellationTokenSource(Parts.Durability.ScriptAtStopMs);
        try
        {
            WaitForLoops(limit.Token);
            return true;
        }
        catch (OperationCanceledException)
        {
            return false;
        }
    }

    /// <summary>As <see cref="TryStop"/>, after replicas have got everything. Not on a loop's thread.</summary>
    /// <param name="saving">Whether the data is saved.</param>
    /// <param name="forces">Whether the server stops although saving fails.</param>
    /// <param name="failed">Called if saving failed and the server goes on.</param>
    /// <returns>False if saving failed, or the wait was aborted: then the server goes on.</returns>
    internal bool TryStopAfterReplicas(StopSaving saving, bool forces, Action? failed = null) =>
        Parts.Replicas.Shutdown.TryStop(tried => TryStop(tried, forces ? null : failed), saving, forces);

    /// <summary>Stops the server, and waits for it.</summary>
    public void Dispose() => StopAsync().GetAwaiter().GetResult();

    /// <inheritdoc/>
    public async ValueTask DisposeAsync() => await StopAsync().ConfigureAwait(false);

    private void Crashed(Exception failure)
    {
        Failure = failure;
        Engine.Log.Warning(LogEvents.LoopFailed, $"A bug ended an event loop: {failure}");
        _ = StopAsync();
    }

    // On a thread of its own. Whatever a step does, the next ones follow and the task completes: who waits for the end hears of the first failure.
    private void Stop()
    {
        Exception? failed = null;
        try
        {
            StopSteps();
        }
        finally
        {
            if (failed is null) _stopped.TrySetResult();
            else _stopped.TrySetException(failed);
        }

        void StopSteps()
        {
            if (Volatile.Read(ref _isBegun) == 1) _opened.Wait(); // its loops are stopped, too
            Do(_loadCancellation.Cancel);
            Do(() => Watching?.Dispose());
            if (Cluster?.Agreement is { } agreement) Do(agreement.Dispose); // another node may take over from now on
            Do(Engine.Script.EndForStop);
            Do(AwaitLastSave);
            Do(_arrivals.Dispose);
            Do(() => Parts.SlotMoves()?.Stop());
            Do(Parts.Migrations.Stop); // while there are loops, which its transfers wake
            Do(Engine.Replication.Acks.Stop); // the loops send what becomes of their replies before they end
            foreach (SessionLoop loop in _loops) loop.Loop.Post(loop.Loop.StopListening);
            HashSet<SessionLoop> ended = [];
            bool haveEnded = EndLoops(ended);
            Do(_endpoints.Dispose);
            Do(_pidFile.Remove);

            // A loop that broke may have left a stripe locked and its memory half changed: that is not touched again. The host's calls and the threads that
            // save and follow are not waited for then, so what they use stays, too.
            if (Failure is not null || !haveEnded) return;
            haveEnded &= Do(EndCallers);
            haveEnded &= EndLoops(ended); // a script of a caller may have begun a reserve loop meanwhile
            haveEnded &= Do(EndFollowing);
            haveEnded &= Do(EndDurability);
            if (haveEnded) Do(Release); // otherwise a thread may still use it
        }

        // A script may have begun a reserve loop that was not listed yet: its loop, or its caller, is waited for.
        bool EndLoops(HashSet<SessionLoop> ended)
        {
            bool haveEnded = true;
            List<SessionLoop> stopped = [];
            SessionLoop[] loops;
            do
            {
                loops = _loops;
                foreach (SessionLoop loop in loops)
                {
                    if (!ended.Add(loop)) continue;
                    haveEnded &= Do(loop.Loop.Stop);
                    stopped.Add(loop);
                }
            }
            while (loops != _loops);
            foreach (SessionLoop loop in stopped) haveEnded = haveEnded && Do(loop.Loop.Dispose);
            return haveEnded;
        }

        bool Do(Action step)
        {
            try
            {
                step();
                return true;
            }
#pragma warning disable CA1031 // A step that fails must not keep the others, nor those that wait for the end.
            catch (Exception failure)
#pragma warning restore CA1031
            {
                failed ??= failure;
                Engine.Log.Warning(LogEvents.StopFailed, $"A bug: the server could not stop as it should. {failure}");
                return false;
            }
        }
    }

    // Of a SHUTDOWN that saves: its client takes the end of its connection for the end of the save, or gets an error, so the loops end behind it. It waits for no script any more.
    private void AwaitLastSave()
    {
        lock (_savingToStop)
        {
        }
    }

    private void EndFollowing()
    {
        _loaded.Wait();
        _follower.Dispose();
        if (_follower.History.IsIncomplete) _savingAtStop = StopSaving.Never;
    }

    private void EndDurability()
    {
        _haveLoopsEnded = true;
        Parts.Durability.Stop(_isLoaded ? _savingAtStop : StopSaving.Never);
    }

    private void Release()
    {
        foreach (SessionLoop loop in _loops) loop.Sliced.DiscardAll();
        Engine.Keyspace.Dispose();
        Engine.Messages.Release();
        if (Engine.Metrics is { } metrics) metrics.Runs.Dispose(); // there are none if the commands were refused
        Engine.Script.Dispose();
        Engine.Buffers.Dispose();
        Engine.WriteGate.Dispose();
        Cluster?.Dispose();
        _loadCancellation.Dispose();
    }

    private void EndCallers()
    {
        Clients.End();
        RedKiteSession[] sessions;
        lock (_clients) sessions = [.. _clients];
        foreach (RedKiteSession session in sessions) session.End();
    }
}
