using System.Diagnostics;
using RedKite.Store.Keyspace;
using RedKite.Store.Memory;
using RedKite.Store.Values.Members;
using RedKite.Store.Values.Packed;

namespace RedKite.Store.Values.Hashes;

/// <summary>
/// A hash as commands see it: packed in the entry's block while it is small, otherwise a table. Expired fields are invisible. In a
/// packed hash they come first: they are removed when a command opens it, and skipped when it is only inspected
/// (<see cref="Peek"/>). In a table they are skipped until they are removed. Valid as long as only this value changes the entry.
/// </summary>
internal unsafe ref struct HashValue : IExpiringElements
{
    // Redis packs no more bytes than this, regardless of the settings.
    private const long PackedBytesMax = 1 << 30;

    private readonly Database _database;
    private readonly ExpiryClock _expiry;
    private readonly int _start; // of a packed hash: the offset behind the expired fields
    private readonly int _skipped; // the number of expired fields
    private Entry _entry;

    private HashValue(Database database, Entry entry, ExpiryClock expiry, int start = PackedList.Start, int skipped = 0)
    {
        _database = database;
        _expiry = expiry;
        _entry = entry;
        _start = start;
        _skipped = skipped;
    }

    /// <summary>The key's current entry.</summary>
    internal readonly Entry Entry => _entry;

    /// <summary>Whether the hash exists. An empty hash exists only temporarily, within a command.</summary>
    internal readonly bool Exists => _entry.Exists;

    /// <summary>The number of fields. Expired fields of a table count until they are removed.</summary>
    internal readonly long Count => IsTable ? Table.Count : (PackedList.Count(List) / Elements) - _skipped;

    /// <summary>The number of fields that have not expired. In a table with expired fields this enumerates all of them.</summary>
    internal readonly long LivingCount
    {
        get
        {
            if (!HasExpired) return Count;
            long count = 0;
            for (HashFields fields = Fields(); fields.MoveNext();) count++;
            return count;
        }
    }

    /// <summary>A lower bound of the fields' expiries; long.MaxValue: no field expires.</summary>
    internal readonly long EarliestExpiryMs => FieldExpiry.EarliestOf(_entry.Position.Entry);

    internal readonly bool IsTable => _entry.Encoding == ValueEncoding.HashTable;

    /// <summary>Whether the hash, which must exist, may have expired fields that still count.</summary>
    internal readonly bool HasExpired => IsTable && _expiry.HasPassed(FieldExpiry.EarliestOf(_entry.Position.Entry));

    private readonly bool HasPackedExpiries => _entry.Encoding == ValueEncoding.ListPackEx;

    // The number of elements of the packed list per field.
    private readonly int Elements => HasPackedExpiries ? FieldExpiry.PackedElements : 2;

    private readonly byte* List => EntryBlock.ValueStart(_entry.Position.Entry);

    private readonly Arena Arena => _database.ArenaOf(_entry);

    private readonly MemberTable<HashField> Table => new(Arena, _database.Hasher, (nint)_entry.Root.Structure);

    /// <summary>Opens the hash of an entry, which may be missing, to modify it. Expired fields of a packed hash are removed.</summary>
    internal static HashValue Open(Database database, Entry entry, ExpiryClock expiry)
    {
        Debug.Assert(!entry.Exists || entry.Type == DataType.Hash, "The caller has looked at the type.");
        if (HasPackedExpired(entry, expiry)) entry = database.ExpireFields(entry, expiry.PassedMs, int.MaxValue);
        return new HashValue(database, entry, expiry);
    }

    /// <summary>Opens the hash of an entry, which may be missing, to read it. Expired fields are removed as in <see cref="Open"/>, if reads may modify.</summary>
    internal static HashValue OpenToRead(Database database, Entry entry, ExpiryClock expiry) =>
        expiry.ReadsMayModify ? Open(database, entry, expiry) : Peek(database, entry, expiry);

    /// <summary>
    /// Opens the hash of an entry, which may be missing, to inspect it without any modification. For callers that enumerate entries
    /// and may have only their blocks. A packed hash without live fields does not exist here. The caller must not modify the hash.
    /// </summary>
    internal static HashValue Peek(Database database, Entry entry, ExpiryClock expiry)
    {
        if (!HasPackedExpired(entry, expiry)) return new HashValue(database, entry, expiry);
        byte* list = EntryBlock.ValueStart(entry.Position.Entry);
        int start = PackedList.Start;
        int skipped = 0;
        for (; !PackedList.IsEnd(list, start) && expiry.HasPassed(FieldExpiry.ExpiryAt(list, start)); skipped++)
        {
            for (int i = 0; i < FieldExpiry.PackedElements; i++) start = PackedList.Next(list, start);
        }

        return PackedList.IsEnd(list, start) ? default : new HashValue(database, entry, expiry, start, skipped);
    }

    /// <summary>Creates an empty hash at a missing key. The caller must add fields.</summary>
    internal static HashValue Create(Database database, ReadOnlySpan<byte> key, ulong hash, uint accessClock, ExpiryClock expiry)
    {
        Entry entry = database.WriteValue(key, hash, default, new ValueHeader(DataType.Hash, ValueEncoding.ListPack, accessClock), PackedList.EmptyBytes, Database.NoExpiry);
        PackedList.Initialize(EntryBlock.ValueStart(entry.Position.Entry));
        return new HashValue(database, entry, expiry);
    }

    /// <summary>Finds a field's value, which is valid until the hash changes.</summary>
    internal readonly bool TryGet(ReadOnlySpan<byte> field, out PackedElement value)
    {
        if (IsTable)
        {
            MemberTable<HashField> table = Table;
            byte* block = table.Find(field, table.Hash(field));
            bool found = block != null && !_expiry.HasPassed(HashField.Expiry(block));
            value = found ? HashField.Value(block) : default;
            return found;
        }

        byte* list = List;
        int offset = PackedList.Find(list, _start, field, Elements);
        value = offset < 0 ? default : PackedList.Read(list, PackedList.Next(list, offset));
        return offset >= 0;
    }

    internal readonly bool Contains(ReadOnlySpan<byte> field) => TryGet(field, out _);

    /// <summary>
    /// Finds a field's value like <see cref="TryGet"/>. A field that has expired is removed and reported, if reads may modify; when the caller
    /// has read all fields that it wants, it calls <see cref="RemoveIfEmpty"/>.
    /// </summary>
    internal readonly bool TryGetLive(ReadOnlySpan<byte> field, out PackedElement value)
    {
        if (TryGet(field, out value)) return true;
        if (HasExpired && _expiry.ReadsMayModify && !_database.IsAwaited(_entry)) RemoveIfExpired(field);
        return false;
    }

    /// <summary>Sets a field and removes its expiry.</summary>
    /// <returns>Whether the field is new.</returns>
    internal bool Set(scoped ReadOnlySpan<byte> field, scoped ReadOnlySpan<byte> value, in HashLimits limits) => Set(field, value, limits, keepExpiry: false);

    /// <summary>Sets a field and keeps its expiry, if it has one.</summary>
    /// <returns>Whether the field is new.</returns>
    internal bool SetAndKeepExpiry(scoped ReadOnlySpan<byte> field, scoped ReadOnlySpan<byte> value, in HashLimits limits) => Set(field, value, limits, keepExpiry: true);

    /// <summary>Removes a field; one that has expired is reported as such. If it was the last one, the key is removed too.</summary>
    /// <returns>Whether the field existed and had not expired.</returns>
    public bool Remove(scoped ReadOnlySpan<byte> field)
    {
        if (!Exists) return false;
        if (IsTable)
        {
            MemberTable<HashField> table = Table;
            if (!table.TryFind(field, table.Hash(field), out MemberPosition position)) return false;
            bool alive = !_expiry.HasPassed(HashField.Expiry(position.Block));
            if (!alive) _database.NoteExpiredField(_entry, field);
            byte* block = table.Remove(position);
            Arena.Free(block, HashField.Bytes(block));
            if (table.Count == 0) RemoveKey();
            else NoteTableExpiry();
            return alive;
        }

        int offset = PackedList.Find(List, PackedList.Start, field, Elements);
        if (offset < 0) return false;
        RemovePacked(offset);
        if (Count == 0) RemoveKey();
        else NotePackedExpiry();
        return true;
    }

    /// <summary>
    /// Removes an expired field and reports it. Called before a command that depends only on the field's absence, so that the
    /// command has the same effect when it is repeated where the field has not expired. An opened packed hash has no expired fields.
    /// </summary>
    internal readonly void RemoveIfExpired(scoped ReadOnlySpan<byte> field)
    {
        if (!Exists || !IsTable) return;
        MemberTable<HashField> table = Table;
        if (!table.TryFind(field, table.Hash(field), out MemberPosition position) || !_expiry.HasPassed(HashField.Expiry(position.Block))) return;
        _database.NoteExpiredField(_entry, field);
        byte* block = table.Remove(position);
        Arena.Free(block, HashField.Bytes(block));
        NoteTableExpiry();
    }

    /// <summary>Removes the key of a hash without fields: none were added, or the last one had expired.</summary>
    internal void RemoveIfEmpty()
    {
        if (Exists && Count == 0) RemoveKey();
    }

    /// <summary>
    /// Removes all expired fields of a table, so that the others can be sampled. Each field is removed only once, so the cost is
    /// amortized over the commands that set the fields. Does nothing if reads may not modify.
    /// </summary>
    internal void RemoveExpired()
    {
        while (Exists && HasExpired && _expiry.ReadsMayModify && !_database.IsAwaited(_entry))
        {
            _entry = _database.ExpireFields(_entry, _expiry.PassedMs, int.MaxValue);
        }
    }

    /// <summary>Removes the key of a table whose fields have all expired.</summary>
    internal void RemoveWithExpiredFields()
    {
        if (!_expiry.ReadsMayModify || _database.IsAwaited(_entry)) return;
        _database.UnlinkExpiredHash(_entry, Count);
        _entry = default;
    }

    private void RemoveKey()
    {
        _database.Unlink(_entry, UnlinkReason.Emptied);
        _entry = default;
    }

    /// <summary>Returns the expiry of a field in Unix milliseconds, <see cref="Database.NoExpiry"/> or <see cref="IElementExpiries.Missing"/>.</summary>
    public readonly long ExpiryOf(scoped ReadOnlySpan<byte> field)
    {
        if (!Exists) return IElementExpiries.Missing;
        long expiryMs = long.MaxValue;
        if (IsTable)
        {
            MemberTable<HashField> table = Table;
            byte* block = table.Find(field, table.Hash(field));
            if (block == null) return IElementExpiries.Missing;
            expiryMs = HashField.Expiry(block);
            if (_expiry.HasPassed(expiryMs)) return IElementExpiries.Missing;
        }
        else
        {
            int offset = PackedList.Find(List, _start, field, Elements);
            if (offset < 0) return IElementExpiries.Missing;
            if (HasPackedExpiries) expiryMs = FieldExpiry.ExpiryAt(List, offset);
        }

        return expiryMs == long.MaxValue ? Database.NoExpiry : expiryMs;
    }

    /// <summary>Sets the expiry of an existing field; <see cref="Database.NoExpiry"/> removes it.</summary>
    public void WriteExpiry(scoped ReadOnlySpan<byte> field, long expiryMs)
    {
        if (expiryMs == Database.NoExpiry) expiryMs = long.MaxValue;
        if (IsTable)
        {
            MemberTable<HashField> table = Table;
            ulong hash = table.Hash(field);
            if (!table.TryFind(field, hash, out MemberPosition position)) throw new InvalidOperationException("The field is not there.");
            byte* block = position.Block;
            long oldMs = HashField.Expiry(block);
            if (oldMs == expiryMs) return;
            ReplaceBlock(position, HashField.Create(Arena, field, HashField.Value(block).Bytes(default), expiryMs));
            table.NoteExpiry(hash, oldMs, expiryMs);
            NoteTableExpiry(expiryMs);
            return;
        }

        if (!HasPackedExpiries && expiryMs != long.MaxValue) AddPackedExpiries();
        if (HasPackedExpiries) MovePacked(PackedList.Find(List, PackedList.Start, field, Elements), expiryMs);
    }

    /// <summary>
    /// Converts a packed hash to a table if a command is about to set more fields than the limit of packed hashes. As in Redis, the
    /// number of arguments decides, although several may name the same field.
    /// </summary>
    internal void Expect(long fields, in HashLimits limits)
    {
        if (!IsTable && fields > limits.FieldsMax) BecomeTable();
    }

    /// <summary>Converts a packed hash to the format with expiries. As in Redis, it is never converted back.</summary>
    internal void ReserveExpiries()
    {
        if (Exists && !IsTable && !HasPackedExpiries) AddPackedExpiries();
    }

    /// <summary>Enumerates all live fields with their values. Valid until the hash changes.</summary>
    internal readonly HashFields Fields() => IsTable
        ? new HashFields(Table.GetEnumerator(), _expiry.PassedMs)
        : new HashFields(List, Elements, _start);

    /// <summary>Enumerates the live fields of one bucket of a table. The cursor advances to the next bucket and is 0 after the last one.</summary>
    internal readonly HashFields ScanBucket(ref ulong cursor) => new(Table.ScanBucket(ref cursor), _expiry.PassedMs);

    /// <summary>Returns a random field of a table without expired fields.</summary>
    internal readonly HashFields Pick(Random random) => HashFields.OfBlock(Table.Pick(random));

    /// <summary>Stores the address of each live field of a table, for <see cref="OfDrawn"/>. The caller provides capacity for all.</summary>
    internal readonly void FindLiving(Span<nint> living)
    {
        int count = 0;
        foreach (nint block in Table)
        {
            if (!_expiry.HasPassed(HashField.Expiry((byte*)block))) living[count++] = block;
        }
    }

    /// <summary>Whether there is memory for <see cref="DrawDistinct"/> of so many fields.</summary>
    internal static bool HasRoomToDraw(long count) => NativeList<nint>.HasRoom(count * (1 + MemberTable<HashField>.SlotsOfDrawn));

    /// <summary>Samples distinct fields, at most a third of them, from a table without expired fields; <see cref="OfDrawn"/> returns them.</summary>
    internal readonly void DrawDistinct(Random random, Span<nint> drawn) => Table.DrawDistinct(random, drawn);

    internal static HashFields OfDrawn(nint drawn) => HashFields.OfBlock((byte*)drawn);

    /// <summary>Stores the offset of each field of a packed hash, for <see cref="FieldAt"/>. The caller provides capacity for all.</summary>
    internal readonly void FindFields(Span<int> fieldIndexes)
    {
        byte* list = List;
        int offset = _start;
        for (int i = 0; !PackedList.IsEnd(list, offset); i++)
        {
            fieldIndexes[i] = offset;
            for (int element = Elements; element > 0; element--) offset = PackedList.Next(list, offset);
        }
    }

    internal readonly HashFields FieldAt(int index) => HashFields.OfElement(List, index);

    /// <summary>Returns the field at an index of a packed hash.</summary>
    internal readonly HashFields At(int index) => HashFields.OfElement(List, PackedList.At(List, (index + _skipped) * Elements));

    private static bool HasPackedExpired(scoped in Entry entry, ExpiryClock expiry) =>
        entry.Exists && entry.Encoding == ValueEncoding.ListPackEx && expiry.HasPassed(FieldExpiry.EarliestOf(entry.Position.Entry));

    private bool Set(scoped ReadOnlySpan<byte> field, scoped ReadOnlySpan<byte> value, in HashLimits limits, bool keepExpiry)
    {
        if (!IsTable && !FitsPacked(field, value, limits)) BecomeTable();
        if (IsTable) return SetInTable(field, value, keepExpiry);
        bool isNew = SetPacked(field, value, keepExpiry);
        if (!IsTable && Count > limits.FieldsMax) BecomeTable();
        return isNew;
    }

    /// <summary>
    /// Adds a field that was saved and is known not to be there; an expiry of 0 means none, and another one needs <see cref="ReserveExpiries"/> first.
    /// Fields that come in the order of their expiries go to the end.
    /// </summary>
    /// <returns>The bytes that were looked at and moved to put it in order.</returns>
    internal long AddRead(scoped ReadOnlySpan<byte> field, scoped ReadOnlySpan<byte> value, long expiryMs, in HashLimits limits)
    {
        if (!IsTable && !FitsPacked(field, value, limits)) BecomeTable();
        if (IsTable)
        {
            SetInTable(field, value, keepExpiry: false);
            if (expiryMs > 0) WriteExpiry(field, expiryMs);
            return 0;
        }

        long moved = AppendPacked(field, value, expiryMs == 0 ? long.MaxValue : expiryMs);
        NotePackedExpiry();
        if (Count > limits.FieldsMax) BecomeTable();
        return moved;
    }

    private readonly bool FitsPacked(ReadOnlySpan<byte> field, ReadOnlySpan<byte> value, in HashLimits limits) =>
        field.Length <= limits.BytesMax && value.Length <= limits.BytesMax
        && (long)_entry.Value.Length + field.Length + value.Length < PackedBytesMax;

    private bool SetPacked(scoped ReadOnlySpan<byte> field, scoped ReadOnlySpan<byte> value, bool keepExpiry)
    {
        byte* list = List;
        int offset = PackedList.Find(list, PackedList.Start, field, Elements);
        if (offset < 0)
        {
            AppendPacked(field, value, expiryMs: long.MaxValue);
            return true;
        }

        int at = PackedList.Next(list, offset);
        int change = PackedList.ElementBytes(value) - PackedList.ElementBytes(list, at);
        if (change > 0) Resize(change);
        PackedList.Replace(List, at, value);
        if (change < 0) Resize(change);
        if (!keepExpiry && HasPackedExpiries) MovePacked(offset, long.MaxValue);
        return false;
    }

    // Adds a field. If the list has expiries, it is sorted by them. Returns the list's bytes if the field is not the last one.
    private int AppendPacked(scoped ReadOnlySpan<byte> field, scoped ReadOnlySpan<byte> value, long expiryMs)
    {
        int fieldBytes = PackedList.ElementBytes(field);
        int valueBytes = PackedList.ElementBytes(value);
        long expiry = expiryMs == long.MaxValue ? 0 : expiryMs;
        Resize(fieldBytes + valueBytes + (HasPackedExpiries ? PackedList.ElementBytes(expiry) : 0));
        byte* list = List;
        int at = HasPackedExpiries && expiry != 0 ? OffsetBehind(list, expiry) : PackedList.EndOf(list);
        bool isLast = PackedList.IsEnd(list, at);
        PackedList.Insert(list, at, field);
        PackedList.Insert(list, at + fieldBytes, value);
        if (HasPackedExpiries) PackedList.Insert(list, at + fieldBytes + valueBytes, expiry);
        return isLast ? 0 : PackedList.Bytes(list);
    }

    private static int OffsetBehind(byte* list, long expiryMs)
    {
        // Fields that come in order go to the end.
        int last = PackedList.Last(list);
        if (last >= 0 && PackedList.Read(list, last).Number is > 0 and var latestMs && latestMs <= expiryMs) return PackedList.EndOf(list);

        int offset = PackedList.Start;
        while (!PackedList.IsEnd(list, offset) && FieldExpiry.ExpiryAt(list, offset) <= expiryMs)
        {
            for (int i = 0; i < FieldExpiry.PackedElements; i++) offset = PackedList.Next(list, offset);
        }

        return offset;
    }

    // Changes the expiry of the field at an offset, and moves the field to its position in the order of expiries.
    private void MovePacked(int offset, long expiryMs)
    {
        byte* list = List;
        if (FieldExpiry.ExpiryAt(list, offset) == expiryMs) return;
        PackedElement field = PackedList.Read(list, offset);
        PackedElement value = PackedList.Read(list, PackedList.Next(list, offset));

        // Copies, because inserting changes the list that the spans refer to.
        int fieldLength = field.IsNumber ? CanonicalInteger.TextBytesMax : field.TextLength;
        int valueLength = value.IsNumber ? CanonicalInteger.TextBytesMax : value.TextLength;
        byte* copy = Arena.Allocate(fieldLength + (long)valueLength);
        var fieldRoom = new Span<byte>(copy, fieldLength);
        var valueRoom = new Span<byte>(copy + fieldLength, valueLength);
        ReadOnlySpan<byte> fieldBytes = CopyOf(field, fieldRoom);
        ReadOnlySpan<byte> valueBytes = CopyOf(value, valueRoom);
        RemovePacked(offset);
        AppendPacked(fieldBytes, valueBytes, expiryMs);
        Arena.Free(copy, fieldLength + (long)valueLength);
        NotePackedExpiry();
    }

    private static ReadOnlySpan<byte> CopyOf(PackedElement element, Span<byte> room)
    {
        if (element.IsNumber) return element.Bytes(room);
        element.Bytes(default).CopyTo(room);
        return room[..element.TextLength];
    }

    private void RemovePacked(int offset)
    {
        byte* list = List;
        PackedList.Remove(list, offset, Elements);
        _entry = _database.ResizeValue(_entry, PackedList.Bytes(list));
    }

    // Converts pairs to the format with expiries. No field has an expiry yet.
    private void AddPackedExpiries()
    {
        const int None = 0;
        int noneBytes = PackedList.ElementBytes((long)None);
        int fields = (int)Count;
        Resize(fields * noneBytes);
        byte* list = List;
        int offset = PackedList.Start;
        for (int i = 0; i < fields; i++)
        {
            offset = PackedList.Next(list, PackedList.Next(list, offset));
            PackedList.Insert(list, offset, None);
            offset += noneBytes;
        }

        _entry.SetEncoding(ValueEncoding.ListPackEx);
    }

    private readonly void NotePackedExpiry()
    {
        if (!HasPackedExpiries) return;
        _database.NoteFieldExpiry(_entry, FieldExpiry.EarliestOf(_entry.Position.Entry) != long.MaxValue);
    }

    private void Resize(int change) => _entry = _database.ResizeValue(_entry, _entry.Value.Length + change);

    private readonly bool SetInTable(ReadOnlySpan<byte> field, ReadOnlySpan<byte> value, bool keepExpiry)
    {
        MemberTable<HashField> table = Table;
        ulong hash = table.Hash(field);
        if (!table.TryFind(field, hash, out MemberPosition position))
        {
            table.Add(hash, HashField.Create(Arena, field, value, long.MaxValue));
            return true;
        }

        byte* block = position.Block;
        long oldMs = HashField.Expiry(block);
        bool expired = _expiry.HasPassed(oldMs);
        long expiryMs = expired || !keepExpiry ? long.MaxValue : oldMs;
        if (!HashField.TryRewrite(block, value, expiryMs)) ReplaceBlock(position, HashField.Create(Arena, field, value, expiryMs));
        if (expiryMs != oldMs)
        {
            table.NoteExpiry(hash, oldMs, expiryMs);
            NoteTableExpiry();
        }

        return expired;
    }

    private readonly void ReplaceBlock(in MemberPosition position, byte* block)
    {
        byte* old = position.Block;
        position.Replace(block);
        Arena.Free(old, HashField.Bytes(old));
    }

    // The earliest expiry is a lower bound, but whether any field expires is exact.
    private readonly void NoteTableExpiry(long addedMs = long.MaxValue)
    {
        ref ValueRoot root = ref _entry.Root;
        long earliestMs = Table.Expiring == 0 ? long.MaxValue : Math.Min((long)root.Word, addedMs);
        if (earliestMs == (long)root.Word) return;
        root.Word = (ulong)earliestMs;
        _database.NoteFieldExpiry(_entry, expire: earliestMs != long.MaxValue);
    }

    private void BecomeTable()
    {
        var table = new MemberTable<HashField>(Arena, _database.Hasher, MemberTable<HashField>.Create(Arena));
        long earliest = FieldExpiry.EarliestOf(_entry.Position.Entry);
        byte* list = List;
        Span<byte> fieldBuffer = stackalloc byte[CanonicalInteger.TextBytesMax];
        Span<byte> valueBuffer = stackalloc byte[CanonicalInteger.TextBytesMax];
        for (int offset = PackedList.Start; !PackedList.IsEnd(list, offset);)
        {
            long expiryMs = HasPackedExpiries ? FieldExpiry.ExpiryAt(list, offset) : long.MaxValue;
            ReadOnlySpan<byte> field = PackedList.Read(list, offset).Bytes(fieldBuffer);
            offset = PackedList.Next(list, offset);
            ReadOnlySpan<byte> value = PackedList.Read(list, offset).Bytes(valueBuffer);
            offset = PackedList.Next(list, offset);
            if (HasPackedExpiries) offset = PackedList.Next(list, offset);
            ulong hash = table.Hash(field);
            table.Add(hash, HashField.Create(Arena, field, value, expiryMs));
        }

        _entry = _database.ResizeValue(_entry, ValueRoot.Bytes);
        _entry.SetEncoding(ValueEncoding.HashTable);
        _entry.Root = new ValueRoot { Structure = (byte*)table.Root, Word = (ulong)earliest };
    }
}
