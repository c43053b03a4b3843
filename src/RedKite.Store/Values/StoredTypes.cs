using RedKite.Store.Keyspace;
using RedKite.Store.Values.Arrays;
using RedKite.Store.Values.Hashes;
using RedKite.Store.Values.Lists;
using RedKite.Store.Values.Sets;
using RedKite.Store.Values.SortedSets;
using RedKite.Store.Values.Streams;
using RedKite.Store.Values.Strings;
using RedKite.Store.Values.VectorSets;

namespace RedKite.Store.Values;

/// <summary>
/// The table of types. It belongs to the process, like the code of its types: types are added before the first keyspace has a value of them, and never
/// removed. An entry has four bits for its type (<see cref="EntryBlock"/>), so there are 16 at most.
/// </summary>
internal static class StoredTypes
{
    internal const int CountMax = 16;

    private static readonly StoredType?[] ByNumber = new StoredType?[CountMax];

    static StoredTypes()
    {
        foreach (StoredType type in (StoredType[])
        [
            new StringType(), new ListType(), new SetType(), new SortedSetType(), new HashType(), new StreamType(), new VectorSetType(), new ArrayType(),
        ])
        {
            ByNumber[(int)type.Number] = type;
        }
    }

    /// <summary>All types, in the order of their numbers.</summary>
    internal static StoredType[] All => Array.FindAll(ByNumber, type => type is not null)!;

    internal static StoredType Of(DataType type) => ByNumber[(int)type]!;

    /// <summary>The type of an entry's value.</summary>
    internal static StoredType Of(Entry entry) => Of(entry.Type);

    /// <summary>Adds a type and numbers it. One thread at a time.</summary>
    /// <exception cref="InvalidOperationException">Its name is taken, or there is no number left.</exception>
    internal static void Add(StoredType type)
    {
        foreach (StoredType other in All)
        {
            if (other.Name.SequenceEqual(type.Name)) throw new InvalidOperationException($"There is a type with the name of the type {type.Noun} already.");
        }

        int number = Array.IndexOf(ByNumber, null);
        if (number < 0) throw new InvalidOperationException($"The type {type.Noun} would be one more than the {CountMax} that entries can have.");
        type.Number = (DataType)number;
        ByNumber[number] = type;
    }
}
