using BenchmarkDotNet.Attributes;
using RedKite.Store.Keyspace;
using RedKite.Store.Memory;

namespace RedKite.Microbenchmarks;

/// <summary>Taking a segment from the pool and returning it.</summary>
public unsafe class SegmentPoolBenchmarks
{
    private SlabSource _source = null!;
    private SegmentPool _pool = null!;

    [GlobalSetup]
    public void Setup()
    {
        _source = new SlabSource();
        _pool = new SegmentPool(_source);
    }

    [GlobalCleanup]
    public void Cleanup()
    {
        _pool.Dispose();
        _source.Dispose();
    }

    [Benchmark]
    public void TakeAndReturn() => _pool.Return(_pool.Take());
}
