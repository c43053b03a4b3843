using RedKite.Store.Memory;
using RedKite.Store.Values;

namespace RedKite.Store.Keyspace;

/// <summary>
/// A key's entry as a command sees it. It points into the store: valid while the stripe's lock is held and until the
/// entry is written, resized or removed through <see cref="Database"/>, whose methods return the new entry.
/// </summary>
internal readonly unsafe ref struct Entry
{
    private readonly EntryPosition _position;

    internal Entry(scoped in EntryPosition position) => _position = position;

    internal bool Exists => _position.Entry != null;

    /// <summary>Type, encoding and access clock together.</summary>
    internal ValueHeader Header => EntryBlock.Header(_position.Entry);

    internal DataType Type => EntryBlock.Type(_position.Entry);

    internal ValueEncoding Encoding => EntryBlock.Encoding(_position.Entry);

    internal ReadOnlySpan<byte> Key => EntryBlock.Key(_position.Entry);

    /// <summary>
    /// The bytes of a string, of a small collection, or of a <see cref="ValueRoot"/>. May be written in place with the same length if
    /// the encoding stays valid.
    /// </summary>
    internal Span<byte> Value => EntryBlock.Value(_position.Entry);

    /// <summary>Clears a part of a string.</summary>
    internal void ClearValue(int start, int end) => SystemMemory.Clear(EntryBlock.ValueStart(_position.Entry) + start, end - start);

    /// <summary>Whether the value is a separate structure whose root is in the block.</summary>
    internal bool HasStructure => EntryBlock.HasStructure(_position.Entry);

    /// <summary>The root of a value that is a structure of its own.</summary>
    internal ref ValueRoot Root => ref EntryBlock.Root(_position.Entry);

    internal bool Expires => EntryBlock.Expires(_position.Entry);

    /// <summary>Whether the key must not be evicted.</summary>
    internal bool IsPinned => EntryBlock.IsPinned(_position.Entry);

    /// <summary>Whether the value is a hash with expiring fields.</summary>
    internal bool FieldsExpire => EntryBlock.FieldsExpire(_position.Entry);

    /// <summary>When the key expires, in Unix milliseconds, or <see cref="Database.NoExpiry"/>.</summary>
    internal long ExpiryMs => EntryBlock.Expires(_position.Entry) ? EntryBlock.Expiry(_position.Entry) : Database.NoExpiry;

    /// <summary>The 24 bits of the access clock, whose meaning depends on the eviction policy.</summary>
    internal uint AccessClock => EntryBlock.AccessClock(_position.Entry);

    /// <summary>Bytes that the entry takes in its arena, its value's structure included.</summary>
    internal long MemoryBytes => EntryBlock.Capacity(_position.Entry) + (HasStructure ? StoredTypes.Of(Type).Bytes(this) : 0);

    /// <summary>The address of the entry's block: for display, never for access.</summary>
    internal nint Address => (nint)_position.Entry;

    internal EntryPosition Position => _position;

    /// <summary>The epoch in which the entry was added or written by a snapshot, whichever is later. See <see cref="Keyspace.BeginEpoch"/>.</summary>
    internal byte Epoch => EntryBlock.Epoch(_position.Entry);

    /// <summary>Notes that the snapshot of an epoch has written the entry.</summary>
    internal void MarkWritten(byte epoch) => EntryBlock.SetEpoch(_position.Entry, epoch);

    internal void SetAccessClock(uint clock) => EntryBlock.SetAccessClock(_position.Entry, clock);

    internal void SetEncoding(ValueEncoding encoding) => EntryBlock.SetEncoding(_position.Entry, encoding);

    /// <summary>An entry by its block.</summary>
    internal static Entry FromBlock(nint block) => new(new EntryPosition(null, 0, (byte*)block, 0));
}
