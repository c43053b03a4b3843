using System.Globalization;
using System.Text;
using RedKite.Store.Keyspace;
using RedKite.Store.Memory;
using RedKite.Store.Values.Copying;
using RedKite.Store.Values.Members;

namespace RedKite.Store.Tests.Structures;

/// <summary>
/// A table of members in its own guarded arena, and the dictionary that it must agree with. Members are numbers
/// as text; a block is [length of the member][length of the padding][value][expiry, or 0][member][padding].
/// </summary>
internal sealed unsafe class MemberTableWorld : IDisposable
{
    private readonly SlabSource _source = new();
    private readonly ArenaGuard _guard = new();
    private readonly Arena _arena;
    private readonly KeyHasher _hasher;
    private readonly Dictionary<int, (int Value, int? Expiry)> _model;
    private bool _freed;

    internal MemberTableWorld()
        : this(new KeyHasher())
    {
    }

    internal MemberTableWorld(KeyHasher hasher)
    {
        _arena = new Arena(_source, _guard);
        _hasher = hasher;
        _model = [];
        Table = new MemberTable<Layout>(_arena, _hasher, MemberTable<Layout>.Create(_arena));
    }

    private MemberTableWorld(MemberTableWorld source)
    {
        _arena = new Arena(_source, _guard);
        _hasher = source._hasher;
        _model = new Dictionary<int, (int, int?)>(source._model);
        Table = new MemberTable<Layout>(_arena, _hasher, CopyOf(source.Table, _arena));
    }

    internal MemberTable<Layout> Table { get; }

    internal long UsedBytes => _arena.UsedBytes;

    internal static int MemberOf(nint block) => int.Parse(Layout.Member((byte*)block), CultureInfo.InvariantCulture);

    private static nint CopyOf(MemberTable<Layout> table, Arena arena)
    {
        var copy = new MemberTableCopy<Layout>(table.Root, arena);
        while (copy.Step())
        {
        }

        return copy.Root;
    }

    internal MemberTableWorld Copy() => new(this);

    /// <summary>Adds the member, or replaces its block by one of another length.</summary>
    internal void Write(int member, int value, int? expiryMs = null)
    {
        byte[] name = Name(member);
        ulong hash = _hasher.Hash(name);
        int padding = value & 31;
        byte* block = _arena.Allocate(Layout.HeaderBytes + name.Length + padding);
        block[0] = (byte)name.Length;
        block[1] = (byte)padding;
        BitConverter.TryWriteBytes(new Span<byte>(block + 4, sizeof(int)), value);
        BitConverter.TryWriteBytes(new Span<byte>(block + 8, sizeof(int)), expiryMs ?? 0);
        name.CopyTo(new Span<byte>(block + Layout.HeaderBytes, name.Length));

        Table.PrefetchBucket(hash);
        Table.PrefetchBlock(hash);
        bool found = Table.TryFind(name, hash, out MemberPosition position);
        Assert.Equal(_model.ContainsKey(member), found);
        if (found)
        {
            byte* old = position.Block;
            position.Replace(block);
            Table.NoteExpiry(hash, Layout.Expiry(old), Layout.Expiry(block));
            _arena.Free(old, Layout.Bytes(old));
        }
        else
        {
            Table.Add(hash, block);
        }

        _model[member] = (value, expiryMs);
    }

    internal void Remove(int member)
    {
        byte[] name = Name(member);
        bool found = Table.TryFind(name, _hasher.Hash(name), out MemberPosition position);
        Assert.Equal(_model.Remove(member), found);
        if (!found) return;
        byte* block = Table.Remove(position);
        Assert.Equal(member, MemberOf((nint)block));
        _arena.Free(block, Layout.Bytes(block));
    }

    /// <summary>Frees expired members in as many slices as needed.</summary>
    internal void FreeExpired(int nowMs, int workMax)
    {
        int[] expired = [.. _model.Where(pair => pair.Value.Expiry <= nowMs).Select(pair => pair.Key)];
        long freed = 0;
        long earliestMs;
        do
        {
            int work = workMax;
            freed += Table.FreeExpired(nowMs, ref work, out earliestMs);
        }
        while (earliestMs <= nowMs);
        foreach (int member in expired) _model.Remove(member);
        Assert.Equal(expired.Length, freed);
        if (_model.Values.Min(entry => entry.Expiry) is { } earliest) Assert.InRange(earliestMs, nowMs + 1, earliest);
    }

    internal nint Pick(Random random) => (nint)Table.Pick(random);

    internal bool FreeSlice(int blocksMax)
    {
        bool more = Table.FreeSlice(blocksMax);
        _freed = !more;
        return more;
    }

    internal void AssertFind(int member)
    {
        byte[] name = Name(member);
        byte* block = Table.Find(name, _hasher.Hash(name));
        Assert.Equal(_model.TryGetValue(member, out (int Value, int?) entry), block != null);
        if (block != null) Assert.Equal(entry.Value, ValueOf((nint)block));
    }

    internal void AssertAll()
    {
        Assert.Equal(_model.Count, Table.Count);
        Assert.Equal(_model.Values.LongCount(entry => entry.Expiry is not null), Table.Expiring);
        foreach (int member in _model.Keys) AssertFind(member);
        var members = new List<KeyValuePair<int, int>>();
        foreach (nint block in Table) members.Add(new(MemberOf(block), ValueOf(block)));
        Assert.Equal(_model.Select(pair => KeyValuePair.Create(pair.Key, pair.Value.Value)).OrderBy(pair => pair.Key), members.OrderBy(pair => pair.Key));
    }

    internal void Check() => _guard.Check();

    /// <summary>Frees the table in slices of any size; the guard throws if anything is left.</summary>
    public void Dispose()
    {
        while (!_freed && FreeSlice(1 + (int)(Table.Count % 50)))
        {
        }

        _arena.Dispose();
        _source.Dispose();
    }

    private static int ValueOf(nint block) => BitConverter.ToInt32(new ReadOnlySpan<byte>((byte*)block + 4, sizeof(int)));

    private static byte[] Name(int member) => Encoding.ASCII.GetBytes(member.ToString(CultureInfo.InvariantCulture));

    internal readonly struct Layout : IMemberLayout
    {
        internal const int HeaderBytes = 12;

        public static ReadOnlySpan<byte> Member(byte* block) => new(block + HeaderBytes, block[0]);

        public static long Bytes(byte* block) => HeaderBytes + block[0] + block[1];

        public static long Expiry(byte* block) => *(int*)(block + 8) is > 0 and int expiry ? expiry : long.MaxValue;
    }
}
