using System.Diagnostics;
using RedKite.Store.Keyspace;
using RedKite.Store.Memory;
using RedKite.Store.Values.Members;
using RedKite.Store.Values.Packed;

namespace RedKite.Store.Values.Hashes;

/// <summary>
/// A hash as commands see it: packed in the entry's block while it is small, a table beyond. Expired fields are never seen. In a
/// packed hash they come first: they are removed when it is opened by a command, and skipped where it is only looked at
/// (<see cref="Peek"/>). In a table they are skipped until they are removed. Stays true while nothing but itself changes the entry.
/// </summary>
internal unsafe ref struct HashValue
{
    /// <summary>What <see cref="ExpiryOf"/> says of a field that is not there.</summary>
    internal const long NoField = -2;

    // Redis packs no more than this, whatever the limits are.
    private const long PackedBytesMax = 1 << 30;

    private readonly Database _database;
    private readonly long _nowMs;
    private readonly int _start; // of a packed hash: behind the expired fields
    private readonly int _skipped; // how many those are
    private Entry _entry;

    private HashValue(Database database, Entry entry, long nowMs, int start = PackedList.Start, int skipped = 0)
    {
        _database = database;
        _nowMs = nowMs;
        _entry = entry;
        _start = start;
        _skipped = skipped;
    }

    /// <summary>The key's entry as it is now.</summary>
    internal readonly Entry Entry => _entry;

    /// <summary>Whether there is a hash. There is none without fields, but for a moment inside a command.</summary>
    internal readonly bool Exists => _entry.Exists;

    /// <summary>Fields; those of a table count until they are removed.</summary>
    internal readonly long Count => IsTable ? Table.Count : (PackedList.Count(List) / Elements) - _skipped;

    /// <summary>Fields that have not expired. Of a table with expired ones they are counted one by one.</summary>
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

    /// <summary>The earliest expiry of a field, or an earlier time; long.MaxValue: no field expires.</summary>
    internal readonly long EarliestExpiryMs => FieldExpiry.EarliestOf(_entry.Position.Entry);

    internal readonly bool IsTable => _entry.Encoding == ValueEncoding.HashTable;

    /// <summary>Whether there may be fields whose time has come and which still count. It exists.</summary>
    internal readonly bool HasExpired => IsTable && FieldExpiry.EarliestOf(_entry.Position.Entry) <= _nowMs;

    private readonly bool HasPackedExpiries => _entry.Encoding == ValueEncoding.ListPackEx;

    // Elements of the packed list for each field.
    private readonly int Elements => HasPackedExpiries ? FieldExpiry.PackedElements : 2;

    private readonly byte* List => EntryBlock.ValueStart(_entry.Position.Entry);

    private readonly Arena Arena => _database.ArenaOf(_entry);

    private readonly MemberTable<HashField> Table => new(Arena, _database.Hasher, (nint)_entry.Root.Structure);

    /// <summary>Opens the hash of an entry, which may be missing, to change it. The expired fields of a packed one are removed.</summary>
    internal static HashValue Open(Database database, Entry entry, long nowMs)
    {
        Debug.Assert(!entry.Exists || entry.Type == DataType.Hash, "The caller has looked at the type.");
        if (HasPackedExpired(entry, nowMs)) entry = database.ExpireFields(entry, nowMs, int.MaxValue);
        return new HashValue(database, entry, nowMs);
    }

    /// <summary>Opens the hash of an entry, which may be missing, to read it. Expired fields are removed as by <see cref="Open"/>, if reads may modify.</summary>
    internal static HashValue OpenToRead(Database database, Entry entry, long nowMs) =>
        database.ReadsMayModify ? Open(database, entry, nowMs) : Peek(database, entry, nowMs);

    /// <summary>
    /// Opens the hash of an entry, which may be missing, to look at it: nothing changes. For all that walks over entries, which may
    /// know no more of them than their blocks. A packed hash without living fields does not exist here; it is not to be changed.
    /// </summary>
    internal static HashValue Peek(Database database, Entry entry, long nowMs)
    {
        if (!HasPackedExpired(entry, nowMs)) return new HashValue(database, entry, nowMs);
        byte* list = EntryBlock.ValueStart(entry.Position.Entry);
        int start = PackedList.Start;
        int skipped = 0;
        for (; !PackedList.IsEnd(list, start) && FieldExpiry.ExpiryAt(list, start) <= nowMs; skipped++)
        {
            for (int i = 0; i < FieldExpiry.PackedElements; i++) start = PackedList.Next(list, start);
        }

        return PackedList.IsEnd(list, start) ? default : new HashValue(database, entry, nowMs, start, skipped);
    }

    /// <summary>Makes a key that is missing hold a hash without fields; the caller adds some.</summary>
    internal static HashValue Create(Database database, ReadOnlySpan<byte> key, ulong hash, uint accessClock, long nowMs)
    {
        Entry entry = database.WriteValue(key, hash, default, DataType.Hash, ValueEncoding.ListPack, PackedList.EmptyBytes, Database.NoExpiry, accessClock);
        PackedList.Initialize(EntryBlock.ValueStart(entry.Position.Entry));
        return new HashValue(database, entry, nowMs);
    }

    /// <summary>Finds a field's value. It stays valid until the hash changes.</summary>
    internal readonly bool TryGet(ReadOnlySpan<byte> field, out PackedElement value)
    {
        if (IsTable)
        {
            MemberTable<HashField> table = Table;
            byte* block = table.Find(field, table.Hash(field));
            bool found = block != null && HashField.Expiry(block) > _nowMs;
            value = found ? HashField.Value(block) : default;
            return found;
        }

        byte* list = List;
        int offset = PackedList.Find(list, _start, field, Elements);
        value = offset < 0 ? default : PackedList.Read(list, PackedList.Next(list, offset));
        return offset >= 0;
    }

    internal readonly bool Contains(ReadOnlySpan<byte> field) => TryGet(field, out _);

    /// <summary>Sets a field, which then has no expiry.</summary>
    /// <returns>Whether the field is new.</returns>
    internal bool Set(scoped ReadOnlySpan<byte> field, scoped ReadOnlySpan<byte> value, in HashLimits limits) => Set(field, value, limits, keepExpiry: false);

    /// <summary>Sets a field, which keeps the expiry that it may have.</summary>
    /// <returns>Whether the field is new.</returns>
    internal bool SetAndKeepExpiry(scoped ReadOnlySpan<byte> field, scoped ReadOnlySpan<byte> value, in HashLimits limits) => Set(field, value, limits, keepExpiry: true);

    /// <summary>Removes a field. A hash that has none left is removed with its key.</summary>
    /// <returns>Whether there was one.</returns>
    internal bool Remove(scoped ReadOnlySpan<byte> field)
    {
        if (!Exists) return false;
        if (IsTable)
        {
            MemberTable<HashField> table = Table;
            if (!table.TryFind(field, table.Hash(field), out MemberPosition position)) return false;
            bool alive = HashField.Expiry(position.Block) > _nowMs;
            byte* block = table.Remove(position);
            Arena.Free(block, HashField.Bytes(block));
            if (table.Count == 0) RemoveKey();
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
    /// Removes a field that has expired, and reports it. Called before a command that only depends on the field's absence, so that
    /// the command has the same effect wherever the field is still alive. A packed hash has no expired fields once it is open.
    /// </summary>
    internal readonly void RemoveIfExpired(scoped ReadOnlySpan<byte> field)
    {
        if (!Exists || !IsTable) return;
        MemberTable<HashField> table = Table;
        if (!table.TryFind(field, table.Hash(field), out MemberPosition position) || HashField.Expiry(position.Block) > _nowMs) return;
        _database.NoteExpiredField(_entry, field);
        byte* block = table.Remove(position);
        Arena.Free(block, HashField.Bytes(block));
    }

    /// <summary>Removes the key of a hash that has no fields: it got none, or its last one had expired.</summary>
    internal void RemoveIfEmpty()
    {
        if (Exists && Count == 0) RemoveKey();
    }

    /// <summary>
    /// Removes the fields of a table whose time has come, all of them, so that the rest can be drawn from. Each is
    /// removed once, so this is paid for by what set them. Where reads may not modify, they stay.
    /// </summary>
    internal void RemoveExpired()
    {
        while (Exists && HasExpired && _database.ReadsMayModify)
        {
            _entry = _database.ExpireFields(_entry, _nowMs, int.MaxValue);
        }
    }

    /// <summary>Removes the key of a table in which the time of every field has come.</summary>
    internal void RemoveWithExpiredFields()
    {
        if (!_database.ReadsMayModify) return;
        _database.UnlinkExpiredHash(_entry, Count);
        _entry = default;
    }

    private void RemoveKey()
    {
        _database.Unlink(_entry, UnlinkReason.Emptied);
        _entry = default;
    }

    /// <summary>When a field expires, in Unix milliseconds; <see cref="Database.NoExpiry"/> or <see cref="NoField"/>.</summary>
    internal readonly long ExpiryOf(ReadOnlySpan<byte> field)
    {
        long expiryMs = long.MaxValue;
        if (IsTable)
        {
            MemberTable<HashField> table = Table;
            byte* block = table.Find(field, table.Hash(field));
            if (block == null) return NoField;
            expiryMs = HashField.Expiry(block);
            if (expiryMs <= _nowMs) return NoField;
        }
        else
        {
            int offset = PackedList.Find(List, _start, field, Elements);
            if (offset < 0) return NoField;
            if (HasPackedExpiries) expiryMs = FieldExpiry.ExpiryAt(List, offset);
        }

        return expiryMs == long.MaxValue ? Database.NoExpiry : expiryMs;
    }

    /// <summary>Sets a field's expiry, or takes it away with <see cref="Database.NoExpiry"/>. The field is there.</summary>
    internal void WriteExpiry(scoped ReadOnlySpan<byte> field, long expiryMs)
    {
        if (expiryMs == Database.NoExpiry) expiryMs = long.MaxValue;
        if (IsTable)
        {
            MemberTable<HashField> table = Table;
            ulong hash = table.Hash(field);
            if (!table.TryFind(field, hash, out MemberPosition position)) throw new InvalidOperationException("The field is not there.");
            byte* block = position.Block;
            if (HashField.Expiry(block) == expiryMs) return;
            ReplaceBlock(position, HashField.Create(Arena, field, HashField.Value(block).Bytes(default), expiryMs));
            NoteTableExpiry(hash, expiryMs);
            return;
        }

        if (!HasPackedExpiries && expiryMs != long.MaxValue) AddPackedExpiries();
        if (HasPackedExpiries) MovePacked(PackedList.Find(List, PackedList.Start, field, Elements), expiryMs);
    }

    /// <summary>
    /// Makes a packed hash a table if a command is about to set more fields than may be packed. As in Redis, its arguments count,
    /// although some may name the same field.
    /// </summary>
    internal void Expect(long fields, in HashLimits limits)
    {
        if (!IsTable && fields > limits.FieldsMax) BecomeTable();
    }

    /// <summary>Makes a packed hash one whose fields may expire. As in Redis, it stays one.</summary>
    internal void ReserveExpiries()
    {
        if (Exists && !IsTable && !HasPackedExpiries) AddPackedExpiries();
    }

    /// <summary>Every living field with its value; valid until the hash changes.</summary>
    internal readonly HashFields Fields() => IsTable
        ? new HashFields(Table.GetEnumerator(), _nowMs)
        : new HashFields(List, Elements, _start);

    /// <summary>Living fields of one bucket of a table; the cursor moves to the next bucket and is 0 after the last.</summary>
    internal readonly HashFields ScanBucket(ref ulong cursor) => new(Table.ScanBucket(ref cursor), _nowMs);

    /// <summary>A field at random of a table without expired ones.</summary>
    internal readonly HashFields Draw(Random random) => HashFields.OfBlock(Table.Draw(random));

    /// <summary>Notes where each living field of a table is, for <see cref="OfDrawn"/>. There is capacity for all.</summary>
    internal readonly void FindLiving(Span<nint> living)
    {
        int count = 0;
        foreach (nint block in Table)
        {
            if (HashField.Expiry((byte*)block) > _nowMs) living[count++] = block;
        }
    }

    /// <summary>Draws different fields from a table without expired ones, at most a third of them; <see cref="OfDrawn"/> tells which.</summary>
    internal readonly void DrawDistinct(Random random, Span<nint> drawn) => Table.DrawDistinct(random, drawn);

    internal static HashFields OfDrawn(nint drawn) => HashFields.OfBlock((byte*)drawn);

    /// <summary>Notes where each field of a packed hash is, for <see cref="OfPlace"/>. There is room for all.</summary>
    internal readonly void FindPlaces(Span<int> places)
    {
        byte* list = List;
        int offset = _start;
        for (int i = 0; !PackedList.IsEnd(list, offset); i++)
        {
            places[i] = offset;
            for (int element = Elements; element > 0; element--) offset = PackedList.Next(list, offset);
        }
    }

    internal readonly HashFields OfPlace(int place) => HashFields.OfElement(List, place);

    /// <summary>The field at an index of a packed hash.</summary>
    internal readonly HashFields At(int index) => HashFields.OfElement(List, PackedList.At(List, (index + _skipped) * Elements));

    private static bool HasPackedExpired(scoped in Entry entry, long nowMs) =>
        entry.Exists && entry.Encoding == ValueEncoding.ListPackEx && FieldExpiry.EarliestOf(entry.Position.Entry) <= nowMs;

    private bool Set(scoped ReadOnlySpan<byte> field, scoped ReadOnlySpan<byte> value, in HashLimits limits, bool keepExpiry)
    {
        if (!IsTable && !FitsPacked(field, value, limits)) BecomeTable();
        if (IsTable) return SetInTable(field, value, keepExpiry);
        bool isNew = SetPacked(field, value, keepExpiry);
        if (!IsTable && Count > limits.FieldsMax) BecomeTable();
        return isNew;
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

    // Behind those that expire earlier, if the list has expiries.
    private void AppendPacked(scoped ReadOnlySpan<byte> field, scoped ReadOnlySpan<byte> value, long expiryMs)
    {
        int fieldBytes = PackedList.ElementBytes(field);
        int valueBytes = PackedList.ElementBytes(value);
        long expiry = expiryMs == long.MaxValue ? 0 : expiryMs;
        Resize(fieldBytes + valueBytes + (HasPackedExpiries ? PackedList.ElementBytes(expiry) : 0));
        byte* list = List;
        int at = HasPackedExpiries && expiry != 0 ? OffsetBehind(list, expiry) : PackedList.EndOf(list);
        PackedList.Insert(list, at, field);
        PackedList.Insert(list, at + fieldBytes, value);
        if (HasPackedExpiries) PackedList.Insert(list, at + fieldBytes + valueBytes, expiry);
    }

    private static int OffsetBehind(byte* list, long expiryMs)
    {
        int offset = PackedList.Start;
        while (!PackedList.IsEnd(list, offset) && FieldExpiry.ExpiryAt(list, offset) <= expiryMs)
        {
            for (int i = 0; i < FieldExpiry.PackedElements; i++) offset = PackedList.Next(list, offset);
        }

        return offset;
    }

    // Gives the field at an offset another expiry, and the place that goes with it.
    private void MovePacked(int offset, long expiryMs)
    {
        byte* list = List;
        if (FieldExpiry.ExpiryAt(list, offset) == expiryMs) return;
        PackedElement field = PackedList.Read(list, offset);
        PackedElement value = PackedList.Read(list, PackedList.Next(list, offset));

        // A copy, because the list changes under the elements.
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

    // From pairs to fields with their expiries, of which none has one yet.
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
        long expiryMs = HashField.Expiry(block);
        bool expired = expiryMs <= _nowMs;
        if (expired || !keepExpiry) expiryMs = long.MaxValue;
        if (!HashField.TryRewrite(block, value, expiryMs)) ReplaceBlock(position, HashField.Create(Arena, field, value, expiryMs));
        return expired;
    }

    private readonly void ReplaceBlock(in MemberPosition position, byte* block)
    {
        byte* old = position.Block;
        position.Replace(block);
        Arena.Free(old, HashField.Bytes(old));
    }

    private readonly void NoteTableExpiry(ulong hash, long expiryMs)
    {
        if (expiryMs == long.MaxValue) return;
        Table.NoteExpiry(hash, expiryMs);
        ref ValueRoot root = ref _entry.Root;
        if (expiryMs >= (long)root.Word) return;
        root.Word = (ulong)expiryMs;
        _database.NoteFieldExpiry(_entry, expire: true);
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
            if (expiryMs != long.MaxValue) table.NoteExpiry(hash, expiryMs);
        }

        _entry = _database.ResizeValue(_entry, ValueRoot.Bytes);
        _entry.SetEncoding(ValueEncoding.HashTable);
        _entry.Root = new ValueRoot { Structure = (byte*)table.Root, Word = (ulong)earliest };
    }
}
