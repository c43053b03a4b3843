using RedKite.Persistence.Types;
using RedKite.Store.Keyspace;

namespace RedKite.Persistence.Rdb;

/// <summary>
/// Writes one value in RDB format, in the variant closest to its representation in memory: packed values are copied as they are.
/// The type is separate from the value's bytes, because in files it precedes the key and in dumps the value.
/// </summary>
/// <remarks>If a value has several possible variants, it writes the same one as Redis 8.0. A stream that remembers ids of producers has Redis 8.6's.</remarks>
internal readonly ref struct RdbValueWriter
{
    private readonly PersistedType _type;
    private readonly Database _database;
    private readonly Entry _entry;
    private readonly ExpiryClock _expiry;

    private RdbValueWriter(PersistedType type, Database database, Entry entry, ExpiryClock expiry, int version)
    {
        _type = type;
        _database = database;
        _entry = entry;
        _expiry = expiry;
        Type = type.FormOf(database, entry, version);
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
        writer = default;
        PersistedType type = PersistedTypes.Of(entry.Type);
        if (!type.TryRemoveExpired(database, ref entry, expiry)) return false;
        writer = new RdbValueWriter(type, database, entry, expiry, version);
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
    internal RdbValueSteps Steps(RdbScratch scratch)
    {
        RdbValueSteps steps = IsOneString ? scratch.StringSteps : scratch.StepsOf(_type);
        steps.Begin(Type, _database, _entry, _expiry, scratch.First);
        return steps;
    }
}
