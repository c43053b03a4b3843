using BenchmarkDotNet.Attributes;
using RedKite.Store.Memory;
using RedKite.Store.Values.Sets;

namespace RedKite.Microbenchmarks;

/// <summary>
/// Finding, adding and removing members of an intset, and widening it. Adding an existing number is only a hit. The error
/// paths are a miss, and an untrusted set with its last members out of order.
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

    /// <summary>512 is the default of set-max-intset-entries.</summary>
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

    /// <summary>Finds every member, each search starting at the previous result, as intersections do.</summary>
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

    /// <summary>Widens a copy of the set fourfold.</summary>
    [Benchmark]
    public int Widen()
    {
        Buffer.MemoryCopy(_set, _copy, IntSet.Bytes(_set), IntSet.Bytes(_set));
        IntSet.Insert(_copy, Members, Wide);
        return IntSet.Bytes(_copy);
    }

    [Benchmark]
    public bool CheckDisordered() => IntSet.IsSound(_disordered, out _);

    private long Next()
    {
        if (++_at >= _members.Length) _at = 0;
        return _members[_at];
    }
}
