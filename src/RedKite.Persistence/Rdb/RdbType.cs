namespace RedKite.Persistence.Rdb;

/// <summary>
/// The types of values in RDB files and dumps, each with the form that its bytes have. Redis 7.0 knows those up to 19
/// (version 10), 7.2 has 20 and 21 (version 11), 7.4 has 24 and 25 (version 12), of which 22 and 23 are drafts.
/// </summary>
internal enum RdbType : byte
{
    String = 0,
    List = 1,
    Set = 2,
    SortedSetWithTexts = 3,
    Hash = 4,
    SortedSet = 5,
    HashZipMap = 9,
    ListZipList = 10,
    SetIntSet = 11,
    SortedSetZipList = 12,
    HashZipList = 13,
    ListOfZipLists = 14,
    StreamOfListPacks = 15,
    HashListPack = 16,
    SortedSetListPack = 17,
    ListOfListPacks = 18,

    /// <summary>With the ids of the first entry and of the highest deleted one, and how many were added and read.</summary>
    StreamOfListPacks2 = 19,

    SetListPack = 20,

    /// <summary>With the times at which consumers last received an entry.</summary>
    StreamOfListPacks3 = 21,

    HashWithExpiriesDraft = 22,
    HashListPackWithExpiriesDraft = 23,
    HashWithExpiries = 24,
    HashListPackWithExpiries = 25,
}

/// <summary>Numbers in the format that both directions share.</summary>
internal static class RdbFormat
{
    /// <summary>The version that Redis 7.4 and 8.0 write, and the highest that is read here.</summary>
    internal const int Version = 12;

    // The two top bits of a length determine its own size.
    internal const int Length14 = 0x40;
    internal const int Length32 = 0x80;
    internal const int Length64 = 0x81;

    // A string in another form than its bytes.
    internal const int Integer8 = 0xC0;
    internal const int Integer16 = 0xC1;
    internal const int Integer32 = 0xC2;
    internal const int Compressed = 0xC3;

    /// <summary>A library of functions, in front of its text.</summary>
    internal const int Function = 0xF5;

    /// <summary>A list's node that is a single, unpacked element.</summary>
    internal const int PlainNode = 1;

    /// <summary>A list's node that is a packed list.</summary>
    internal const int PackedNode = 2;

    internal const int StreamIdBytes = 16;
}
