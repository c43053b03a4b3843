using System.Globalization;
using RedKite.Protocol;
using RedKite.Server.Cluster;
using RedKite.Server.Config;
using RedKite.Server.Metrics;
using RedKite.Server.Model;
using RedKite.Store.Keyspace;

namespace RedKite.Server.Commands.Server;

/// <summary>
/// CLUSTER SLOT-STATS: what the slots of this node, or of its primary, hold and take. Keys are always counted. Time and bytes are summed over the executors' counters (<see cref="SlotCounters"/>);
/// memory is measured here (<see cref="SlotMemory"/>), so that commands pay nothing for it.
/// </summary>
internal sealed class ClusterSlotStatistics(ClusterService cluster, Func<MetricsRegistry> metrics)
{
    private static readonly (string Name, SlotStatistics Kept)[] Metrics =
    [
        ("key-count", SlotStatistics.None), ("memory-bytes", SlotStatistics.Memory), ("cpu-usec", SlotStatistics.Cpu), ("network-bytes-in", SlotStatistics.Net), ("network-bytes-out", SlotStatistics.Net),
    ];

    // CLUSTER SLOT-STATS <SLOTSRANGE start-slot end-slot | ORDERBY metric [LIMIT limit] [ASC | DESC]>
    internal void Reply(ref CommandContext cmd)
    {
        if (cmd.Count == 5 && cmd.Is(2, "SLOTSRANGE"u8)) ReplyRange(cmd);
        else if (cmd.Is(2, "ORDERBY"u8)) ReplyOrdered(cmd);
        else cmd.Reply.Error($"ERR unknown subcommand or wrong number of arguments for '{cmd.ShownText(1)}'. Try {cmd.ContainerText()} HELP.");
    }

    private void ReplyRange(scoped in CommandContext cmd)
    {
        if (!TrySlotOrReply(cmd, 3, out int first) || !TrySlotOrReply(cmd, 4, out int last)) return;
        if (first > last)
        {
            cmd.Reply.Error(string.Create(CultureInfo.InvariantCulture, $"ERR Start slot number {first} is greater than end slot number {last}"));
            return;
        }

        int[] slots = Covered(first, last);
        SlotStatistics kept = cmd.Settings.SlotStatistics;
        if (!TryMeasure(cmd, (kept & SlotStatistics.Memory) != 0 ? slots : [], out long[] memory)) return;
        Keyspace keyspace = cmd.Keyspace;
        ReplyStatistics(cmd, [.. slots.Select((slot, i) => Read(keyspace, slot, i < memory.Length ? memory[i] : 0))], kept);
    }

    private void ReplyOrdered(scoped in CommandContext cmd)
    {
        SlotStatistics kept = cmd.Settings.SlotStatistics;
        string name = cmd.Text(3);
        int metric = Array.FindIndex(Metrics, each => each.Name.Equals(name, StringComparison.OrdinalIgnoreCase));
        if (metric < 0 || (Metrics[metric].Kept & kept) != Metrics[metric].Kept)
        {
            cmd.Reply.Error("ERR Unrecognized sort metric for ORDERBY."u8);
            return;
        }

        if (!TryOptionsOrReply(cmd, out int limit, out bool ascends)) return;
        int[] slots = Covered(0, KeySlot.Count - 1);
        bool ordersByMemory = Metrics[metric].Kept == SlotStatistics.Memory;
        if (!TryMeasure(cmd, ordersByMemory ? slots : [], out long[] memory)) return;
        Keyspace keyspace = cmd.Keyspace;
        IEnumerable<Statistics> all = slots.Select((slot, i) => Read(keyspace, slot, ordersByMemory ? memory[i] : 0));
        IEnumerable<Statistics> ordered = ascends ? all.OrderBy(each => each.Of(metric)) : all.OrderByDescending(each => each.Of(metric)); // stable: by slot where they are equal
        Statistics[] shown = [.. ordered.Take(limit)];
        if (!ordersByMemory && (kept & SlotStatistics.Memory) != 0)
        {
            if (!TryMeasure(cmd, [.. shown.Select(static each => each.Slot)], out memory)) return;
            for (int i = 0; i < shown.Length; i++) shown[i] = shown[i] with { MemoryBytes = memory[i] };
        }

        ReplyStatistics(cmd, shown, kept);
    }

