using RedKite.Store.Keyspace;
using RedKite.Store.Memory;
using RedKite.Store.Values.Members;
using RedKite.Store.Values.Packed;

namespace RedKite.Store.Values.Sets;

/// <summary>
/// A set to change: integers or a packed list in the entry's block while it is small, otherwise a table. It belongs to an entry,
/// which may move, or is detached while a command builds a result next to its source sets. A detached set ends with
/// <see cref="AttachTo"/> or <see cref="Free"/>.
/// </summary>
internal unsafe ref struct SetValue : IExpiringElements
{
    // The maximum size of a set in consecutive bytes, regardless of the settings: changes move half of it.
    private const long RunBytesMax = 1 << 26;

    private readonly Database _database;
    private readonly Arena _arena;
    private readonly SetLimits _limits;
    private readonly ExpiryClock _expiry;
    private Entry _entry;

    // The bytes of a detached set.
    private byte* _run;
    private byte* _table;
    private ValueEncoding _ownEncoding;
    private int _runBytes;

    private SetValue(Database database, Arena arena, scoped in SetLimits limits, ExpiryClock expiry)
    {
        _database = database;
        _arena = arena;
        _limits = limits;
        _expiry = expiry;
    }

    /// <summary>The set of an entry. Members that have expired are not there, but count until they are removed. By default none has.</summary>
    internal static SetValue Open(Database database, Entry entry, scoped in SetLimits limits, ExpiryClock expiry = default) =>
        new(database, database.ArenaOf(entry), limits, expiry) { _entry = entry };

    /// <summary>Creates an empty set at a missing key, in the encoding that suits the members to be added.</summary>
    /// <param name="database">The database.</param>
    /// <param name="key">The key.</param>
    /// <param name="hash">Its hash.</param>
    /// <param name="accessClock">The entry's access clock.</param>
    /// <param name="first">The first member.</param>
    /// <param name="count">How many there are, repeated ones counted.</param>
    /// <param name="limits">The limits of small sets.</param>
    internal static SetValue Create(Database database, ReadOnlySpan<byte> key, ulong hash, uint accessClock, scoped ReadOnlySpan<byte> first, long count, scoped in SetLimits limits)
    {
        bool isIntegers = count <= limits.IntegersMax && CanonicalInteger.TryParse(first, out _);
        ValueEncoding encoding = isIntegers ? ValueEncoding.IntSet : ValueEncoding.ListPack;
        int bytes = isIntegers ? IntSet.EmptyBytes : PackedList.EmptyBytes;
        Entry entry = database.WriteValue(key, hash, default, new ValueHeader(DataType.Set, encoding, accessClock), bytes, Database.NoExpiry);
        SetValue set = Open(database, entry, limits, ExpiryClock.Never);
        if (isIntegers) IntSet.Initialize(set.Run);
        else PackedList.Initialize(set.Run);
        set.Expect(count);
        return set;
    }

    /// <summary>Creates a detached set in the arena of the key's stripe.</summary>
    /// <param name="database">The database.</param>
    /// <param name="hash">The key's hash.</param>
    /// <param name="limits">The limits of small sets.</param>
    /// <param name="isIntegers">Whether it begins as a set of integers.</param>
    internal static SetValue CreateDetached(Database database, ulong hash, scoped in SetLimits limits, bool isIntegers)
    {
        Arena arena = database.ArenaOf(hash);
        int bytes = isIntegers ? IntSet.EmptyBytes : PackedList.EmptyBytes;
        var set = new SetValue(database, arena, limits, ExpiryClock.Never) { _runBytes = bytes, _ownEncoding = isIntegers ? ValueEncoding.IntSet : ValueEncoding.ListPack };
        set._run = arena.Allocate(bytes);
        if (isIntegers) IntSet.Initialize(set._run);
        else PackedList.Initialize(set._run);
        return set;
    }

    /// <summary>Whether the set belongs to an entry.</summary>
    internal readonly bool Exists => _entry.Exists;

    /// <summary>The current entry.</summary>
    internal readonly Entry Entry => _entry;

    internal readonly long Count => View.Count;

    /// <summary>The current set; empty once it has lost its last member.</summary>
    internal readonly SetView View => IsGone ? default : new(_arena, _database.Hasher, Encoding, Encoding == ValueEncoding.HashTable ? Structure : Run);

    // The set has lost its last member, and its key with it.
    private readonly bool IsGone => !Exists && _run == null && _table == null;

    private readonly ValueEncoding Encoding => Exists ? _entry.Encoding : _ownEncoding;

    private readonly byte* Run => Exists ? EntryBlock.ValueStart(_entry.Position.Entry) : _run;

    private readonly byte* Structure => Exists ? _entry.Root.Structure : _table;

    private readonly MemberTable<SetMember> Table => new(_arena, _database.Hasher, (nint)Structure);

    /// <summary>Announces a number of members to add: a small set becomes a table at once if they are too many for it.</summary>
    internal void Expect(long count)
    {
        long max = Encoding == ValueEncoding.IntSet ? _limits.IntegersMax : Encoding == ValueEncoding.ListPack ? _limits.PackedMax : long.MaxValue;
        if (count > max) MakeTable();
    }

    /// <summary>Announces a number of members, integers or not, to an empty set: beyond both limits it becomes a table at once.</summary>
    internal void ExpectOfAnyKind(long count)
    {
        if (count > Math.Max(_limits.IntegersMax, _limits.PackedMax)) MakeTable();
    }

    /// <summary>Adds a member.</summary>
    /// <returns>Whether it is new.</returns>
    internal bool Add(scoped ReadOnlySpan<byte> member) => Add(member, isNew: false);

    /// <summary>Adds a member that is known not to be in the set.</summary>
    internal void AddNew(scoped ReadOnlySpan<byte> member) => Add(member, isNew: true);

    /// <summary>Removes a member. A key's set that has none left is removed with its key.</summary>
    /// <returns>Whether there was one.</returns>
    public bool Remove(scoped ReadOnlySpan<byte> member)
    {
        if (IsGone || !RemoveMember(member)) return false;
        if (Exists && Count == 0) RemoveAll();
        return true;
    }

    /// <summary>Removes all members of a key's set, and the key.</summary>
    internal void RemoveAll()
    {
        _database.Unlink(_entry, UnlinkReason.Emptied);
        _entry = default;
    }

    /// <summary>
    /// Changes the encoding to the one that the members would have if they were added to a new set: of integers if this is one,
    /// otherwise packed.
    /// </summary>
    internal void EncodeAnew()
    {
        if (Encoding == ValueEncoding.HashTable && Table.Expiring > 0) return;
        bool fits = Encoding == ValueEncoding.IntSet ? Count <= _limits.IntegersMax : FitsPacked();
        if (!fits && Encoding != ValueEncoding.HashTable) MakeTable();
        else if (fits && Encoding == ValueEncoding.HashTable) PackTable();
    }

    private bool RemoveMember(scoped ReadOnlySpan<byte> member)
    {
        switch (Encoding)
        {
            case ValueEncoding.IntSet:
                if (!CanonicalInteger.TryParse(member, out long number) || !IntSet.TryFind(Run, number, out int index)) return false;
                IntSet.RemoveAt(Run, index);
                Resize(IntSet.Bytes(Run));
                return true;
            case ValueEncoding.ListPack:
                int offset = PackedList.Find(Run, PackedList.Start, member);
                if (offset < 0) return false;
                PackedList.Remove(Run, offset);
                Resize(PackedList.Bytes(Run));
                return true;
            default:
                MemberTable<SetMember> table = Table;
                if (!table.TryFind(member, table.Hash(member), out MemberPosition position)) return false;
                bool isAlive = !_expiry.HasPassed(SetMember.Expiry(position.Block));
                if (!isAlive) _database.NoteExpiredField(_entry, member);
                byte* block = table.Remove(position);
                _arena.Free(block, SetMember.Bytes(block));
                NoteTableExpiry();
                if (!isAlive && table.Count == 0) RemoveAll();
                return isAlive;
        }
    }

    /// <summary>When a member expires: see <see cref="SetView.ExpiryOf"/>.</summary>
    public readonly long ExpiryOf(scoped ReadOnlySpan<byte> member)
    {
        long expiryMs = View.ExpiryOf(member);
        return expiryMs >= 0 && _expiry.HasPassed(expiryMs) ? IElementExpiries.Missing : expiryMs;
    }

    /// <summary>Sets when a member expires, which is in a key's set; <see cref="Database.NoExpiry"/>: it does not.</summary>
    public void WriteExpiry(scoped ReadOnlySpan<byte> member, long expiryMs)
    {
        if (expiryMs == Database.NoExpiry) expiryMs = long.MaxValue;
        if (Encoding != ValueEncoding.HashTable)
        {
            if (expiryMs == long.MaxValue) return;
            MakeTable();
        }

        MemberTable<SetMember> table = Table;
        ulong hash = table.Hash(member);
        if (!table.TryFind(member, hash, out MemberPosition position)) throw new InvalidOperationException("The member is not there.");
        byte* old = position.Block;
        long oldMs = SetMember.Expiry(old);
        if (oldMs == expiryMs) return;
        position.Replace(SetMember.Create(_arena, member, expiryMs));
        _arena.Free(old, SetMember.Bytes(old));
        table.NoteExpiry(hash, oldMs, expiryMs);
        NoteTableExpiry(expiryMs);
    }

    /// <summary>
    /// Removes a member that has expired and reports it, before a command that depends on its absence: so the command has the same effect where it
    /// has not expired.
    /// </summary>
    internal void RemoveIfExpired(scoped ReadOnlySpan<byte> member)
    {
        if (!Exists || Encoding != ValueEncoding.HashTable) return;
        MemberTable<SetMember> table = Table;
        byte* block = table.Find(member, table.Hash(member));
        if (block != null && _expiry.HasPassed(SetMember.Expiry(block))) RemoveMember(member);
    }

    /// <summary>Removes all members that have expired.</summary>
    internal void RemoveExpired()
    {
        if (Exists) _entry = SetExpiry.RemoveExpired(_database, _entry, _expiry);
    }

    // The earliest expiry is a lower bound, but whether any member expires is exact.
    private readonly void NoteTableExpiry(long addedMs = long.MaxValue)
    {
        if (!Exists) return;
        ref ValueRoot root = ref _entry.Root;
        ulong earliestMs = Table.Expiring == 0 ? SetExpiry.NoWord : (ulong)Math.Min((long)root.Word, addedMs);
        if (earliestMs == root.Word) return;
        root.Word = earliestMs;
        _database.NoteFieldExpiry(_entry, expire: earliestMs != SetExpiry.NoWord);
    }

    /// <summary>Attaches a detached set to a key of its stripe and replaces any value. This instance must not be used afterwards.</summary>
    internal readonly void AttachTo(scoped ReadOnlySpan<byte> key, ulong hash, Entry existing, uint accessClock)
    {
        bool isTable = _ownEncoding == ValueEncoding.HashTable;
        Entry entry = _database.WriteValue(key, hash, existing, new ValueHeader(DataType.Set, _ownEncoding, accessClock), isTable ? ValueRoot.Bytes : _runBytes, Database.NoExpiry);
        if (isTable)
        {
            entry.Root = new ValueRoot { Structure = _table, Word = SetExpiry.NoWord };
        }
        else
        {
            new ReadOnlySpan<byte>(_run, _runBytes).CopyTo(entry.Value);
            _arena.Free(_run, _runBytes);
        }
    }

    /// <summary>Frees a detached set.</summary>
    internal readonly void Free()
    {
        if (_ownEncoding != ValueEncoding.HashTable) _arena.Free(_run, _runBytes);
        else while (Table.FreeSlice(int.MaxValue)) { }
    }

    private bool Add(scoped ReadOnlySpan<byte> member, bool isNew)
    {
        switch (Encoding)
        {
            case ValueEncoding.IntSet:
                if (CanonicalInteger.TryParse(member, out long number)) return AddInteger(number, member);
                if (CanBePacked(member)) MakePacked();
                else MakeTable();
                return Add(member, isNew);
            case ValueEncoding.ListPack:
                return AddPacked(member, isNew);
            default:
                MemberTable<SetMember> table = Table;
                ulong hash = table.Hash(member);
                if (!isNew && table.TryFind(member, hash, out MemberPosition position))
                {
                    if (!_expiry.HasPassed(SetMember.Expiry(position.Block))) return false;
                    _database.NoteExpiredField(_entry, member);
                    WriteExpiry(member, Database.NoExpiry);
                    return true;
                }

                table.Add(hash, SetMember.Create(_arena, member));
                return true;
        }
    }

    private bool AddInteger(long number, scoped ReadOnlySpan<byte> member)
    {
        if (IntSet.TryFind(Run, number, out int index)) return false;
        long bytes = IntSet.BytesWith(Run, number);
        if (IntSet.Count(Run) >= _limits.IntegersMax || bytes > RunBytesMax)
        {
            MakeTable();
            return Add(member);
        }

        Resize((int)bytes);
        IntSet.Insert(Run, index, number);
        return true;
    }

    private bool AddPacked(scoped ReadOnlySpan<byte> member, bool isNew)
    {
        if (!isNew && PackedList.Find(Run, PackedList.Start, member) >= 0) return false;
        long bytes = PackedList.Bytes(Run) + (long)PackedList.ElementBytes(member);
        if (PackedList.Count(Run) >= _limits.PackedMax || member.Length > _limits.PackedBytesMax || bytes > RunBytesMax)
        {
            MakeTable();
            return Add(member, isNew);
        }

        Resize((int)bytes);
        PackedList.Insert(Run, PackedList.EndOf(Run), member);
        return true;
    }

    // Whether the integers, with a member that is none, may become a packed list.
    private readonly bool CanBePacked(scoped ReadOnlySpan<byte> member)
    {
        int count = IntSet.Count(Run);
        if (count >= _limits.PackedMax || member.Length > _limits.PackedBytesMax) return false;
        if (count == 0) return true;
        Span<byte> text = stackalloc byte[CanonicalInteger.TextBytesMax];
        int longest = Math.Max(CanonicalInteger.Format(IntSet.At(Run, 0), text), CanonicalInteger.Format(IntSet.At(Run, count - 1), text));
        return longest <= _limits.PackedBytesMax && (long)count * (longest + 2) < RunBytesMax;
    }

    private void MakePacked()
    {
        int count = IntSet.Count(Run);
        int bytes = PackedList.EmptyBytes;
        for (int i = 0; i < count; i++) bytes += PackedList.ElementBytes(IntSet.At(Run, i));

        byte* list = _arena.Allocate(bytes);
        PackedList.Initialize(list);
        for (int i = 0; i < count; i++) PackedList.Insert(list, PackedList.EndOf(list), IntSet.At(Run, i));
        Resize(bytes);
        Buffer.MemoryCopy(list, Run, bytes, bytes);
        _arena.Free(list, bytes);
        SetEncoding(ValueEncoding.ListPack);
    }

    private readonly bool FitsPacked()
    {
        if (Count > _limits.PackedMax) return false;
        long bytes = PackedList.EmptyBytes;
        SetEnumerator members = View.Enumerate(stackalloc byte[SetEnumerator.NumberBytesMax]);
        while (members.MoveNext())
        {
            if (members.Current.Length > _limits.PackedBytesMax) return false;
            bytes += PackedList.ElementBytes(members.Current);
        }

        return bytes <= RunBytesMax;
    }

    private void PackTable()
    {
        SetValue packed = CreateDetached(_database, _entry.Position.Hash, _limits, isIntegers: false);
        SetEnumerator members = View.Enumerate(stackalloc byte[SetEnumerator.NumberBytesMax]);
        while (members.MoveNext()) packed.AddNew(members.Current);

        MemberTable<SetMember> table = Table;
        Resize(packed._runBytes);
        SetEncoding(ValueEncoding.ListPack);
        Buffer.MemoryCopy(packed._run, Run, packed._runBytes, packed._runBytes);
        packed.Free();
        while (table.FreeSlice(int.MaxValue)) { }
    }

    private void MakeTable()
    {
        var table = new MemberTable<SetMember>(_arena, _database.Hasher, MemberTable<SetMember>.Create(_arena));
        SetEnumerator members = View.Enumerate(stackalloc byte[SetEnumerator.NumberBytesMax]);
        while (members.MoveNext()) table.Add(table.Hash(members.Current), SetMember.Create(_arena, members.Current));
        if (Exists)
        {
            _entry = _database.ResizeValue(_entry, ValueRoot.Bytes);
            _entry.SetEncoding(ValueEncoding.HashTable);
            _entry.Root = new ValueRoot { Structure = (byte*)table.Root, Word = SetExpiry.NoWord };
            return;
        }

        _arena.Free(_run, _runBytes);
        _run = null;
        _runBytes = 0;
        _table = (byte*)table.Root;
        _ownEncoding = ValueEncoding.HashTable;
    }

    private void SetEncoding(ValueEncoding encoding)
    {
        if (Exists) _entry.SetEncoding(encoding);
        else _ownEncoding = encoding;
    }

    private void Resize(int bytes)
    {
        if (Exists)
        {
            _entry = _database.ResizeValue(_entry, bytes);
            return;
        }

        _run = _arena.Reallocate(_run, _runBytes, bytes);
        _runBytes = bytes;
    }
}
