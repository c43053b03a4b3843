using System.Text;
using RedKite.Store.Keyspace;
using RedKite.Store.Values;
using RedKite.Store.Values.Arrays;
using RedKite.Store.Values.Packed;
using KeyStore = RedKite.Store.Keyspace.Keyspace;

namespace RedKite.Store.Tests.Values.Arrays;

/// <summary>An array in guarded memory, and the elements that it must have.</summary>
internal sealed class ArrayWorld : IDisposable
{
    private static readonly byte[] Key = "array"u8.ToArray();
    private static readonly byte[] CopyKey = "copy"u8.ToArray();

    private readonly SortedDictionary<ulong, byte[]> _model = [];
    private readonly int _emptyBlocks;
    private ulong _next;
    private ulong _ring;

    internal ArrayWorld()
    {
        Store = new KeyStore(1, 1, guarded: true);
        byte[] other = "other"u8.ToArray();
        Database.WriteString(other, Store.Hash(other), default, 1, ValueEncoding.Raw, Database.NoExpiry, 0);
        _emptyBlocks = Store.Stripes[0].Guard!.LiveBlocks;
    }

    internal KeyStore Store { get; }

    internal int Count => _model.Count;

    internal ulong Length => _model.Count == 0 ? 0 : _model.Keys.Last() + 1;

    internal ArrayValue Array => ArrayValue.Of(Database, Find(Key));

    internal Entry Entry => Find(Key);

    private Database Database => Store.Databases[0];

    internal void Set(ulong index, byte[] text)
    {
        Assert.Equal(_model.TryAdd(index, text), OpenOrCreate().Set(index, text));
        _model[index] = text;
    }

    internal void Insert(byte[] text)
    {
        ArrayValue array = OpenOrCreate();
        Assert.Equal(_next, array.Next);
        Set(_next, text);
        array.Seek(++_next);
    }

    internal void Seek(ulong next)
    {
        if (!Array.Exists) return;
        Array.Seek(next);
        _next = next;
    }

    internal void Remove(ulong from, ulong to)
    {
        ArrayValue array = Array;
        if (!array.Exists) return;
        (ulong low, ulong high) = (Math.Min(from, to), Math.Max(from, to));
        List<ulong> gone = [.. _model.Keys.Where(index => index >= low && index <= high)];
        Assert.Equal(gone.Count, array.CountBetween(from, to));
        Assert.Equal(gone.Count, array.Remove(from, to));
        gone.ForEach(index => _model.Remove(index));
        array.EndRemoving();
        if (_model.Count == 0) _next = _ring = 0;
    }

    /// <summary>Inserts in a ring; the model moves elements one by one. Only for indexes that are small.</summary>
    internal void Push(ulong size, byte[] text)
    {
        ArrayValue array = OpenOrCreate();
        ulong length = Length;
        if (length > 0)
        {
            array.MakeRing(size);
            if (length > size) Relay(CountLast(size, length), length);
            else if (_ring != size && _ring != 0 && _next > 0 && _next < length) Relay(length, length);
        }
        else
        {
            array.MakeRing(size);
        }

        _ring = size;
        ulong index = _next % size;
        Assert.Equal(index, array.Push(text));
        _model[index] = text;
        _next = index + 1;
    }

    internal ulong IndexAt(Random random) => _model.Keys.ElementAt(random.Next(_model.Count));

    /// <summary>Checks that the array has what the model has, however it is read.</summary>
    internal void Check(Random random)
    {
        ArrayValue array = Array;
        Assert.Equal(_model.Count > 0, array.Exists);
        CheckElements(array);
        if (array.Exists) Assert.Equal((_next, _ring), (array.Next, array.Ring));
        for (int i = 0; i < 6; i++)
        {
            ulong from = Near(random);
            ulong to = Near(random);
            List<ulong> expected = [.. _model.Keys.Where(index => index >= Math.Min(from, to) && index <= Math.Max(from, to))];
            if (from > to) expected.Reverse();
            Assert.Equal(expected, Indexes(array, from, to));
            Assert.Equal(expected.Count, array.CountBetween(from, to));
        }

        Store.CheckGuards();
    }

