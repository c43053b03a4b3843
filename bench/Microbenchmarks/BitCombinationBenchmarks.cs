using BenchmarkDotNet.Attributes;
using RedKite.Store.Values.Strings;

namespace RedKite.Microbenchmarks;

/// <summary>BITOP from a cache line to a mebibyte, and with a missing key as one operand.</summary>
public class BitCombinationBenchmarks
{
    private byte[] _first = [];
    private byte[] _second = [];
    private byte[] _result = [];

    [Params(64, 4_096, 1 << 20)]
    public int Bytes { get; set; }

    [GlobalSetup]
    public void Setup()
    {
        _first = new byte[Bytes];
        _second = new byte[Bytes];
        _result = new byte[Bytes];
        new Random(1).NextBytes(_first);
        new Random(2).NextBytes(_second);
    }

    [Benchmark(Baseline = true)]
    public void And() => BitCombination.Combine(BitOperation.And, _first, _second, _result);

    [Benchmark]
    public void Xor() => BitCombination.Combine(BitOperation.Xor, _first, _second, _result);

    [Benchmark]
    public void Not() => BitCombination.Invert(_first, _result);

    [Benchmark]
    public void AndWithNothing() => BitCombination.Combine(BitOperation.And, _first, [], _result);

    [Benchmark]
    public void XorWithNothing() => BitCombination.Combine(BitOperation.Xor, _first, [], _result);
}
