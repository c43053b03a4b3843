using System.Globalization;
using System.Text;
using BenchmarkDotNet.Attributes;
using RedKite.Store.Memory;
using RedKite.Store.Values.Streams;

namespace RedKite.Microbenchmarks;

/// <summary>
/// Finding entries of a stream by id, and reading them with their fields in either direction. The error paths are an id
/// between two entries, and one after the last.
/// </summary>
public unsafe class StreamDataBenchmarks
{
    private const ulong StepMs = 10;
    private const int Several = 100;

    private readonly Random _random = new(1);
    private SlabSource _source = null!;
    private Arena _arena = null!;
    private StreamData* _data;

    [Params(10_000, 1_000_000)]
    public int Entries { get; set; }

    [GlobalSetup]
    public void Setup()
    {
        _source = new SlabSource();
        _arena = new Arena(_source);
        _data = StreamData.Create(_arena);
        for (int i = 1; i <= Entries; i++) StreamEntries.Append(_arena, _data, StepMs * (ulong)i, Text(_random.Next()), Text(i));
    }

    [GlobalCleanup]
    public void Cleanup()
    {
        _arena.Dispose();
        _source.Dispose();
    }

    [Benchmark(Baseline = true)]
    public bool FindHit() => StreamData.TryFind(_data, Existing(), out _);

    [Benchmark]
    public bool FindMiss() => StreamData.TryFind(_data, new StreamId(Existing().Ms, 1), out _);

    [Benchmark]
    public bool FindAfterTheLast() => StreamData.TryFind(_data, StreamId.Max, out _);

    [Benchmark]
    public int ReadRangeOf100() => Read(new StreamCursor(_data, Existing(), StreamId.Max, reverse: false));

    [Benchmark]
    public int ReadRangeOf100Backwards() => Read(new StreamCursor(_data, default, Existing(), reverse: true));

    private static byte[] Text(int number) => Encoding.ASCII.GetBytes(number.ToString("x8", CultureInfo.InvariantCulture));

    private static int Read(StreamCursor cursor)
    {
        Span<byte> scratch = stackalloc byte[CompactText.ScratchBytes];
        int bytes = 0;
        for (int i = 0; i < Several && cursor.MoveNext(); i++)
        {
            StreamFields fields = cursor.Fields;
            for (int field = 0; field < fields.Count; field++) bytes += fields.Name().Bytes(scratch).Length + fields.Value().Bytes(scratch).Length;
        }

        return bytes;
    }

    // Far enough from both ends for a range in either direction.
    private StreamId Existing() => new(StepMs * (ulong)_random.Next(Several, Entries - Several), 0);
}
