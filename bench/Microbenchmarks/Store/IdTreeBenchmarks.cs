using BenchmarkDotNet.Attributes;
using RedKite.Store.Memory;
using RedKite.Store.Values.Streams;

namespace RedKite.Microbenchmarks;

/// <summary>
/// A tree of stream ids, as used for a stream's nodes and a group's pending entries: ids appended, removed from the front,
/// found, and iterated. The error paths are a missing id, and one after the last.
/// </summary>
public unsafe class IdTreeBenchmarks
{
    private const ulong StepMs = 10;
    private const int Several = 100;

    private readonly Random _random = new(1);
    private SlabSource _source = null!;
    private Arena _arena = null!;
    private IdTree _tree;
    private ulong _lastMs;

    [Params(10_000, 1_000_000)]
    public int Ids { get; set; }

    [GlobalSetup]
    public void Setup()
    {
        _source = new SlabSource();
        _arena = new Arena(_source);
        _tree = IdTree.Empty(sizeof(long));
        _lastMs = 0;
        for (int i = 0; i < Ids; i++) Add();
    }

    [GlobalCleanup]
    public void Cleanup()
    {
        _arena.Dispose();
        _source.Dispose();
    }

    [Benchmark(Baseline = true)]
    public bool FindHit() => _tree.Find(Existing()) != null;

    [Benchmark]
    public bool FindMiss() => _tree.Find(Missing()) != null;

    [Benchmark]
    public bool SeekCeiling() => _tree.SeekCeiling(Missing(), out _);

    [Benchmark]
    public bool SeekAfterTheLast() => _tree.SeekCeiling(StreamId.Max, out _);

    [Benchmark]
    public long AddLastAndRemoveFirst()
    {
        Add();
        _tree.RemoveFirst(_arena, 1);
        return _tree.Count;
    }

    [Benchmark]
    public long ReadRangeOf100()
    {
        long sum = 0;
        bool more = _tree.SeekCeiling(Existing(), out IdTree.IdPosition place);
        for (int i = 0; more && i < Several; i++, more = _tree.MoveNext(ref place)) sum += *(long*)place.Value;
        return sum;
    }

    private StreamId Existing() => new(StepMs * (ulong)_random.Next(1, Ids + 1), 0);

    private StreamId Missing() => new(StepMs * (ulong)_random.Next(1, Ids), 1);

    private void Add() => *(long*)_tree.Add(_arena, new StreamId(_lastMs += StepMs, 0)) = (long)_lastMs;
}
