using RedKite.Store.Keyspace;
using RedKite.Store.Memory;

namespace RedKite.Store.Values;

/// <summary>
/// What the keyspace needs of a value's structure whatever its type: free it, copy it, tell its memory. Each switch has
/// a line for each structure.
/// </summary>
internal static class ValueStructure
{
    /// <summary>Frees at most about so many blocks of a structure; the root then refers to what is left.</summary>
    /// <returns>Whether something is left.</returns>
    internal static bool FreeSlice(Arena arena, DataType type, ValueEncoding encoding, ref ValueRoot root, int blocksMax) => (type, encoding) switch
    {
        (DataType.Hash, ValueEncoding.HashTable) => HashTable.FreeSlice(arena, root, blocksMax),
        _ => throw Unknown(type, encoding),
    };

    /// <summary>Copies an entry's structure into an arena.</summary>
    internal static ValueRoot Copy(Entry source, Arena target) => (source.Type, source.Encoding) switch
    {
        (DataType.Hash, ValueEncoding.HashTable) => HashTable.Copy(source.Root, target),
        _ => throw Unknown(source.Type, source.Encoding),
    };

    /// <summary>Bytes that an entry's structure takes in its arena.</summary>
    internal static long Bytes(Entry entry) => (entry.Type, entry.Encoding) switch
    {
        (DataType.Hash, ValueEncoding.HashTable) => HashTable.Bytes(entry.Root),
        _ => throw Unknown(entry.Type, entry.Encoding),
    };

    private static InvalidOperationException Unknown(DataType type, ValueEncoding encoding) =>
        new($"A value of type {type} is not encoded as {encoding}.");
}