    /// <summary>Copies the array, checks the copy, and removes it.</summary>
    internal void CheckCopy()
    {
        if (!Array.Exists) return;
        Database.Copy(Entry, Database, CopyKey, Store.Hash(CopyKey), default, 0);
        ArrayValue copy = ArrayValue.Of(Database, Find(CopyKey));
        CheckElements(copy);
        Assert.Equal((_next, _ring), (copy.Next, copy.Ring));
        Assert.InRange(StoredTypes.Of(DataType.Array).Bytes(Find(CopyKey)), 1, StoredTypes.Of(DataType.Array).Bytes(Entry)); // its tree's nodes are full
        Database.Unlink(Find(CopyKey), UnlinkReason.Deleted);
        FreeAll();
    }

    /// <summary>The bytes that the array says it takes, and those that are in use in the arena.</summary>
    internal (long Reported, long Used) Bytes()
    {
        FreeAll();
        return (StoredTypes.Of(DataType.Array).Bytes(Entry), Store.Stripes[0].Arena.UsedBytes);
    }

    /// <summary>Removes the key and checks that nothing of it is left.</summary>
    internal void RemoveKeyAndCheckMemory()
    {
        if (Entry.Exists) Database.Unlink(Entry, UnlinkReason.Deleted);
        FreeAll();
        Assert.Equal(_emptyBlocks, Store.Stripes[0].Guard!.LiveBlocks);
        Store.CheckGuards();
    }

    public void Dispose() => Store.Dispose();

    /// <summary>A number, or a text that is short, or one that is not.</summary>
    internal static byte[] Text(Random random) => random.Next(8) switch
    {
        0 or 1 => Encoding.ASCII.GetBytes($"{random.Next(-1_000, 1_000)}"),
        2 => Encoding.ASCII.GetBytes($"{random.NextInt64(long.MinValue, long.MaxValue)}"),
        3 => Encoding.ASCII.GetBytes($"0{random.Next(100)}"),
        4 or 5 => random.Bytes(random.Next(0, 9)),
        6 => random.Bytes(random.Next(0, 60)),
        _ => random.Bytes(random.Next(0, 3_000)),
    };

    private void FreeAll()
    {
        while (Store.Stripes[0].FreeDroppedSlice())
        {
        }
    }

    private void CheckElements(ArrayValue array)
    {
        Assert.Equal(_model.Count, array.Count);
        Assert.Equal(Length, array.Length);
        Assert.Equal(_model.Keys, Indexes(array, 0, ArrayData.IndexMax));
        Span<byte> digits = stackalloc byte[CanonicalInteger.TextBytesMax];
        foreach ((ulong index, byte[] text) in _model)
        {
            Assert.True(array.TryGet(index, out PackedElement element));
            Assert.Equal(text, element.Bytes(digits).ToArray());
            Assert.True(element.Equals(text));
            if (!_model.ContainsKey(index + 1)) Assert.False(array.TryGet(index + 1, out _));
        }
    }

    private static List<ulong> Indexes(ArrayValue array, ulong from, ulong to)
    {
        List<ulong> indexes = [];
        ArrayCursor cursor = array.Between(from, to);
        while (cursor.MoveNext()) indexes.Add(cursor.Index);
        Assert.False(cursor.MoveNext());
        return indexes;
    }

    // At an element or beside it, or at an end.
    private ulong Near(Random random)
    {
        if (_model.Count == 0 || random.Next(6) == 0) return random.Next(2) == 0 ? 0 : ArrayData.IndexMax;
        ulong index = IndexAt(random);
        return random.Next(3) switch { 0 => index, 1 => Math.Min(index + 1, ArrayData.IndexMax), _ => index == 0 ? 0 : index - 1 };
    }

    private ulong PositionBack(ulong back, ulong length) => _next > back ? _next - 1 - back : length - (back - _next + 1);

    private ulong CountLast(ulong max, ulong length)
    {
        ulong count = 0;
        while (count < max && _model.ContainsKey(PositionBack(count, length))) count++;
        return count;
    }

    private void Relay(ulong positions, ulong length)
    {
        Dictionary<ulong, byte[]> kept = [];
        for (ulong back = 0; back < positions; back++)
        {
            ulong position = PositionBack(back, length);
            if (_model.TryGetValue(position, out byte[]? text)) kept[positions - 1 - back] = text;
        }

        _model.Clear();
        foreach ((ulong index, byte[] text) in kept) _model[index] = text;
        _next = positions;
    }

    private ArrayValue OpenOrCreate() => Array.Exists ? Array : ArrayValue.Create(Database, Key, Store.Hash(Key), 0);

    private Entry Find(byte[] key) => Database.Find(key, Store.Hash(key), ExpiryClock.Never);
}
