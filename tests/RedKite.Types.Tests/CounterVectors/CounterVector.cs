using System.Runtime.InteropServices;
using RedKite.Store.Keyspace;
using RedKite.Store.Values;

namespace RedKite.Types.Tests.CounterVectors;

/// <summary>A key's vector of counters as commands see it: up to <see cref="PackedMax"/> of them are in the entry's block, more are <see cref="CounterBlocks"/>.</summary>
internal readonly unsafe ref struct CounterVector
{
    internal const int PackedMax = 8;
    internal const int CountMax = 1 << 20;

    private readonly Entry _entry;

    private CounterVector(Entry entry) => _entry = entry;

    internal int Count => !_entry.Exists ? 0 : _entry.HasStructure ? Blocks->Count : _entry.Value.Length / sizeof(long);

    internal long this[int index] => _entry.HasStructure ? CounterBlocks.At(Blocks, index) : MemoryMarshal.Read<long>(_entry.Value[(index * sizeof(long))..]);

    private CounterBlocks* Blocks => (CounterBlocks*)_entry.Root.Structure;

    internal static CounterVector Of(Entry entry) => new(entry);

    /// <summary>Adds to a counter. The vector grows if it has none with that index, and is created if there is no entry.</summary>
    internal static long Add(Database database, ReadOnlySpan<byte> key, ulong hash, Entry entry, uint accessClock, int index, long increment)
    {
        if (!entry.Exists) entry = database.WriteValue(key, hash, default, new ValueHeader(CounterVectorType.Instance.Number, ValueEncoding.Own, accessClock), 0, Database.NoExpiry);
        var vector = new CounterVector(entry);
        if (index >= vector.Count) vector = vector.Grown(database, index + 1);
        long sum = vector[index] + increment;
        if (vector._entry.HasStructure) CounterBlocks.At(vector.Blocks, index) = sum;
        else MemoryMarshal.Write(vector._entry.Value[(index * sizeof(long))..], sum);
        return sum;
    }

    private CounterVector Grown(Database database, int count)
    {
        if (_entry.HasStructure)
        {
            CounterBlocks.Grow(Blocks, database.ArenaOf(_entry), count);
            return this;
        }

        int old = _entry.Value.Length;
        if (count <= PackedMax)
        {
            Entry longer = database.ResizeValue(_entry, count * sizeof(long));
            longer.Value[old..].Clear();
            return new CounterVector(longer);
        }

        Span<byte> counters = stackalloc byte[PackedMax * sizeof(long)];
        _entry.Value.CopyTo(counters);
        Entry entry = database.ResizeValue(_entry, ValueRoot.Bytes);
        CounterBlocks* blocks = CounterBlocks.Create(database.ArenaOf(entry));
        CounterBlocks.Grow(blocks, database.ArenaOf(entry), count);
        for (int i = 0; i < old / sizeof(long); i++) CounterBlocks.At(blocks, i) = MemoryMarshal.Read<long>(counters[(i * sizeof(long))..]);
        entry.SetEncoding(ValueEncoding.OwnStructure);
        entry.Root = new ValueRoot { Structure = (byte*)blocks };
        return new CounterVector(entry);
    }
}
