using RedKite.Store.Memory;
using RedKite.Store.Values.Members;

namespace RedKite.Store.Values.Sets;

/// <summary>A big set as the keyspace handles it: a table of members.</summary>
internal static unsafe class SetTable
{
    // The number of members that are sampled for their average size.
    private const int SizeSamples = 64;

    internal static bool FreeSlice(Arena arena, in ValueRoot root, int blocksMax) => Table(arena, root).FreeSlice(blocksMax);

    internal static long Bytes(in ValueRoot root) => Table(null!, root).MemoryBytes(SizeSamples);

    private static MemberTable<SetMember> Table(Arena arena, in ValueRoot root) => new(arena, (nint)root.Structure);
}
