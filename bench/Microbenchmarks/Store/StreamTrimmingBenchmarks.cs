using BenchmarkDotNet.Attributes;
using RedKite.Store.Memory;
using RedKite.Store.Values.Streams;

namespace RedKite.Microbenchmarks;

/// <summary>
/// Appending an entry to a stream that is trimmed to its length first, exactly or by whole nodes; and a trim that removes
/// nothing.
/// </summary>
public unsafe class StreamTrimmingBenchmarks
{
    private readonly byte[] _value = "12345678"u8.ToArray();
    private SlabSource _source = null!;
    private Arena _arena = null!;
    private StreamData* _data;
    private StreamTrimming _exact;
    private ulong _lastMs;

    [Params(1_000, 100_000)]
    public int Entries { get; set; }

    [GlobalSetup]
    public void Setup()
    {
        _source = new SlabSource();
        _arena = new Arena(_source);
        _data = StreamData.Create(_arena);
        _exact = new StreamTrimming { ByLength = true, LengthMax = Entries };
        _lastMs = 0;
        for (int i = 0; i < Entries; i++) Append();
    }

    [GlobalCleanup]
    public void Cleanup()
    {
        _arena.Dispose();
        _source.Dispose();
    }

    [Benchmark(Baseline = true)]
    public long AppendAndTrim()
    {
        Append();
        return _exact.Trim(_data, _arena);
    }

    [Benchmark]
    public long AppendAndTrimByNodes()
    {
        Append();
        return (_exact with { IsApproximate = true }).Trim(_data, _arena);
    }

    [Benchmark]
    public long NothingToTrim() => _exact.Trim(_data, _arena);

    private void Append() => StreamEntries.Append(_arena, _data, ++_lastMs, _value, _value);
}
