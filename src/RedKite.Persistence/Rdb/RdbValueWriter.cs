using RedKite.Store.Keyspace;
using RedKite.Store.Values.Hashes;
using RedKite.Store.Values.Sets;
using RedKite.Store.Values.Streams;

namespace RedKite.Persistence.Rdb;

/// <summary>
/// Writes one value in RDB format, in the variant closest to its representation in memory: packed values are copied as they are.
/// The type is separate from the value's bytes, because in files it precedes the key and in dumps the value.
/// </summary>
/// <remarks>If a value has several possible variants, it writes the same one as Redis 8.0. A stream that remembers ids of producers has Redis 8.6's.</remarks>
internal readonly ref struct RdbValueWriter
{
    private readonly Database _database;
    private readonly Entry _entry;
    private readonly ExpiryClock _expiry;
    private readonly long _earliestExpiryMs; // among a hash's fields

    private RdbValueWriter(Database database, Entry entry, ExpiryClock expiry, long earliestExpiryMs, int version)
    {
        _database = database;
        _entry = entry;
        _expiry = expiry;
        _earliestExpiryMs = earliestExpiryMs;
        Type = entry.Type switch
        {
            DataType.String => RdbType.String,
            DataType.List => RdbType.ListOfListPacks,
            DataType.Set when entry.Encoding == ValueEncoding.IntSet => RdbType.SetIntSet,
            DataType.Set when version == RdbFormat.Version && entry.FieldsExpire => RdbType.Module,
            DataType.Set => entry.Encoding == ValueEncoding.ListPack ? RdbType.SetListPack : RdbType.Set,
            DataType.SortedSet => entry.Encoding == ValueEncoding.ListPack ? RdbType.SortedSetListPack : RdbType.SortedSet,
            DataType.Stream => version == RdbFormat.Version && StreamValue.Of(database, entry).Producers.Exist ? RdbType.StreamOfListPacks4 : RdbType.StreamOfListPacks3,
            DataType.VectorSet or DataType.Array => RdbType.Module,
            _ when entry.Encoding == ValueEncoding.ListPack => RdbType.HashListPack,
            _ when earliestExpiryMs == long.MaxValue || version <= RdbFormat.VersionWithoutFieldExpiries => RdbType.Hash,
            _ when version >= RdbTypes.ValkeyVersionMin => RdbType.HashWithTimes,
            _ => entry.Encoding == ValueEncoding.ListPackEx ? RdbType.HashListPackWithExpiries : RdbType.HashWithExpiries,
        };
    }

    internal RdbType Type { get; }

    /// <summary>Whether the value is a string as it is in memory, which is one step.</summary>
    internal bool IsOneString => Type is RdbType.String or RdbType.SetIntSet or RdbType.SetListPack or RdbType.SortedSetListPack or RdbType.HashListPack;

    /// <summary>
    /// Prepares to write a value; false if it is a hash whose last fields have expired, or a set whose last members have. In that case its key is removed.
    /// </summary>
    /// <param name="database">The database.</param>
    /// <param name="entry">The key's entry.</param>
    /// <param name="expiry">When fields count as expired: those are not written, and removed if reads may modify.</param>
    /// <param name="writer">The writer, valid until the key changes.</param>
    /// <param name="version">The version of the format.</param>
    internal static bool TryOpenRemovingExpired(Database database, Entry entry, ExpiryClock expiry, out RdbValueWriter writer, int version = RdbFormat.Version)
    {
        long earliestExpiryMs = long.MaxValue;
        if (entry.Type == DataType.Hash)
        {
            var hash = HashValue.OpenToRead(database, entry, expiry);
            hash.RemoveExpired();
            writer = default;
            if (!hash.Exists || hash.LivingCount == 0) return false;
            entry = hash.Entry;
            earliestExpiryMs = hash.EarliestExpiryMs;
        }

        if (entry.Type == DataType.Set && entry.FieldsExpire)
        {
            entry = SetExpiry.RemoveExpired(database, entry, expiry);
            writer = default;
            if (SetView.Of(database, entry, expiry).Count == 0) return false;
        }

        writer = new RdbValueWriter(database, entry, expiry, earliestExpiryMs, version);
        return true;
    }

    /// <summary>Writes the value.</summary>
    internal void Write(RdbOutput output, RdbScratch scratch)
    {
        if (IsOneString)
        {
            output.String(_entry.Value);
            return;
        }

        RdbValueSteps steps = Steps(scratch);
        while (steps.Step(output))
        {
        }
    }

    /// <summary>Begins to write the value in steps.</summary>
    /// <param name="scratch">Belongs to the steps until the last one.</param>
    internal RdbValueSteps Steps(RdbScratch scratch) => new(Type, _database, _entry, _expiry, _earliestExpiryMs, scratch.First);
}
