using RedKite.Persistence.Files;
using RedKite.Persistence.Rdb;
using RedKite.Store.Keyspace;

namespace RedKite.Persistence.Aof;

/// <summary>
/// Converts a base in RDB form to one of commands (aof-use-rdb-preamble no). Values are built one at a time beside the server's data, so
/// it needs the memory of the largest one. Rejected: a snapshot that writes commands itself. Every type would need its slices twice.
/// </summary>
internal static class CommandBase
{
    /// <summary>Converts RDB data.</summary>
    /// <param name="file">The RDB file.</param>
    /// <param name="output">Receives the commands. The caller flushes it.</param>
    /// <exception cref="FileFailure">The file cannot be read, or a value cannot be written.</exception>
    internal static void Convert(IOpenFile file, CommandOutput output)
    {
        using RdbFileReader reader = RdbFileReader.Open(file, new RdbReadOptions());
        using var keyspace = new Keyspace(1, 1);
        using var values = new ValueCommands(output);
        using var scratch = new RdbScratch();
        using var batch = new RdbBatch();
        int selected = -1;
        while (reader.TryRead(batch))
        {
            foreach (ref readonly RdbItem item in batch.Items)
            {
                if (item.Kind == RdbItemKind.Function) output.Begin("FUNCTION"u8, 2).Argument("LOAD"u8).Argument(batch.TextOf(item));
                if (item.Kind != RdbItemKind.Key) continue;
                if (item.Database != selected) output.Select(selected = item.Database);
                Convert(batch, item, keyspace, values, scratch);
            }
        }
    }

    private static void Convert(RdbBatch batch, in RdbItem item, Keyspace keyspace, ValueCommands values, RdbScratch scratch)
    {
        Database database = keyspace.Databases[0];
        ReadOnlySpan<byte> key = batch.NameOf(item);
        ulong hash = keyspace.Hash(key);
        if (batch.Build(item, new RdbTarget(database, key, hash, 0, 0, ExpiryClock.Never, RdbLimits.Default), scratch) != RdbOutcome.Loaded) throw batch.Failure(item, "the value is damaged");
        if (item.ExpiryMs >= 0) database.WriteExpiry(database.Find(key, hash, ExpiryClock.Never), item.ExpiryMs);
        Entry entry = database.Find(key, hash, ExpiryClock.Never);
        values.Write(database, entry);
        if (item.IsBlessed) values.WriteBlessing(key);
        database.Unlink(entry, UnlinkReason.Deleted);
        new BackgroundSweep(keyspace, 0, 1).Run(0, long.MaxValue, expire: false);
    }
}
