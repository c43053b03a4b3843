namespace RedKite.Persistence.Rdb;

/// <summary>
/// The types of values in RDB files and dumps, each with the form that its bytes have. Redis 7.0 knows those up to 19
/// (version 10), 7.2 has 20 and 21 (version 11), 7.4 has 24 and 25 (version 12), of which 22 and 23 are drafts. Later ones are in
/// <see cref="RdbTypes"/>, which also maps the bytes that Valkey uses differently.
/// </summary>
internal enum RdbType : byte
{
    String = 0,
    List = 1,
    Set = 2,
    SortedSetWithTexts = 3,
    Hash = 4,
    SortedSet = 5,

    /// <summary>A module's value as release candidates of Redis 4.0 wrote it: its end is known to the module only.</summary>
    ModuleDraft = 6,

    /// <summary>A module's value.</summary>
    Module = 7,

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

    /// <summary>With the ids by which producers are recognised that add an entry twice.</summary>
    StreamOfListPacks4 = 26,

    /// <summary>With pending entries that have no consumer.</summary>
    StreamOfListPacks5 = 27,

    /// <summary>Packed values whose fields are a template's, in files only.</summary>
    HashListPackOfTemplate = 30,

    /// <summary>Values whose fields are a template's, in files only.</summary>
    HashOfTemplate = 32,

    /// <summary>Valkey 9's hash with a time after each field and value. Its byte is 22; the number here is in no file.</summary>
    HashWithTimes = 200,
}

/// <summary>Numbers in the format that both directions share.</summary>
internal static class RdbFormat
{
    /// <summary>The version that Redis 7.4 and 8.0 write, and the highest that is read here.</summary>
    internal const int Version = 12;

    /// <summary>The version that Redis 7.2 and Valkey 8 write, without expiries of fields.</summary>
    internal const int VersionWithoutFieldExpiries = 11;

    // The two top bits of a length determine its own size.
    internal const int Length14 = 0x40;
    internal const int Length32 = 0x80;
    internal const int Length64 = 0x81;

    // A string in another form than its bytes.
    internal const int Integer8 = 0xC0;
    internal const int Integer16 = 0xC1;
    internal const int Integer32 = 0xC2;
    internal const int Compressed = 0xC3;

    // What a byte in a type's place means instead.

    /// <summary>Valkey: a command within the data.</summary>
    internal const int Update = 242;

    /// <summary>Redis: a template of hashes (<see cref="RdbTemplates"/>).</summary>
    internal const int Template = 242;

    /// <summary>Redis: modules' notes about the next key.</summary>
    internal const int KeyMeta = 243;

    /// <summary>Valkey: slots that were about to arrive.</summary>
    internal const int SlotImport = 243;

    /// <summary>A slot's number and sizes.</summary>
    internal const int Slot = 244;

    /// <summary>A library of functions, in front of its text.</summary>
    internal const int Function = 245;

    /// <summary>A function as release candidates of Redis 7.0 wrote it.</summary>
    internal const int FunctionDraft = 246;

    /// <summary>A module's data that belongs to no key.</summary>
    internal const int ModuleAux = 247;

    /// <summary>For how many seconds the next key was not used.</summary>
    internal const int Idle = 248;

    /// <summary>A byte that says how often the next key was used.</summary>
    internal const int Frequency = 249;

    /// <summary>A name and a value that describe the file.</summary>
    internal const int Aux = 250;

    /// <summary>The name of the field that says that the next key must not be evicted: RedKite's own.</summary>
    internal static ReadOnlySpan<byte> Blessing => "redkite-bless"u8;

    /// <summary>The number of keys, and of those with an expiry, of a database.</summary>
    internal const int Size = 251;

    /// <summary>When the next key expires, in 64 bits and milliseconds.</summary>
    internal const int ExpiryMs = 252;

    /// <summary>When the next key expires, in 32 bits and seconds.</summary>
    internal const int Expiry = 253;

    /// <summary>The database of the keys that follow.</summary>
    internal const int Database = 254;

    /// <summary>The end, before the checksum.</summary>
    internal const int End = 255;

    /// <summary>A list's node that is a single, unpacked element.</summary>
    internal const int PlainNode = 1;

    /// <summary>A list's node that is a packed list.</summary>
    internal const int PackedNode = 2;

    internal const int StreamIdBytes = 16;
}
