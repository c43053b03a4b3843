using BenchmarkDotNet.Attributes;
using RedKite.Store.Keyspace;

namespace RedKite.Microbenchmarks;

/// <summary>The keyed hash, by key length.</summary>
public class KeyHasherBenchmarks
{
    private readonly KeyHasher _hasher = new();
    private readonly KeyHasher _withSlots = new() { SlotStripes = 64 };
    private byte[] _key = [];

    [Params(3, 15, 64, 512)]
    public int Length { get; set; }

    [GlobalSetup]
    public void Setup() => _key = new byte[Length];

    [Benchmark(Baseline = true)]
    public ulong Hash() => _hasher.Hash(_key);

    [Benchmark]
    public ulong HashKey() => _hasher.HashKey(_key);

    [Benchmark]
    public ulong HashKeyWithSlots() => _withSlots.HashKey(_key);
}
