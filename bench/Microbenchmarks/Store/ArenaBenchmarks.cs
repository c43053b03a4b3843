using BenchmarkDotNet.Attributes;
using RedKite.Store.Memory;

namespace RedKite.Microbenchmarks;

/// <summary>Allocating and freeing a block: of a slab's class, as a run of units, and from the system.</summary>
public unsafe class ArenaBenchmarks
{
    private const int Blocks = 1000;

    private readonly nint[] _blocks = new nint[Blocks];
    private SlabSource _source = null!;
    private Arena _arena = null!;

    [Params(48, 4096, 8192, 65536)]
    public int Bytes { get; set; }

    [GlobalSetup]
    public void Setup()
    {
        _source = new SlabSource();
        _arena = new Arena(_source);
    }

    [GlobalCleanup]
    public void Cleanup()
    {
        _arena.Dispose();
        _source.Dispose();
    }

    [Benchmark(Baseline = true)]
    public void AllocateAndFree() => _arena.Free(_arena.Allocate(Bytes), Bytes);

    [Benchmark(OperationsPerInvoke = Blocks)]
    public void AllocateManyAndFreeThem()
    {
        for (int i = 0; i < Blocks; i++) _blocks[i] = (nint)_arena.Allocate(Bytes);
        for (int i = 0; i < Blocks; i++) _arena.Free((byte*)_blocks[i], Bytes);
    }
}
