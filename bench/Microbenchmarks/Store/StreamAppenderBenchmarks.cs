using System.Text;
using BenchmarkDotNet.Attributes;
using RedKite.Store.Memory;
using RedKite.Store.Values.Streams;

namespace RedKite.Microbenchmarks;

/// <summary>
/// Appending entries to a new stream, which is freed at the end: with the field names of the node, with different ones, with
/// one entry per node, and with large entries. There is no error path, because the caller has checked the ids.
/// </summary>
public unsafe class StreamAppenderBenchmarks
{
    private const int Entries = 1_000;
    private const int ValueTexts = 64;

    private readonly byte[][] _names = [.. Enumerable.Range(0, 8).Select(i => Encoding.ASCII.GetBytes($"field{i}"))];
    private readonly byte[][] _values = new byte[ValueTexts][];
    private readonly byte[] _large = new byte[2 * Arena.ScratchBytes];
    private SlabSource _source = null!;
    private Arena _arena = null!;
    private StreamData* _data;

    [GlobalSetup]
    public void Setup()
    {
        _source = new SlabSource();
        _arena = new Arena(_source);
        var random = new Random(1);
        for (int i = 0; i < ValueTexts; i++) _values[i] = Encoding.ASCII.GetBytes(random.GetString("abcdefghijklmnopqrstuvwxyz0123456789", 16));
    }

    [GlobalCleanup]
    public void Cleanup()
    {
        _arena.Dispose();
        _source.Dispose();
    }

    [Benchmark(Baseline = true, OperationsPerInvoke = Entries)]
    public long SameNames()
    {
        _data = StreamData.Create(_arena);
        for (int i = 0; i < Entries; i++) Append(i, firstName: 0, _values[i % ValueTexts], StreamEntries.NodeEntriesMax);
        return Free();
    }

    [Benchmark(OperationsPerInvoke = Entries)]
    public long OtherNames()
    {
        _data = StreamData.Create(_arena);
        for (int i = 0; i < Entries; i++) Append(i, firstName: i % 7, _values[i % ValueTexts], StreamEntries.NodeEntriesMax);
        return Free();
    }

    [Benchmark(OperationsPerInvoke = Entries)]
    public long OneEntryPerNode()
    {
        _data = StreamData.Create(_arena);
        for (int i = 0; i < Entries; i++) Append(i, firstName: 0, _values[i % ValueTexts], nodeEntriesMax: 1);
        return Free();
    }

    [Benchmark(OperationsPerInvoke = Entries)]
    public long LargeValues()
    {
        _data = StreamData.Create(_arena);
        for (int i = 0; i < Entries; i++) Append(i, firstName: 0, _large, StreamEntries.NodeEntriesMax);
        return Free();
    }

    // Two fields.
    private void Append(int ms, int firstName, byte[] value, long nodeEntriesMax)
    {
        byte[] name = _names[firstName];
        byte[] second = _names[firstName + 1];
        int textBytes = name.Length + second.Length + (2 * value.Length);
        var entry = new StreamAppender(_arena, _data, new StreamId((ulong)ms + 1, 0), 2, textBytes, StreamEntries.NodeBytesMax, nodeEntriesMax);
        entry.Name(name);
        entry.Name(second);
        entry.Pair(name, value);
        entry.Pair(second, value);
        entry.End();
    }

    private long Free()
    {
        long entries = _data->Length;
        while (StreamData.FreeSlice(_data, _arena, int.MaxValue))
        {
        }

        return entries;
    }
}
