using BenchmarkDotNet.Attributes;
using RedKite.Store.Keyspace;

namespace RedKite.Microbenchmarks;

/// <summary>The keyed hash, by key length.</summary>
public class KeyHasherBenchmarks
{
    private readonly KeyHasher _hasher = new();
    private byte[] _key = [];

    [Params(3, 15, 64, 512)]
    public int Length { get; set; }

    [GlobalSetup]
    public void Setup() => _key = new byte[Length];

    [Benchmark]
    public ulong Hash() => _hasher.Hash(_key);
}
