using System.Diagnostics;
using RedKite.Store.Memory;
using RedKite.Store.Values;
using RedKite.Store.Values.Copying;

namespace RedKite.Store.Keyspace;

/// <summary>
/// The copy of a large entry under another key, in slices: a block with its structure that no table has until
/// <see cref="Attach"/>. Every call is made with the stripes of both keys locked; between slices they are free.
/// </summary>
/// <remarks>
/// <para>
/// The copy holds addresses of the source, so the source must not change. Its stripe reports changes from
/// <see cref="Watch"/> on: then the copy is stale, does not touch the source again, and is discarded. Nothing is checked, and
/// no other command pays anything, while there is no copy.
/// </para>
/// <para>
/// Rejected: freezing the source, which every write command would have to know; a copy of the source's blocks on write,
/// which needs a version in every block; staging the copy under a key, which SCAN, DBSIZE and eviction would have to skip.
/// </para>
/// </remarks>
internal sealed unsafe class EntryCopy : SlicedWork
{
    // As long as a slice of a loop's background work; a step and a piece of a large block are added.
    private const int SliceMicroseconds = 100;

    private static readonly long SliceTicks = SliceMicroseconds * Stopwatch.Frequency / 1_000_000;

    private readonly Database _target;
    private readonly Stripe _targetStripe;
    private readonly ulong _hash;
    private readonly ulong _sourceHash;
    private readonly StructureCopy? _structure;
    private readonly byte* _sourceValue; // of an entry without a structure
    private byte* _block;
    private long _valueBytesCopied;
    private Stripe? _watched;
    private KeyIdentity _watchedKey;

    private EntryCopy(Entry source, Database target, ReadOnlySpan<byte> key, ulong hash)
    {
        _target = target;
        _targetStripe = target.StripeOf(hash);
        _hash = hash;
        _sourceHash = source.Position.Hash;
        ReadOnlySpan<byte> value = source.Value;
        Arena arena = _targetStripe.Arena;
        _block = arena.Allocate(EntryBlock.BytesFor(key.Length, value.Length, source.Expires));
        EntryBlock.Initialize(_block, new ValueHeader(source.Type, source.Encoding, accessClock: 0), key.Length, value.Length, source.Expires, epoch: 0);
        EntryBlock.MarkFieldsExpire(_block, source.FieldsExpire);
        if (source.Expires) EntryBlock.WriteExpiry(_block, source.ExpiryMs);
        key.CopyTo(new Span<byte>(EntryBlock.KeyStart(_block), key.Length));
        if (source.HasStructure)
        {
            _structure = StoredTypes.Of(source).BeginCopy(source, arena, target.Hasher);
            EntryBlock.Root(_block) = _structure.Root;
        }
        else
        {
            _sourceValue = EntryBlock.ValueStart(source.Position.Entry);
        }
    }

    /// <summary>Whether the copy was attached to the database, or freed.</summary>
    internal bool HasEnded => _block == null;

    /// <summary>Whether copying a value may take longer than a few microseconds.</summary>
    internal static bool MayTakeLong(Entry source) => source.HasStructure || source.Value.Length > BlockCopy.PieceBytes;

    /// <summary>Begins to copy an entry. Nothing is copied yet.</summary>
    /// <param name="source">The entry.</param>
    /// <param name="target">The database of the copy.</param>
    /// <param name="key">The key of the copy.</param>
    /// <param name="hash">Its hash.</param>
    internal static EntryCopy Begin(Entry source, Database target, ReadOnlySpan<byte> key, ulong hash) => new(source, target, key, hash);

    /// <summary>Copies for about 100 microseconds.</summary>
    /// <returns>Whether everything is copied.</returns>
    internal override bool RunSlice()
    {
        long end = Stopwatch.GetTimestamp() + SliceTicks;
        while (!IsComplete && Stopwatch.GetTimestamp() < end) Step();
        return IsComplete;
    }

    /// <summary>Copies all that is left at once.</summary>
    internal void RunToEnd()
    {
        while (!IsComplete) Step();
    }

    /// <summary>Watches the source, so that the stripes may be unlocked between slices: changes of the source make the copy stale.</summary>
    /// <param name="source">The source's database.</param>
    internal void Watch(Database source)
    {
        _watched = source.StripeOf(_sourceHash);
        _watchedKey = new KeyIdentity(source.Index, _sourceHash);
        _watched.BeginCopy(this);
    }

    /// <summary>Called by the source's stripe before a key changes.</summary>
    internal void NoteChange(KeyIdentity key)
    {
        if (key == _watchedKey) IsStale = true;
    }

    /// <summary>Stores the complete copy at the target key, replacing any value.</summary>
    internal void Attach(Entry existing, uint accessClock)
    {
        EndWatch();
        EntryBlock.SetAccessClock(_block, accessClock);
        Entry copy = _target.Attach(_block, _hash, existing);
        if (_structure is not null && copy.Type == DataType.List) _targetStripe.WarmLists.Note(copy.Root.Structure);
        _block = null;
    }

    /// <summary>Frees the copy, a large structure in slices.</summary>
    internal override void Discard()
    {
        EndWatch();
        if (_block == null) return;
        if (_structure is not null)
        {
            _structure.DiscardOpenBlock();
            _targetStripe.Values.Release(_block);
        }

        _targetStripe.Arena.Free(_block, EntryBlock.Bytes(_block));
        _block = null;
    }

    /// <summary>Copies the next part, in a few microseconds.</summary>
    internal void Step()
    {
        if (_structure is not null)
        {
            IsComplete = !_structure.Step();
            return;
        }

        long left = EntryBlock.ValueLength(_block) - _valueBytesCopied;
        long piece = Math.Min(BlockCopy.PieceBytes, left);
        Buffer.MemoryCopy(_sourceValue + _valueBytesCopied, EntryBlock.ValueStart(_block) + _valueBytesCopied, piece, piece);
        _valueBytesCopied += piece;
        IsComplete = piece == left;
    }

    private void EndWatch()
    {
        _watched?.EndCopy(this);
        _watched = null;
    }
}
