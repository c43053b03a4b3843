using BenchmarkDotNet.Attributes;
using RedKite.Store.Memory;
using RedKite.Store.Values.Sets;

namespace RedKite.Microbenchmarks;

/// <summary>
/// Numbers of a set of integers found, added and removed, and a set that a wide number makes wider. A hit is all that
/// adding a number again comes to. The error paths are a miss, and a foreign set that is out of order at its end.
/// </summary>
public unsafe class IntSetBenchmarks
{
    private const int Step = 3;
    private const long Wide = 1L << 40;

    private SlabSource _source = null!;
    private Arena _arena = null!;
    private byte* _set;
    private byte* _copy;
    private long[] _members = [];
    private byte[] _disordered = [];
    private int _at;

    /// <summary>512 are the most that set-max-intset-entries allows by default.</summary>
    [Params(16, 512)]
    public int Members { get; set; }

    [GlobalSetup]
    public void Setup()
    {
        _source = new SlabSource();
        _arena = new Arena(_source);
        _set = _arena.Allocate(IntSet.EmptyBytes + (sizeof(long) * (Members + 1)));
        _copy = _arena.Allocate(IntSet.EmptyBytes + (sizeof(long) * (Members + 1)));
        IntSet.Initialize(_set);
        for (int i = 0; i < Members; i++) IntSet.Insert(_set, i, i * Step);
        _members = [.. Enumerable.Range(0, Members).Select(i => (long)i * Step)];
        new Random(1).Shuffle(_members);
        _disordered = new ReadOnlySpan<byte>(_set, IntSet.Bytes(_set)).ToArray();
        _disordered.AsSpan(^sizeof(short)).Clear();
    }

    [GlobalCleanup]
    public void Cleanup()
    {
        _arena.Dispose();
        _source.Dispose();
    }

    [Benchmark(Baseline = true)]
    public bool FindHit() => IntSet.TryFind(_set, Next(), out _);

    [Benchmark]
    public bool FindMiss() => IntSet.TryFind(_set, Next() + 1, out _);

    /// <summary>Every member looked for, each from where the last one was on, as intersections do.</summary>
    [Benchmark]
    public int FindAllInOrder()
    {
        int found = 0;
        int index = 0;
        for (int i = 0; i < Members; i++)
        {
            if (IntSet.ContainsFrom(_set, (long)i * Step, ref index)) found++;
        }

        return found;
    }

    [Benchmark]
    public int AddAndRemove()
    {
        long number = Next() + 1;
        IntSet.TryFind(_set, number, out int index);
        IntSet.Insert(_set, index, number);
        IntSet.RemoveAt(_set, index);
        return index;
    }

    /// <summary>A copy of the set becomes four times as wide.</summary>
    [Benchmark]
    public int Widen()
    {
        Buffer.MemoryCopy(_set, _copy, IntSet.Bytes(_set), IntSet.Bytes(_set));
        IntSet.Insert(_copy, Members, Wide);
        return IntSet.Bytes(_copy);
    }

    [Benchmark]
    public bool CheckDisordered() => IntSet.IsSound(_disordered);

    private long Next()
    {
        if (++_at >= _members.Length) _at = 0;
        return _members[_at];
    }
}
