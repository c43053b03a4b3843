using RedKite.Persistence.Rdb;

namespace RedKite.Server.Durability;

/// <summary>A record of data that is no key.</summary>
/// <param name="Data">Its kind.</param>
/// <param name="Record">The record.</param>
internal readonly record struct KeylessRecord(IKeylessData Data, byte[] Record)
{
    internal byte[][] LoadRequest(bool replaces) => Data.LoadRequest(Record, replaces);
}

/// <summary>
/// All that a server has beside its keys, in the order in which it is written and loaded. It changes only while the server is made.
/// </summary>
internal sealed class KeylessData
{
    private readonly List<IKeylessData> _kinds = [];

    internal IReadOnlyList<IKeylessData> Kinds => _kinds;

    /// <summary>All records. While the script mutex is held, or nothing is executed.</summary>
    internal List<KeylessRecord> Records => [.. _kinds.SelectMany(static kind => kind.Records.Select(record => new KeylessRecord(kind, record)))];

    internal void Add(IKeylessData kind) => _kinds.Add(kind);

    internal static void Write(RdbFileWriter writer, IEnumerable<KeylessRecord> records)
    {
        foreach (KeylessRecord record in records) record.Data.Form.Write(writer, record.Record);
    }

    /// <summary>The record that an item of an RDB file is; null: it is none.</summary>
    internal KeylessRecord? RecordOf(RdbBatch batch, in RdbItem item)
    {
        if (item.Kind is not (RdbItemKind.Function or RdbItemKind.Aux)) return null;
        foreach (IKeylessData kind in _kinds)
        {
            if (kind.Form.Is(batch, item)) return new KeylessRecord(kind, batch.TextOf(item).ToArray());
        }

        return null;
    }

    /// <summary>Replaces everything.</summary>
    /// <param name="records">What replaces it.</param>
    /// <param name="execute">Executes a request, and returns its error.</param>
    /// <returns>What is wrong with the first record that cannot be loaded; null: nothing.</returns>
    internal string? Replace(IEnumerable<KeylessRecord> records, Func<byte[][], string?> execute)
    {
        Clear(execute);
        foreach (KeylessRecord record in records)
        {
            if (execute(record.LoadRequest(replaces: true)) is { } error) return $"{record.Data.RecordName} cannot be loaded: {error}";
        }

        return null;
    }

    /// <summary>Removes everything.</summary>
    internal void Clear(Func<byte[][], string?> execute)
    {
        foreach (IKeylessData kind in _kinds) execute(kind.ClearRequest);
    }

    /// <summary>FLUSHALL has removed all keys. While the script mutex and all stripes are held.</summary>
    internal void KeysFlushed()
    {
        foreach (IKeylessData kind in _kinds) kind.KeysFlushed();
    }
}
