using System.Globalization;
using System.Text;
using BenchmarkDotNet.Attributes;
using RedKite.Store.Keyspace;
using RedKite.Store.Memory;
using RedKite.Store.Values.Streams;

namespace RedKite.Microbenchmarks;

/// <summary>
/// Ids that producers have given to entries: one that is new, of which the producer's oldest is forgotten, and one that is added a second
/// time. The error path is an id that is not remembered.
/// </summary>
public unsafe class StreamProducersBenchmarks
{
    private readonly KeyHasher _hasher = new();
    private SlabSource _source = null!;
    private Arena _arena = null!;
    private StreamProducers _producers;
    private byte[][] _names = [];
    private readonly byte[] _id = new byte[16];
    private ulong _last;

    [Params(1, 1_000)]
    public int Producers { get; set; }

    [GlobalSetup]
    public void Setup()
    {
        _source = new SlabSource();
        _arena = new Arena(_source);
        _producers = new StreamProducers { DurationSeconds = StreamProducers.DurationSecondsMax, IdsMax = 100 };
        _names = [.. Enumerable.Range(0, Producers).Select(i => Encoding.UTF8.GetBytes("producer:" + i.ToString(CultureInfo.InvariantCulture)))];
        _last = 0;
        for (int i = 0; i < Producers * 100; i++) New();
    }

    [GlobalCleanup]
    public void Cleanup()
    {
        _arena.Dispose();
        _source.Dispose();
    }

    [Benchmark(Baseline = true)]
    public void New()
    {
        _last++;
        Write(_last);
        _producers.Remember(_arena, _hasher, _names[_last % (ulong)Producers], _id, new StreamId(1, _last));
    }

    [Benchmark]
    public bool Repeated()
    {
        Write(_last);
        return _producers.TryFind(_hasher, _names[_last % (ulong)Producers], _id, 1, out _);
    }

    [Benchmark]
    public bool Missing()
    {
        Write(ulong.MaxValue);
        return _producers.TryFind(_hasher, _names[_last % (ulong)Producers], _id, 1, out _);
    }

    private void Write(ulong number) => BitConverter.TryWriteBytes(_id, number);
}
