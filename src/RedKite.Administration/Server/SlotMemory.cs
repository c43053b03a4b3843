using RedKite.Server.Model;
using RedKite.Store.Keyspace;

namespace RedKite.Server.Commands.Server;

/// <summary>
/// The memory of the keys and values of slots, measured when it is asked for: commands that change them pay nothing. What that takes is bounded, whatever the slots hold: of a slot with many keys
/// some are measured, which hashing chooses at random, and stand for the others.
/// </summary>
internal static class SlotMemory
{
    // Of one table, up to this many keys are all measured: some 0.3 ms, and 20 ms for the tables of all stripes.
    internal const int WholeTableKeysMax = 4096;

    // Of a larger one, keys of each slot that is asked for. Together with the next limit: 40 ms for all slots.
    internal const int SlotKeysMax = 4096;
    internal const int SlotBucketsMax = 16;

    /// <summary>The keys of a slot in all databases, without hidden ones.</summary>
    internal static long CountKeys(Keyspace keyspace, int slot)
    {
        if (keyspace.HiddenSlots?.Contains(slot) == true) return 0;
        long keys = 0;
        foreach (Database database in keyspace.Databases) keys += database.CountOfSlot(slot);
        return keys;
    }

    /// <summary>Measures slots. False: a script is busy, which is the reply.</summary>
    /// <param name="cmd">The command.</param>
    /// <param name="slots">The slots.</param>
    /// <param name="bytes">The bytes of each.</param>
    internal static bool TryMeasure(scoped in CommandContext cmd, int[] slots, out long[] bytes)
    {
        bytes = new long[slots.Length];
        Keyspace keyspace = cmd.Keyspace;
        foreach (IGrouping<int, int> ofStripe in Enumerable.Range(0, slots.Length).Where(i => CountKeys(keyspace, slots[i]) > 0).GroupBy(i => slots[i] % keyspace.Stripes.Length))
        {
            if (!cmd.Environment.TryEnterStripe(ofStripe.Key)) return false;
            try
            {
                foreach (Database database in cmd.Keyspace.Databases)
                {
                    if (database.TableIn(ofStripe.Key) is not { Count: > 0 } table) continue;
                    Measure(table, keyspace.Hasher, [.. ofStripe], slots, bytes, isAlone: slots.Length == 1);
                }
            }
            finally
            {
                cmd.Environment.ExitStripe(ofStripe.Key);
            }
        }

        return true;
    }

    // Adds what the slots of one stripe hold in a table of it.
    private static void Measure(Table table, KeyHasher hasher, int[] indexes, int[] slots, long[] bytes, bool isAlone)
    {
        var seen = new (long Bytes, long Keys)[hasher.SlotsOfStripe];
        if (table.Count <= WholeTableKeysMax)
        {
            Walk(table, hasher, 0, hasher.SlotsOfStripe - 1, int.MaxValue, WholeTableKeysMax, seen); // one that has emptied has many buckets
        }
        else
        {
            foreach (int i in indexes)
            {
                int index = hasher.IndexOfSlot(slots[i]);
                Walk(table, hasher, index, index, isAlone ? SlotKeysMax : 1, isAlone ? SlotKeysMax : SlotBucketsMax, seen);
            }
        }

        long allBytes = seen.Sum(static each => each.Bytes), allKeys = seen.Sum(static each => each.Keys);
        foreach (int i in indexes)
        {
            long count = table.CountOfSlot(slots[i]);
            (long seenBytes, long seenKeys) = seen[hasher.IndexOfSlot(slots[i])];
            if (seenKeys == 0) (seenBytes, seenKeys) = (allBytes, allKeys); // its few keys were not among those that were looked at
            if (seenKeys > 0) bytes[i] += seenKeys == count ? seenBytes : (long)((double)seenBytes / seenKeys * count);
        }
    }

    private static void Walk(Table table, KeyHasher hasher, int first, int last, int keysMax, int bucketsMax, (long Bytes, long Keys)[] seen)
    {
        var entries = new EntryList();
        var cursor = new TableCursor(table.FirstPrefix(first), Depth: 0, Bucket: 0);
        bool more = true;
        for (int buckets = 0; more && buckets < bucketsMax && seen[first].Keys < keysMax; buckets++)
        {
            entries.Clear();
            more = table.NextBucket(ref cursor, entries) && cursor.Prefix <= table.LastPrefix(last);
            foreach (Entry entry in entries)
            {
                ref (long Bytes, long Keys) slot = ref seen[hasher.IndexOfSlot(KeySlot.Of(entry.Key))];
                slot.Bytes += entry.MemoryBytes;
                slot.Keys++;
            }
        }
    }
}
