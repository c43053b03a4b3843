using RedKite.Figures.Scenarios;

namespace RedKite.Figures.Cluster;

/// <summary>
/// Bytes of a key in cluster mode and without, each round in a new process: of keys in all slots, and of ten times as many, all of them in one slot, next to as many without cluster mode.
/// </summary>
internal static class SlotMemory
{
    internal const string Name = "memory";

    private const int Keys = 1_000_000;
    private const int InOneSlot = 10; // times as many
    private const int ValueBytes = 32;
    private const int RoundsMax = 3;
    private const double MoreMax = 3;
    private const double MoreInOneSlotMax = 4;

    // As long as those of KeyForm.Memory.
    private static readonly KeyForm OneSlot = new("{s}:", 11);

    internal static void Measure(Options options, Report report)
    {
        int keys = options.Keys ?? Keys;
        var table = new Table("bytes of a key", new("keys"), new("server"), new("RSS bytes/key without cluster", "F1"), new("range", "F1"), new("in cluster mode", "F1"), new("its range", "F1"), new("RSS more", "F1"), new("used_memory more", "F1"));
        report.Tables.Add(table);
        Measure(ClusterNodes.Compared(options, report), options, table, report, KeyForm.Memory, keys, Math.Min(options.Rounds, RoundsMax), "keys in all slots", MoreMax);
        Measure(ClusterNodes.Compared(options, report), options, table, report, OneSlot, InOneSlot * keys, 1, "keys in one slot", MoreInOneSlotMax);
    }

    private static void Measure(ServerKind[] kinds, Options options, Table table, Report report, KeyForm form, int keys, int rounds, string what, double moreMax)
    {
        int valueBytes = options.ValueBytes ?? ValueBytes;
        foreach (ServerKind kind in kinds)
        {
            List<MemoryScenario.Growth> plain = [], cluster = [];
            for (int round = 0; round < rounds; round++)
            {
                plain.Add(MemoryScenario.Measure(ServerUnderTest.Start(kind), KeyForm.Memory, keys, valueBytes));
                cluster.Add(MemoryScenario.Measure(ClusterNodes.StartAlone(kind), form, keys, valueBytes, server => Check(server, form, keys)));
            }

            Spread without = Spread.Of(plain.Select(static growth => growth.Resident)), with = Spread.Of(cluster.Select(static growth => growth.Resident));
            Spread more = Spread.Of(cluster.Zip(plain, static (with, without) => with.Resident - without.Resident));
            table.Add(FormattableString.Invariant($"{keys:N0} {what}"), kind.Name, without.Median, without.Range, with.Median, with.Range, more.Median, Median.Of([.. cluster.Zip(plain, static (with, without) => with.Used - without.Used)]));
            if (kind.Name == "redkite") report.Targets.Add(Target.AtMost(moreMax, FormattableString.Invariant($"bytes a key more than without cluster mode, {keys:N0} {what}"), more));
        }
    }

    // That all of them are in the slot of one of them.
    private static void Check(ServerUnderTest server, KeyForm form, int keys)
    {
        if (form != OneSlot) return;
        using SetupConnection connection = server.Connect();
        string counted = connection.Run("CLUSTER", "COUNTKEYSINSLOT", connection.Run("CLUSTER", "KEYSLOT", form.Prefix));
        if (counted != ClusterNodes.Text(keys)) throw new CannotMeasureException($"{server.Name} counts {counted} of {keys} keys in the slot");
    }
}
