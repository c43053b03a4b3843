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
    /// <summary>The request that loads what an item is, if it is no key; null: it is nothing that is loaded.</summary>
    internal delegate byte[][]? RequestOfKeyless(RdbBatch batch, in RdbItem item);

    /// <summary>Converts RDB data.</summary>
    /// <param name="file">The RDB file.</param>
    /// <param name="output">Receives the commands. The caller flushes it.</param>
    /// <param name="requestOf">Returns the requests of what is no key.</param>
    /// <param name="converted">Called with positions of the file that are not read again; null: not called.</param>
    /// <exception cref="FileFailure">The file cannot be read, or a value cannot be written.</exception>
    internal static void Convert(IOpenFile file, CommandOutput output, RequestOfKeyless requestOf, Action<long>? converted = null)
    {
        using RdbFileReader reader = RdbFileReader.Open(file, new RdbReadOptions());
        using var keyspace = new Keyspace(1, 1);
        using var values = new ValueCommands(output);
        using var scratch = new RdbScratch();
        using var batch = new RdbBatch();
        var sweep = new BackgroundSweep(keyspace, 0, 1);
        int selected = -1;
        while (reader.TryRead(batch))
        {
            foreach (ref readonly RdbItem item in batch.Items)
            {
                if (item.Kind != RdbItemKind.Key)
                {
                    if (requestOf(batch, item) is { } request) Write(output, request);
                    continue;
                }

                if (item.Database != selected) output.Select(selected = item.Database);
                if (TryConvertString(batch, item, output, scratch)) continue;
                Convert(batch, item, keyspace, values, scratch);
                sweep.Run(0, long.MaxValue, expire: false);
            }

            converted?.Invoke(reader.Position);
        }
    }

    private static void Write(CommandOutput output, byte[][] request)
    {
        output.Begin(request[0], request.Length - 1);
        foreach (byte[] argument in request.AsSpan(1)) output.Argument(argument);
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
        if (item.IsPinned) values.WritePin(key);
        database.Unlink(entry, UnlinkReason.Deleted);
    }

    // Most keys are short strings, whose bytes are those of the command: nothing is built.
    private static bool TryConvertString(RdbBatch batch, in RdbItem item, CommandOutput output, RdbScratch scratch)
    {
        if (item.Type != RdbType.String || item.IsPinned || !batch.TryGetValue(item, out ReadOnlySpan<byte> value)) return false;
        var input = new RdbInput(value);
        if (!input.TryString(scratch.First, out ReadOnlySpan<byte> text) || input.Left > 0) throw batch.Failure(item, "the value is damaged");
        ReadOnlySpan<byte> key = batch.NameOf(item);
        output.Begin("SET"u8, 2).Argument(key).Argument(text);
        if (item.ExpiryMs >= 0) output.Begin("PEXPIREAT"u8, 2).Argument(key).Argument(item.ExpiryMs);
        return true;
    }
}
