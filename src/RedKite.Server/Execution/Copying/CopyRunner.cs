using System.Diagnostics;
using RedKite.Server.Model;
using RedKite.Store.Keyspace;

namespace RedKite.Server.Execution.Copying;

/// <summary>
/// Makes the copies that clients wait for (COPY of a large value), a slice at a time on the client's own thread. The stripes
/// of both keys are locked during a slice and free between slices. A complete copy, and one whose source has changed, end
/// the same way: the client's command executes again, and attaches the copy, starts over, or replies according to the data at that time.
/// </summary>
internal sealed class CopyRunner(Engine engine, CommandExecutor executor)
{
    private readonly Keyspace _keyspace = engine.Keyspace;
    private readonly CommandEnvironment _environment = executor.Environment;

    /// <summary>Slices that were run.</summary>
    internal long Slices { get; private set; }

    /// <summary>Runs a slice of a client's copy. It waits for no stripe: if one is busy, it does nothing.</summary>
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
        executor.Metrics.Of(client.Request.Command.Index).TotalNs += ServerClock.TicksToNs(ticks);
        client.ExecutedTicks += ticks;
        if (!waits) executor.Account.NoteWaited(client, end); // before the reply: the client may read the log next
        executor.Invoker.DeliverServed();
        return waits;
    }

    /// <summary>Frees the copy of a client that has ended, and waits for its stripes.</summary>
    internal void Discard(BlockedClient client)
    {
        using LockScope locked = _keyspace.Lock(client.Stripes);
        client.Copy!.Discard();
    }

    private bool RunLocked(ref LockScope locked, BlockedClient client)
    {
        EntryCopy copy = client.Copy!;
        if (!client.HasEnded)
        {
            if (!copy.IsStale && !copy.RunSlice()) return true;
            if (copy.IsStale)
            {
                copy.Discard();
                client.CopyRestarts++;
            }

            executor.Invoker.ServeCopying(ref locked, client);
            if (client.Copy != copy) return true; // begun again
        }

        copy.Discard(); // unless it was attached
        return false;
    }
}
