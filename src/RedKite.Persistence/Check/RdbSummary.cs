using System.Text;
using RedKite.Persistence.Files;
using RedKite.Persistence.Rdb;
using RedKite.Store.Keyspace;
using RedKite.Store.Values;

namespace RedKite.Persistence.Check;

/// <summary>A key of a file.</summary>
internal sealed record CheckedKey(int Database, string Name, string Type, long Bytes);

/// <summary>The keys of one type in a database, and their size in the file.</summary>
internal readonly record struct TypeSummary(long Keys, long Bytes);

/// <summary>A database of a file.</summary>
internal sealed class DatabaseSummary
{
    internal long Keys { get; private set; }

    internal long Expiring { get; private set; }

    internal long Expired { get; private set; }

    internal SortedDictionary<string, TypeSummary> Types { get; } = new(StringComparer.Ordinal);

    internal void Add(string type, long bytes, bool expires, bool hasExpired)
    {
        Keys++;
        if (expires) Expiring++;
        if (hasExpired) Expired++;
        TypeSummary sum = Types.GetValueOrDefault(type);
        Types[type] = new TypeSummary(sum.Keys + 1, sum.Bytes + bytes);
    }
}

/// <summary>
/// Verifies RDB data by building every value, one at a time, and says what it holds. Memory is that of the largest value.
/// </summary>
internal sealed class RdbSummary
{
    internal const int LargestMax = 10;

    private readonly PriorityQueue<CheckedKey, long> _largest = new();

    private RdbSummary(RdbFileReader reader) => (Family, Version) = (reader.Family, reader.Version);

    internal RdbFamily Family { get; }

    internal int Version { get; }

    internal SortedDictionary<int, DatabaseSummary> Databases { get; } = [];

    /// <summary>The fields that describe the file, in its order.</summary>
    internal List<(string Name, string Value)> Fields { get; } = [];

    internal int Functions { get; private set; }

    /// <summary>The data of modules that was passed over, by module.</summary>
    internal SortedDictionary<string, long> SkippedModules { get; } = new(StringComparer.Ordinal);

    /// <summary>Keys of collections without elements, which old versions wrote; they are not loaded.</summary>
    internal long EmptyKeys { get; private set; }

    /// <summary>Keys whose values state something wrongly that follows from their elements, as sentences; the first ones.</summary>
    internal List<string> Corrected { get; } = [];

    /// <summary>The position behind the data.</summary>
    internal long End { get; private set; }

    internal bool IsSumChecked { get; private set; }

    /// <summary>The largest keys, largest first.</summary>
    internal IEnumerable<CheckedKey> Largest => _largest.UnorderedItems.Select(item => item.Element).OrderByDescending(key => key.Bytes).ThenBy(key => key.Name, StringComparer.Ordinal);

    /// <summary>Verifies RDB data.</summary>
    /// <param name="file">The file that begins with it.</param>
    /// <param name="options">How to read it.</param>
    /// <param name="nowMs">The time by which keys count as expired.</param>
    /// <exception cref="RdbFileException">It is damaged, or has something that cannot be read.</exception>
    internal static RdbSummary Of(IOpenFile file, RdbReadOptions options, long nowMs)
    {
        using RdbFileReader reader = RdbFileReader.Open(file, options);
        using var keyspace = new Keyspace(1, 1);
        using var scratch = new RdbScratch();
        using var batch = new RdbBatch();
        var summary = new RdbSummary(reader);
        while (reader.TryRead(batch))
        {
            foreach (RdbItem item in batch.Items) summary.Add(batch, item, keyspace, scratch, nowMs);
        }

        summary.End = reader.Position;
        summary.IsSumChecked = reader.IsSumChecked;
        return summary;
    }

    private void Add(RdbBatch batch, in RdbItem item, Keyspace keyspace, RdbScratch scratch, long nowMs)
    {
        switch (item.Kind)
        {
            case RdbItemKind.Aux:
                Fields.Add((RdbTypes.Shown(batch.NameOf(item))[1..^1], RdbTypes.Shown(batch.TextOf(item))[1..^1]));
                break;
            case RdbItemKind.Function:
                Functions++;
                break;
            case RdbItemKind.SkippedModule:
                string module = RdbTypes.Shown(batch.TextOf(item))[1..^1];
                SkippedModules[module] = SkippedModules.GetValueOrDefault(module) + 1;
                break;
            case RdbItemKind.Key:
                AddKey(batch, item, Verify(batch, item, keyspace, scratch), nowMs);
                break;
        }
    }

    // Returns the type of the value: a vector set is written as a module's.
    private string Verify(RdbBatch batch, in RdbItem item, Keyspace keyspace, RdbScratch scratch)
    {
        Database database = keyspace.Databases[0];
        ReadOnlySpan<byte> key = batch.NameOf(item);
        ulong hash = keyspace.Hash(key);
        switch (batch.Build(item, new RdbTarget(database, key, hash, 0, 0, ExpiryClock.Never, RdbLimits.Default), scratch))
        {
            case RdbOutcome.Loaded:
                if (scratch.Corrected is { } what && Corrected.Count < LargestMax) Corrected.Add($"{RdbTypes.Shown(key)} in database {item.Database} states {what} wrongly, which is determined anew");
                Entry entry = database.Find(key, hash, ExpiryClock.Never);
                string type = Encoding.ASCII.GetString(StoredTypes.Of(entry).Name);
                database.Unlink(entry, UnlinkReason.Deleted);
                new BackgroundSweep(keyspace, 0, 1).Run(0, long.MaxValue, expire: false);
                return type;
            case RdbOutcome.Corrupt:
                throw batch.Failure(item, "the value is damaged");
            case RdbOutcome.Empty:
                EmptyKeys++;
                break;
        }

        return RdbTypes.NameOf(item.Type);
    }

    private void AddKey(RdbBatch batch, in RdbItem item, string type, long nowMs)
    {
        if (!Databases.TryGetValue(item.Database, out DatabaseSummary? database)) Databases[item.Database] = database = new DatabaseSummary();
        database.Add(type, item.ValueBytes, expires: item.ExpiryMs >= 0, hasExpired: item.ExpiryMs >= 0 && item.ExpiryMs <= nowMs);
        if (_largest.Count == LargestMax && _largest.TryPeek(out _, out long smallest) && smallest >= item.ValueBytes) return;
        if (_largest.Count == LargestMax) _largest.Dequeue();
        _largest.Enqueue(new CheckedKey(item.Database, RdbTypes.Shown(batch.NameOf(item)), type, item.ValueBytes), item.ValueBytes);
    }
}
