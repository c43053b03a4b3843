using System.Diagnostics;
using RedKite.Net.Interop;
using RedKite.Server.Config;
using RedKite.Store.Keyspace;

namespace RedKite.Server.Diagnostics.Actions;

/// <summary>
/// Returns memory that is held for reuse to the system when memory is short: less than `return-memory-below` percent of the machine's, or of the
/// container's, is available. It does what MEMORY PURGE does. The managed heap is left to the
/// runtime, which collects by itself when memory is short. On the diagnostics thread.
/// </summary>
internal sealed class MemoryReturn(Settings settings, ActionLog actions, BufferPool buffers)
{
    // Below this it is not worth the page faults of the next use.
    internal const long ReturnedBytesMin = 16 << 20;

    private static readonly TimeSpan Period = TimeSpan.FromMinutes(1);

    private long _last;

    internal void Look(Observation observation, Keyspace keyspace)
    {
        int percent = settings.ReturnMemoryBelowPercent;
        MachineFigures machine = observation.Machine;
        double? known = AvailablePercent(machine.MemoryAvailableBytes, machine.MemoryTotalBytes, machine.CgroupMemoryBytes, machine.CgroupMemoryLimitBytes);
        if (percent == 0 || known is not { } available || available >= percent) return;
        long held = observation.Memory.Active - observation.Memory.Allocated;
        if (held < ReturnedBytesMin || (_last != 0 && Stopwatch.GetElapsedTime(_last) < Period)) return;
        long before = keyspace.HeldBytes;
        Return(keyspace);
        long returned = before - keyspace.HeldBytes;
        if (returned <= 0) return; // all of it is between blocks in use
        _last = Stopwatch.GetTimestamp();
        actions.Note(ActionTable.ReturnMemory, string.Create(System.Globalization.CultureInfo.InvariantCulture, $"{available:0.#} % of the memory was available, and {returned} bytes were returned to the system"));
    }

    /// <summary>How much of the machine's or the container's memory is available, whichever has less; null: unknown.</summary>
    internal static double? AvailablePercent(double available, double total, double containerUsed, double containerLimit)
    {
        double ofMachine = 100 * available / total;
        double ofContainer = 100 * (1 - (containerUsed / containerLimit));
        double least = double.IsNaN(ofContainer) ? ofMachine : double.IsNaN(ofMachine) ? ofContainer : Math.Min(ofMachine, ofContainer);
        return double.IsFinite(least) ? least : null;
    }

    // A stripe that is locked keeps its memory until the next time: this thread waits for no lock.
    private void Return(Keyspace keyspace)
    {
        for (int i = 0; i < keyspace.Stripes.Length; i++)
        {
            Stripe stripe = keyspace.Stripes[i];
            if (!stripe.TryEnter()) continue;
            try
            {
                stripe.ReleaseUnused();
            }
            catch (Exception failure) when (keyspace.FailStop.Ends(failure, StripeSet.Of(i), "returning memory"))
            {
                throw;
            }

            stripe.Exit();
        }

        keyspace.ReleaseFreeMemory();
        buffers.ReleaseKept();
    }
}
