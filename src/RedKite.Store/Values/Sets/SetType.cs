using RedKite.Store.Keyspace;
using RedKite.Store.Memory;
using RedKite.Store.Values.Copying;
using RedKite.Store.Values.Members;

namespace RedKite.Store.Values.Sets;

/// <summary>Sets; a structure is a table of members. See <see cref="StoredType"/>.</summary>
internal sealed unsafe class SetType() : StoredType(DataType.Set, "set"u8)
{
    internal override string Noun => "set";

    internal override string ElementNoun => "member";

    internal override string? SizesField => "sets_items";

    internal override string? MemoryField => "sets_sizes";

    internal override long SizeOf(Database database, Entry entry) => SetView.Of(database, entry).Count;

    internal override bool HasLiving(Database database, Entry entry, ExpiryClock expiry) =>
        !entry.FieldsExpire || SetView.Of(database, entry, expiry).Count > 0;

    internal override long Bytes(Entry entry) => SetTable.Bytes(entry.Root);

    internal override bool FreeSlice(Arena arena, ref ValueRoot root, int blocksMax) => SetTable.FreeSlice(arena, root, blocksMax);

    internal override bool Move(BlockMover mover, ref ValueRoot root, ref MoveCursor cursor, ref int work) =>
        MemberTable<SetMember>.Move(mover, ref root, ref cursor, ref work);

    internal override StructureCopy BeginCopy(Entry source, Arena arena, KeyHasher hasher)
    {
        var copy = new MemberTableCopy<SetMember>((nint)source.Root.Structure, arena);
        return StructureCopy.Of(source.Root with { Structure = (byte*)copy.Root }, copy);
    }
}