    private static bool TryOptionsOrReply(scoped in CommandContext cmd, out int limit, out bool ascends)
    {
        (limit, ascends) = (KeySlot.Count, false);
        bool hasLimit = false, hasOrder = false;
        for (int i = 4; i < cmd.Count; i++)
        {
            bool isAscending = cmd.Is(i, "ASC"u8);
            if (cmd.Is(i, "LIMIT"u8) && i + 1 < cmd.Count)
            {
                if (!RespNumber.TryParseInt64(cmd[i + 1], out long number) || number is < 1 or > KeySlot.Count)
                {
                    cmd.Reply.Error("ERR Limit has to lie in between 1 and 16384 (maximum number of slots)."u8);
                    return false;
                }

                if (hasLimit) return Repeated(cmd);
                (hasLimit, limit) = (true, (int)number);
                i++;
            }
            else if (isAscending || cmd.Is(i, "DESC"u8))
            {
                if (hasOrder) return Repeated(cmd);
                (hasOrder, ascends) = (true, isAscending);
            }
            else
            {
                cmd.ReplySyntaxError();
                return false;
            }
        }

        return true;

        static bool Repeated(scoped in CommandContext cmd)
        {
            cmd.Reply.Error("ERR Multiple filters of the same type are disallowed."u8);
            return false;
        }
    }

    private static void ReplyStatistics(scoped in CommandContext cmd, Statistics[] slots, SlotStatistics kept)
    {
        ReplyWriter reply = cmd.Reply;
        reply.Array(slots.Length);
        int count = Metrics.Count(metric => (metric.Kept & kept) == metric.Kept);
        foreach (Statistics statistics in slots)
        {
            reply.Array(2);
            reply.Integer(statistics.Slot);
            reply.Map(count);
            for (int i = 0; i < Metrics.Length; i++)
            {
                if ((Metrics[i].Kept & kept) != Metrics[i].Kept) continue;
                reply.Bulk(Metrics[i].Name);
                reply.Integer(statistics.Of(i));
            }
        }
    }

    // The slots of this node, or of its primary.
    private int[] Covered(int first, int last)
    {
        ClusterState state = cluster.State;
        int owner = state.Topology.IndexOf(state.Self.PrimaryId ?? state.SelfId);
        return [.. Enumerable.Range(first, last - first + 1).Where(slot => state.Topology.Owners[slot] == owner)];
    }

    private Statistics Read(Keyspace keyspace, int slot, long memoryBytes)
    {
        SlotCounts counts = metrics().SlotCountsOf(slot);
        return new Statistics(slot, SlotMemory.CountKeys(keyspace, slot), memoryBytes, counts.Ns / 1000, counts.BytesIn, counts.BytesOut);
    }

    // False: a script is busy, which is the reply.
    private static bool TryMeasure(scoped in CommandContext cmd, int[] slots, out long[] bytes)
    {
        bytes = [];
        return slots.Length == 0 || SlotMemory.TryMeasure(cmd, slots, out bytes);
    }

    private static bool TrySlotOrReply(scoped in CommandContext cmd, int index, out int slot)
    {
        bool isSlot = RespNumber.TryParseInt64(cmd[index], out long number) && number is >= 0 and < KeySlot.Count;
        slot = (int)number;
        if (!isSlot) cmd.Reply.Error("ERR Invalid or out of range slot"u8);
        return isSlot;
    }

    private readonly record struct Statistics(int Slot, long Keys, long MemoryBytes, long Microseconds, long BytesIn, long BytesOut)
    {
        // In the order of the metrics.
        internal long Of(int metric) => metric switch
        {
            0 => Keys,
            1 => MemoryBytes,
            2 => Microseconds,
            3 => BytesIn,
            _ => BytesOut,
        };
    }
}
