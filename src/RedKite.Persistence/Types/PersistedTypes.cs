using System.Diagnostics.CodeAnalysis;
using RedKite.Persistence.Rdb;
using RedKite.Store.Keyspace;
using RedKite.Store.Values;

namespace RedKite.Persistence.Types;

/// <summary>The table of types, by number, by form and by module. Like <see cref="StoredTypes"/> it belongs to the process.</summary>
internal static class PersistedTypes
{
    private static readonly PersistedType?[] ByNumber = new PersistedType?[StoredTypes.CountMax];
    private static readonly PersistedType?[] ByForm = new PersistedType?[byte.MaxValue + 1];

    static PersistedTypes()
    {
        foreach (PersistedType type in (PersistedType[])
        [
            new PersistedString(), new PersistedList(), new PersistedSet(), new PersistedSortedSet(), new PersistedHash(), new PersistedStream(),
            new PersistedVectorSet(), new PersistedArray(),
        ])
        {
            ByNumber[(int)type.Stored.Number] = type;
            foreach (RdbType form in type.Forms) ByForm[(int)form] = type;
        }
    }

    internal static PersistedType Of(DataType type) => ByNumber[(int)type]!;

    /// <summary>The type with a name as TYPE returns it; null: there is none.</summary>
    internal static PersistedType? Find(ReadOnlySpan<byte> name)
    {
        foreach (PersistedType? type in ByNumber)
        {
            if (type is not null && type.Stored.Name.SequenceEqual(name)) return type;
        }

        return null;
    }

    /// <summary>The type that has a form; null: no type, or modules'.</summary>
    internal static PersistedType? OfForm(RdbType form) => ByForm[(int)form];

    /// <summary>The type that reads the data of a module.</summary>
    internal static bool TryOfModule(ulong id, [NotNullWhen(true)] out PersistedType? type)
    {
        foreach (PersistedType? each in ByNumber)
        {
            type = each;
            if (type is not null && type.ModuleId == id && id != 0) return true;
        }

        type = null;
        return false;
    }

    /// <summary>Adds a type to this table and to the store's, which numbers it. One thread at a time.</summary>
    /// <exception cref="InvalidOperationException">Its name or its module's id is taken, or there is no number left.</exception>
    internal static void Add(PersistedType type)
    {
        if (type.ModuleId == 0) throw new InvalidOperationException($"The type {type.Stored.Noun} has no form: an added type has a module's id.");
        if (TryOfModule(type.ModuleId, out PersistedType? other)) throw new InvalidOperationException($"The types {other.Stored.Noun} and {type.Stored.Noun} have the same id of a module.");
        StoredTypes.Add(type.Stored);
        ByNumber[(int)type.Stored.Number] = type;
    }
}
