using System.Runtime.CompilerServices;
using RedKite.Server.Config;
using RedKite.Store.Keyspace;

namespace RedKite.Server.Metrics;

/// <summary>What the commands on the keys of a slot have taken.</summary>
internal struct SlotCounts
{
    internal long Ns;
    internal long BytesIn;
    internal long BytesOut;
}

/// <summary>
/// The counts of all slots in one executor, which alone adds to them; CLUSTER SLOT-STATS sums over all executors. There are none before the first command that is counted: 384 KiB for each executor.
/// </summary>
internal sealed class SlotCounters
{
    private readonly SlotCounts[] _slots = new SlotCounts[KeySlot.Count];

    /// <summary>How many commands were added: one indexed addition for each.</summary>
    internal long Additions { get; private set; }

    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    internal void Add(SlotStatistics kept, int slot, long ns, long bytesIn, long bytesOut)
    {
        ref SlotCounts counts = ref _slots[slot];
        if ((kept & SlotStatistics.Cpu) != 0) counts.Ns += ns;
        if ((kept & SlotStatistics.Net) != 0)
        {
            counts.BytesIn += bytesIn;
            counts.BytesOut += bytesOut;
        }

        Additions++;
    }

    /// <summary>Adds a slot's counts to a sum. From any thread.</summary>
    internal void AddTo(ref SlotCounts sum, int slot)
    {
        ref readonly SlotCounts counts = ref _slots[slot];
        sum.Ns += Volatile.Read(in counts.Ns);
        sum.BytesIn += Volatile.Read(in counts.BytesIn);
        sum.BytesOut += Volatile.Read(in counts.BytesOut);
    }

    /// <summary>Adds the counts of an executor that has ended.</summary>
    internal void Add(SlotCounters other)
    {
        for (int slot = 0; slot < _slots.Length; slot++) other.AddTo(ref _slots[slot], slot);
    }

    /// <summary>From any thread: counts that arrive meanwhile may survive it.</summary>
    internal void Reset() => Array.Clear(_slots);

    /// <inheritdoc cref="Reset()"/>
    internal void Reset(int slot) => _slots[slot] = default;
}
