using BenchmarkDotNet.Attributes;
using RedKite.Store.Structures;

namespace RedKite.Microbenchmarks;

/// <summary>Counting, finding and combining the bits of strings, from a cache line to a mebibyte.</summary>
public class BitmapBenchmarks
{
    private byte[] _first = [];
    private byte[] _second = [];
    private byte[] _result = [];
    private byte[] _zeros = [];

    [Params(64, 4_096, 1 << 20)]
    public int Bytes { get; set; }

    [GlobalSetup]
    public void Setup()
    {
        _first = new byte[Bytes];
        _second = new byte[Bytes];
        _result = new byte[Bytes];
        _zeros = new byte[Bytes];
        new Random(1).NextBytes(_first);
        new Random(2).NextBytes(_second);
    }

    [Benchmark(Baseline = true)]
    public long Count() => BitString.Count(_first);

    [Benchmark]
    public long FindInZeros() => BitString.Find(_zeros, true, 0, (Bytes * 8L) - 1);

    [Benchmark]
    public void And() => BitCombination.Combine(BitOperation.And, _first, _second, _result);

    [Benchmark]
    public void Xor() => BitCombination.Combine(BitOperation.Xor, _first, _second, _result);

    [Benchmark]
    public void Not() => BitCombination.Invert(_first, _result);
}
