using RedKite.Store.Keyspace;
using RedKite.Store.Memory;
using RedKite.Store.Values.Copying;

namespace RedKite.Store.Values;

/// <summary>
/// A type of value as the store and its reports know it: its names, its size, and the operations on its structure that the keyspace does by itself. Each
/// type has one object, in the folder of its values, and a row in <see cref="StoredTypes"/>.
/// </summary>
/// <remarks>
/// A value is bytes in its entry's block, or a <see cref="ValueRoot"/> there and blocks in the arena of its stripe, whose form only its type knows. Values of
/// the first kind need none of the operations on structures. All of them run with the stripe locked, and do a slice of the work if it may be long.
/// Commands on a value do not come here: they call its structure directly.
/// </remarks>
internal abstract unsafe class StoredType
{
    private readonly byte[] _name;

    /// <summary>A type that the table numbers, with the encodings <see cref="ValueEncoding.Own"/> and <see cref="ValueEncoding.OwnStructure"/>.</summary>
    /// <param name="name">As TYPE returns it.</param>
    internal StoredType(ReadOnlySpan<byte> name) => _name = name.ToArray();

    /// <summary>A type that has a number of its own.</summary>
    private protected StoredType(DataType number, ReadOnlySpan<byte> name)
        : this(name) => Number = number;

    /// <summary>The number in entries. It is in no file: a type that was added may have another one in the next process.</summary>
    internal DataType Number { get; set; }

    /// <summary>As TYPE returns it and SCAN accepts it.</summary>
    internal ReadOnlySpan<byte> Name => _name;

    /// <summary>The type in a sentence: sorted set.</summary>
    internal abstract string Noun { get; }

    /// <summary>One of those that <see cref="SizeOf"/> counts, in a sentence: member.</summary>
    internal abstract string ElementNoun { get; }

    /// <summary>The field of INFO's keysizes for the values' sizes; null: none.</summary>
    internal virtual string? SizesField => null;

    /// <summary>The field of INFO's keysizes for the memory of keys and values; null: none.</summary>
    internal virtual string? MemoryField => null;

    /// <summary>Whether COPY copies such values.</summary>
    internal virtual bool CanBeCopied => true;

    /// <summary>The name of an encoding, as OBJECT ENCODING and DEBUG OBJECT return it.</summary>
    internal virtual ReadOnlySpan<byte> EncodingName(ValueEncoding encoding) => EncodingNames.Of(encoding);

    /// <summary>The size in reports: the bytes of a string, the elements of other values, expired ones included. It costs the same for any value.</summary>
    internal abstract long SizeOf(Database database, Entry entry);

    /// <summary>Counts what reports say of such values beside their size, by names, such as the rules of series. It costs the same for any value.</summary>
    internal virtual void CountFacts(Entry entry, Dictionary<string, long> facts)
    {
    }

    /// <summary>Sets what reports say of the largest value of the type alone, by names, such as a document's depth. It examines a bounded part of the value.</summary>
    internal virtual void DescribeLargest(Entry entry, Dictionary<string, long> facts)
    {
    }

    /// <summary>Whether a value has anything that has not expired. A value of which everything has expired counts as removed.</summary>
    internal virtual bool HasLiving(Database database, Entry entry, ExpiryClock expiry) => true;

    /// <summary>Bytes that an entry's structure takes in its arena, by a sample if counting takes long.</summary>
    internal virtual long Bytes(Entry entry) => throw NoStructure();

    /// <summary>Frees about the given number of blocks of a structure at most; the root then refers to the rest.</summary>
    /// <returns>Whether something is left.</returns>
    internal virtual bool FreeSlice(Arena arena, ref ValueRoot root, int blocksMax) => throw NoStructure();

    /// <summary>Moves blocks of a structure, those that have to move, for active defragmentation.</summary>
    /// <param name="mover">Copies and frees a block.</param>
    /// <param name="root">The structure; a moved one has another address.</param>
    /// <param name="cursor">Where the slice begins, then where the next one does. Between two slices the value may have changed.</param>
    /// <param name="work">The blocks to examine; what is left of it.</param>
    /// <returns>Whether there are more.</returns>
    internal virtual bool Move(BlockMover mover, ref ValueRoot root, ref MoveCursor cursor, ref int work) => throw NoStructure();

    /// <summary>Begins to copy a structure. The source does not change until the copy is complete or discarded.</summary>
    /// <param name="source">An entry with a structure.</param>
    /// <param name="arena">The arena of the copy's stripe.</param>
    /// <param name="hasher">The keyspace's hasher.</param>
    internal virtual StructureCopy BeginCopy(Entry source, Arena arena, KeyHasher hasher) => throw NoStructure();

    private InvalidOperationException NoStructure() => new($"A value of the type {Noun} has no structure to do that with.");
}
