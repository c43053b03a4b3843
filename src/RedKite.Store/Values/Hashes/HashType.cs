using RedKite.Store.Keyspace;
using RedKite.Store.Memory;
using RedKite.Store.Values.Copying;
using RedKite.Store.Values.Members;

namespace RedKite.Store.Values.Hashes;

/// <summary>Hashes; a structure is a table of fields. See <see cref="StoredType"/>.</summary>
internal sealed unsafe class HashType() : StoredType(DataType.Hash, "hash"u8)
{
    internal override string Noun => "hash";

    internal override string ElementNoun => "field";

    internal override string? SizesField => "hashes_items";

    internal override string? MemoryField => "hashes_sizes";

    internal override long SizeOf(Database database, Entry entry) => HashValue.Peek(database, entry, ExpiryClock.Never).Count;

    internal override bool HasLiving(Database database, Entry entry, ExpiryClock expiry)
    {
        if (!entry.FieldsExpire) return true;
        HashValue hash = HashValue.Peek(database, entry, expiry);
        return hash.Exists && hash.LivingCount > 0;
    }

    internal override long Bytes(Entry entry) => HashTable.Bytes(entry.Root);

    internal override bool FreeSlice(Arena arena, ref ValueRoot root, int blocksMax) => HashTable.FreeSlice(arena, root, blocksMax);

    internal override bool Move(BlockMover mover, ref ValueRoot root, ref MoveCursor cursor, ref int work) =>
        MemberTable<HashField>.Move(mover, ref root, ref cursor, ref work);

    internal override StructureCopy BeginCopy(Entry source, Arena arena, KeyHasher hasher)
    {
        var copy = new MemberTableCopy<HashField>((nint)source.Root.Structure, arena);
        return StructureCopy.Of(source.Root with { Structure = (byte*)copy.Root }, copy);
    }
}
