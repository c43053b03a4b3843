using RedKite.Store.Memory;
using RedKite.Store.Values.Members;

namespace RedKite.Store.Values.Hashes;

/// <summary>A big hash as the keyspace handles it: a table of fields, and in the root's word its earliest expiry.</summary>
internal static unsafe class HashTable
{
    // The number of fields that are sampled for their average size.
    private const int SizeSamples = 64;

    internal static bool FreeSlice(Arena arena, in ValueRoot root, int blocksMax) => Table(arena, root).FreeSlice(blocksMax);

    internal static long Bytes(in ValueRoot root) => new MemberTable<HashField>(null!, (nint)root.Structure).MemoryBytes(SizeSamples);

    private static MemberTable<HashField> Table(Arena arena, in ValueRoot root) => new(arena, (nint)root.Structure);
}
