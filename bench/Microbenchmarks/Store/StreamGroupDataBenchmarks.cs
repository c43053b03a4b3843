using BenchmarkDotNet.Attributes;
using RedKite.Store.Memory;
using RedKite.Store.Values.Streams;

namespace RedKite.Microbenchmarks;

/// <summary>
/// Pending entries of a consumer group: delivered and acknowledged in order, and claimed by another consumer. The error
/// path is acknowledging an entry that is not pending.
/// </summary>
public unsafe class StreamGroupDataBenchmarks
{
    private readonly Random _random = new(1);
    private SlabSource _source = null!;
    private Arena _arena = null!;
    private StreamGroupData* _group;
    private StreamConsumerData* _first;
    private StreamConsumerData* _second;
    private ulong _lastMs;

    [Params(100, 100_000)]
    public int Pending { get; set; }

    [GlobalSetup]
    public void Setup()
    {
        _source = new SlabSource();
        _arena = new Arena(_source);
        _group = StreamGroupData.Create(_arena, "group"u8, default, entriesRead: 0);
        _first = StreamConsumerData.Create(_arena, "first"u8, seenMs: 0);
        _second = StreamConsumerData.Create(_arena, "second"u8, seenMs: 0);
        _lastMs = 0;
        for (int i = 0; i < Pending; i++) Deliver();
    }

    [GlobalCleanup]
    public void Cleanup()
    {
        _arena.Dispose();
        _source.Dispose();
    }

    [Benchmark(Baseline = true)]
    public bool DeliverAndAcknowledge()
    {
        Deliver();
        return StreamGroupData.RemovePending(_group, _arena, new StreamId(_lastMs - (ulong)Pending, 0));
    }

    [Benchmark]
    public bool AcknowledgeMiss() => StreamGroupData.RemovePending(_group, _arena, new StreamId(RandomId().Ms, 1));

    [Benchmark]
    public bool Claim()
    {
        StreamId id = RandomId();
        var pending = (StreamPending*)_group->Pending.Find(id);
        StreamGroupData.MovePending(_arena, id, pending, pending->Consumer == _first ? _second : _first);
        return pending->Consumer == _first;
    }

    private StreamId RandomId() => new((ulong)_random.Next(1, Pending + 1), 0);

    private void Deliver() => StreamGroupData.AddPending(_group, _arena, new StreamId(++_lastMs, 0), _first, deliveredMs: 0, deliveries: 1);
}
