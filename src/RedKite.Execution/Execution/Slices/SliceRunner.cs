using System.Diagnostics;
using RedKite.Server.Model;
using RedKite.Store.Keyspace;

namespace RedKite.Server.Execution.Slices;

/// <summary>
/// Does the work that clients wait for (COPY of a large value, a long search of a vector set), a slice at a time on the client's own thread.
/// The stripes of the command's keys are locked during a slice and free between slices. Complete work, and what has become stale, end the
/// same way: the client's command executes again, and uses what was done, begins again, or replies according to the data at that time.
/// </summary>
internal sealed class SliceRunner(Engine engine, CommandExecutor executor)
{
    private readonly Keyspace _keyspace = engine.Keyspace;
    private readonly CommandEnvironment _environment = executor.Environment;

    /// <summary>Slices that were run.</summary>
    internal long Slices { get; private set; }

    /// <summary>Runs a slice of a client's work. It waits for no stripe: if one is busy, it does nothing.</summary>
    /// <returns>Whether the client still waits.</returns>
    internal bool RunSlice(BlockedClient client)
    {
        LockScope locked = LockScope.Adopt(_keyspace, StripeSet.Empty);
        if (!locked.TryGrow(client.Stripes)) return true;
        bool waits;
        long start = Stopwatch.GetTimestamp();
        try
        {
            waits = RunLocked(ref locked, client);
        }
        catch (Exception failure) when (_keyspace.FailStop.Ends(failure, locked.Held, client.Request.Command.FullName))
        {
            throw;
        }
        finally
        {
            _environment.HeldStripes = StripeSet.Empty;
            locked.Dispose();
        }

        long end = Stopwatch.GetTimestamp();
        long ticks = end - start;
        Slices++;
        executor.Metrics.Of(client.Request.Command.Index).AddTime(ServerClock.TicksToNs(ticks));
        client.NoteExecuted(ticks);
        if (!waits) executor.Account.NoteWaited(client, end); // before the reply: the client may read the log next
        executor.Invoker.Blocked.Deliver();
        if (engine.Tracking.HasBroadcast) engine.Tracking.Broadcast(executor.Recording.Changes); // no other executor sends what this one has changed
        return waits;
    }

    /// <summary>Discards the work of a client whose command a pause holds, if other work waits for it: it begins again behind the pause. If its stripes are busy, it does nothing.</summary>
    internal void DiscardForPause(BlockedClient client)
    {
        SlicedWork work = client.Work!;
        if (!work.KeepsOthersWaiting) return;
        LockScope locked = LockScope.Adopt(_keyspace, StripeSet.Empty);
        if (!locked.TryGrow(client.Stripes)) return;
        try
        {
            work.Discard();
            if (!work.IsStale) client.Restarts--; // which its beginning again counts: the data is the same
            work.IsStale = true;
        }
        finally
        {
            locked.Dispose();
        }
    }

    /// <summary>Discards the work of a client that has ended, and waits for its stripes.</summary>
    internal void Discard(BlockedClient client)
    {
        using LockScope locked = _keyspace.Lock(client.Stripes);
        client.Work!.Discard();
    }

    private bool RunLocked(ref LockScope locked, BlockedClient client)
    {
        SlicedWork work = client.Work!;
        if (!client.HasEnded)
        {
            if (executor.Engine.Pause.IsLastSave && !executor.IsTrusted && client.Request.Command.Is(CommandFlags.Write)) return true; // behind the snapshot point: it waits for the server's end, or until it goes on after all
            if (!work.IsStale && !work.RunSlice() && !work.TakesTooLong) return true;
            if (work.IsStale)
            {
                work.Discard();
                client.Restarts++;
            }

            executor.Invoker.Blocked.ServeWorking(ref locked, client);
            if (client.Work != work)
            {
                executor.Invoker.Blocked.Serve(ref locked);
                return true; // begun again
            }
        }

        work.Discard(); // unless it was used
        executor.Invoker.Blocked.Serve(ref locked);
        return false;
    }
}
