using System.Globalization;
using RedKite.Server.Diagnostics;
using RedKite.Server.Model;
using RedKite.Store.Keyspace;

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

    // In Redis's order, with the names of its fields. Streams have none.
    private static readonly (DataType Type, string Field)[] Types =
    [
        (DataType.String, "strings_sizes"), (DataType.List, "lists_items"), (DataType.Set, "sets_items"),
        (DataType.SortedSet, "zsets_items"), (DataType.Hash, "hashes_items"),
    ];

    // The fields of the memory of values, with the setting key-memory-histograms.
    private static readonly string?[] MemoryFields = [null, "lists_sizes", "sets_sizes", "zsets_sizes", "hashes_sizes"];

    internal static void Write(scoped in CommandContext cmd, InfoText text)
    {
        text.Section("Keysizes"u8);
        long[][] counts = [.. Types.Select(_ => new long[Bins])];
        long[][]? bytes = cmd.Settings.KeyMemoryHistograms ? [.. Types.Select(_ => new long[Bins])] : null;
        foreach (Database database in cmd.Keyspace.Databases)
        {
            long keys = database.Count;
            if (keys == 0) continue;
            foreach (long[] ofType in counts) Array.Clear(ofType);
            foreach (long[] ofType in bytes ?? []) Array.Clear(ofType);
            long seen = Count(cmd, database, keys, counts, bytes);
            if (seen == 0) continue;
            double factor = keys > CountedKeysMax ? (double)keys / seen : 1;
            for (int i = 0; i < Types.Length; i++)
            {
                WriteLine(text, database.Index, Types[i].Field, counts[i], factor);
                if (bytes is not null && MemoryFields[i] is { } field) WriteLine(text, database.Index, field, bytes[i], factor);
            }
        }
    }

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
        int index = IndexOf(entry.Type);
        if (index < 0) return;
        counts[index][TypeSurvey.BinOf(KeySurvey.SizeOf(database, entry))]++;
        if (bytes is not null) bytes[index][TypeSurvey.BinOf(entry.MemoryBytes)]++;
    }

    private static int IndexOf(DataType type)
    {
        for (int i = 0; i < Types.Length; i++)
        {
            if (Types[i].Type == type) return i;
        }

        return -1;
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
