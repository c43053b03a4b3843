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
    /// <returns>False if saving failed: then the server goes on.</returns>
    internal bool TryStop(StopSaving saving)
    {
        if (!Parts.Durability.SavesAtStop(saving))
        {
            if (_stopping == 0) _savesAtStop = false; // nor does one that waits for a script to save
            _ = StopAsync();
            return true;
        }

        lock (_savingToStop) return TryStopSaving();
    }

    private bool TryStopSaving()
    {
        if (_stopping != 0) return true;
        bool wasLoaded = _isLoaded;
        if (wasLoaded)
        {
            Engine.Pause.Hold(PauseReason.LastSave);
            WaitForLoopsToHeed(); // what a loop has admitted before is saved; callers in the process look again with their stripes locked
            Parts.Replicas.IsStopping = true;
            bool scriptsEnd = Parts.Durability.CanLockScripts(); // otherwise a link may wait for one, too
            if (scriptsEnd && _follower.Suspend() && Parts.Durability.SaveAtStop() is not null)
            {
                Parts.Replicas.IsStopping = false;
                _follower.Resume();
                Engine.Pause.Release(PauseReason.LastSave);
                ResumePaused();
                return false;
            }
        }

        if (wasLoaded) _savesAtStop = false; // what was loaded meanwhile is saved when the loops have ended
        _ = StopAsync();
        return true;
    }

    // A loop that runs a script may not end soon: then the save does not begin either.
    private void WaitForLoopsToHeed()
    {
        if (Array.Exists(_loops, static loop => loop.Loop.IsCurrent)) return;
        using var limit = new CancellationTokenSource(DurabilityService.ScriptAtStopMs);
        try
        {
            WaitForLoops(limit.Token);
        }
        catch (OperationCanceledException)
        {
            // As above.
        }
    }

    /// <summary>As <see cref="TryStop"/>, after replicas have got everything. Not on a loop's thread.</summary>
    /// <param name="saving">Whether the data is saved.</param>
    /// <param name="forces">Whether the server stops although saving fails.</param>
    /// <returns>False if saving failed, or the wait was aborted: then the server goes on.</returns>
    internal bool TryStopAfterReplicas(StopSaving saving, bool forces) => Parts.Replicas.Shutdown.TryStop(TryStop, saving, forces);

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
            Do(Engine.Script.EndForStop);
            Do(_arrivals.Dispose);
            Do(Parts.Migrations.Stop); // while there are loops, which its transfers wake
            foreach (SessionLoop loop in _loops) loop.Loop.Post(loop.Loop.StopListening);
            bool haveEnded = true;
            foreach (SessionLoop loop in _loops) haveEnded &= Do(loop.Loop.Stop);
            foreach (SessionLoop loop in _loops) haveEnded = haveEnded && Do(loop.Loop.Dispose);
            Do(_endpoints.Dispose);
            Do(_pidFile.Remove);

            // A loop that broke may have left a stripe locked and its memory half changed: that is not touched again. The host's calls and the threads that
            // save and follow are not waited for then, so what they use stays, too.
            if (Failure is not null || !haveEnded) return;
            haveEnded &= Do(EndCallers);
            haveEnded &= Do(EndFollowing);
            haveEnded &= Do(EndDurability);
            if (haveEnded) Do(Release); // otherwise a thread may still use it
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

    private void EndFollowing()
    {
        _loaded.Wait();
        _follower.Dispose();
        _savesAtStop &= !_follower.History.IsIncomplete;
    }

    private void EndDurability()
    {
        _haveLoopsEnded = true;
        Parts.Durability.Stop(_savesAtStop && _isLoaded);
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
