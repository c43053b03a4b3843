using BenchmarkDotNet.Attributes;
using RedKite.Net;

namespace RedKite.Microbenchmarks;

/// <summary>Recording a duration and reading percentiles; the error path is a duration beyond the last bucket.</summary>
public class LatencyHistogramBenchmarks
{
    private readonly LatencyHistogram _histogram = new();
    private long _ns;

    [GlobalSetup]
    public void Setup()
    {
        for (int i = 0; i < 1_000; i++) Record();
    }

    [Benchmark(Baseline = true)]
    public void Record() => _histogram.Record(_ns = (_ns * 7919 + 1) & 0xFFFFF, 1);

    [Benchmark]
    public void RecordBeyondTheLastBucket() => _histogram.Record(long.MaxValue, 1);

    [Benchmark]
    public long Percentile() => _histogram.PercentileNs(99.9);
}
