using BenchmarkDotNet.Attributes;
using RedKite.Store.Values.Strings;

namespace RedKite.Microbenchmarks;

/// <summary>HyperLogLog registers: the main work of PFADD, of PFCOUNT without a cached count, and of PFMERGE.</summary>
public class HyperLogLogBenchmarks
{
    private readonly byte[] _dense = new byte[HyperLogLog.DenseBytes];
    private readonly byte[] _sparse = [.. HyperLogLog.Empty];
    private readonly byte[] _corrupt = [.. HyperLogLog.Empty[..^2], 0x3f];
    private readonly byte[] _spread = new byte[HyperLogLog.Registers];
    private readonly int[] _histogram = new int[HyperLogLog.Ranks];
    private readonly byte[] _element = "element:1234567"u8.ToArray();

    [GlobalSetup]
    public void Setup()
    {
        HyperLogLog.Empty[..HyperLogLog.HeaderBytes].CopyTo(_dense);
        HyperLogLog.MarkDense(_dense);
        var random = new Random(1);
        for (int i = 0; i < HyperLogLog.Registers; i++) DenseRegisters.Raise(_dense.AsSpan(HyperLogLog.HeaderBytes), i, random.Next(1, 20));
        DenseRegisters.Spread(_dense.AsSpan(HyperLogLog.HeaderBytes), _spread);
    }

    [Benchmark(Baseline = true)]
    public int Hash() => HyperLogLog.RegisterOf(_element, out _);

    [Benchmark]
    public bool MergeDense() => HyperLogLogValue.TryMergeInto(_dense, _spread, isFirst: false);

    [Benchmark]
    public bool MergeSparse() => HyperLogLogValue.TryMergeInto(_sparse, _spread, isFirst: false);

    [Benchmark]
    public bool MergeCorrupt() => HyperLogLogValue.TryMergeInto(_corrupt, _spread, isFirst: false);

    [Benchmark]
    public void Pack() => DenseRegisters.Pack(_spread, _dense.AsSpan(HyperLogLog.HeaderBytes));

    [Benchmark]
    public long Estimate()
    {
        DenseRegisters.CountRanks(_spread, _histogram);
        return HyperLogLog.Estimate(_histogram);
    }

    [Benchmark]
    public long CountDense()
    {
        HyperLogLog.MarkStale(_dense);
        return HyperLogLogValue.TryCount(_dense, out long cardinality, out _) ? cardinality : -1;
    }
}
