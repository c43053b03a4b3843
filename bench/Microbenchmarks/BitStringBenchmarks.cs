using BenchmarkDotNet.Attributes;
using RedKite.Store.Values.Strings;

namespace RedKite.Microbenchmarks;

/// <summary>BITCOUNT, and BITPOS without a match, from a cache line to a mebibyte; and writing one bit.</summary>
public class BitStringBenchmarks
{
    private byte[] _random = [];
    private byte[] _zeros = [];
    private bool _set;

    [Params(64, 4_096, 1 << 20)]
    public int Bytes { get; set; }

    [GlobalSetup]
    public void Setup()
    {
        _random = new byte[Bytes];
        _zeros = new byte[Bytes];
        new Random(1).NextBytes(_random);
    }

    [Benchmark(Baseline = true)]
    public long Count() => BitString.Count(_random);

    [Benchmark]
    public long FindInZeros() => BitString.Find(_zeros, true, 0, (Bytes * 8L) - 1);

    [Benchmark]
    public bool Write() => BitString.Write(_random, Bytes * 4L, _set = !_set);
}
