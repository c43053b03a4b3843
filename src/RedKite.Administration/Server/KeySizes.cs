using System.Globalization;
using RedKite.Server.Diagnostics;
using RedKite.Server.Model;
using RedKite.Store.Keyspace;
using RedKite.Store.Values;

namespace RedKite.Server.Commands.Server;

/// <summary>
/// INFO's keysizes section: the number of keys by size (bytes of strings, elements of other values) in powers of two, for each database and type.
/// </summary>
/// <remarks>
/// The keys are counted when INFO is called, so that commands that change them pay nothing. A database with more keys than
/// <see cref="CountedKeysMax"/> is sampled: some buckets of every stripe, which hashing fills at random, and the counts are
/// multiplied accordingly. 4,096 keys take about 0.4 ms.
/// </remarks>
internal static class KeySizes
{
    internal const int CountedKeysMax = 4096;

    private const int Bins = 64; // 0, then one for each power of two

    internal static void Write(scoped in CommandContext cmd, InfoText text)
    {
        text.Section("Keysizes"u8);
        StoredType[] types = [.. StoredTypes.All]; // in Redis's order
        long[][] counts = NewCounts();
        long[][]? bytes = cmd.Settings.KeyMemoryHistograms ? NewCounts() : null;
        foreach (Database database in cmd.Keyspace.Databases)
        {
            long keys = database.Count;
            if (keys == 0) continue;
            foreach (long[] ofType in counts) Array.Clear(ofType);
            foreach (long[] ofType in bytes ?? []) Array.Clear(ofType);
            long seen = Count(cmd, database, keys, counts, bytes);
            if (seen == 0) continue;
            double factor = keys > CountedKeysMax ? (double)keys / seen : 1;
            foreach (StoredType type in types)
            {
                if (type.SizesField is { } field) WriteLine(text, database.Index, field, counts[(int)type.Number], factor);
                if (bytes is not null && type.MemoryField is { } memoryField) WriteLine(text, database.Index, memoryField, bytes[(int)type.Number], factor);
            }
        }
    }

    // By the types' numbers.
    private static long[][] NewCounts() => [.. Enumerable.Range(0, StoredTypes.CountMax).Select(_ => new long[Bins])];

    // Counts every key of a small database, and of a large one the same share in every stripe.
    private static long Count(scoped in CommandContext cmd, Database database, long keys, long[][] counts, long[][]? bytes)
    {
        long seen = 0;
        var entries = new EntryList();
        for (int stripe = 0; stripe < cmd.Keyspace.Stripes.Length; stripe++)
        {
            if (!cmd.Environment.TryEnterStripe(stripe)) break;
            if (database.TableIn(stripe) is { Count: > 0 } table)
            {
                long wanted = keys > CountedKeysMax ? (table.Count * CountedKeysMax / keys) + 1 : long.MaxValue;
                TableCursor cursor = default;
                bool more = true;
                for (long seenHere = 0; more && seenHere < wanted; seenHere += entries.Count)
                {
                    entries.Clear();
                    more = table.NextBucket(ref cursor, entries);
                    foreach (Entry entry in entries) CountKey(database, entry, counts, bytes);
                    seen += entries.Count;
                }
            }

            cmd.Environment.ExitStripe(stripe);
        }

        return seen;
    }

    private static void CountKey(Database database, Entry entry, long[][] counts, long[][]? bytes)
    {
        StoredType type = StoredTypes.Of(entry);
        if (type.SizesField is not null) counts[(int)type.Number][TypeSurvey.BinOf(type.SizeOf(database, entry))]++;
        if (bytes is not null && type.MemoryField is not null) bytes[(int)type.Number][TypeSurvey.BinOf(entry.MemoryBytes)]++;
    }

    private static void WriteLine(InfoText text, int database, string field, long[] counts, double factor)
    {
        IEnumerable<string> bins = Enumerable.Range(0, Bins)
            .Where(bin => counts[bin] > 0)
            .Select(bin => string.Create(CultureInfo.InvariantCulture, $"{NameOf(bin)}={Math.Max(1, (long)Math.Round(counts[bin] * factor))}"));
        string line = string.Join(',', bins);
        if (line.Length > 0) text.Line(string.Create(CultureInfo.InvariantCulture, $"db{database}_distrib_{field}:{line}"));
    }

    // 0, 1, 2, 4, ..., 512, 1K, 2K, ..., 1M, ...
    private static string NameOf(int bin)
    {
        if (bin == 0) return "0";
        int thousands = (bin - 1) / 10;
        string unit = thousands == 0 ? "" : "KMGTPE"[thousands - 1].ToString();
        return (1 << ((bin - 1) % 10)).ToString(CultureInfo.InvariantCulture) + unit;
    }
}
