namespace RedKite.Store.Keyspace;

/// <summary>The type of a key's value, numbered as in Redis's RDB format and module interface.</summary>
internal enum DataType
{
    String = 0,
    List = 1,
    Set = 2,
    SortedSet = 3,
    Hash = 4,
    Stream = 6,

    /// <summary>Vectors by name; a module's value in Redis.</summary>
    VectorSet = 7,

    /// <summary>Elements by indexes of 64 bits; the number is RedKite's own.</summary>
    Array = 8,

    // The other numbers up to 15 belong to types that are added: see Values.StoredTypes.
}

/// <summary>How a value is stored, under the name that OBJECT ENCODING returns.</summary>
internal enum ValueEncoding
{
    /// <summary>A string whose bytes are a 64-bit integer in canonical form.</summary>
    Integer = 0,

    /// <summary>A string that was written as a whole and is short enough to count as embedded.</summary>
    Embedded = 1,

    /// <summary>Any other string.</summary>
    Raw = 2,

    /// <summary>A small collection, packed in the entry's block: see <see cref="Values.Packed.PackedList"/>.</summary>
    ListPack = 3,

    /// <summary>A small set of integers, packed in the entry's block.</summary>
    IntSet = 4,

    /// <summary>A small hash some of whose fields expire, packed in the entry's block.</summary>
    ListPackEx = 5,

    /// <summary>A value of an added type in the entry's block; the type names it. So does 7, for a type that has two.</summary>
    Own = 6,

    // From here on the entry's block holds a ValueRoot: the value is a structure of its own in the same arena.

    /// <summary>A table of a hash's fields or a set's members.</summary>
    HashTable = 8,

    /// <summary>A sorted set's table and tree; Redis has a skip list there.</summary>
    SkipList = 9,

    /// <summary>Linked packed lists.</summary>
    QuickList = 10,

    /// <summary>A stream's nodes and groups.</summary>
    Stream = 11,

    /// <summary>A graph of vectors.</summary>
    VectorSet = 12,

    /// <summary>Slices of a sparse array.</summary>
    SlicedArray = 13,

    /// <summary>The structure of an added type, which names it. So does 15, for a type that has two.</summary>
    OwnStructure = 14,
}
