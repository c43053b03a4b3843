using System.Text;
using BenchmarkDotNet.Attributes;
using RedKite.Store.Memory;
using RedKite.Store.Values.Lists;

namespace RedKite.Microbenchmarks;

/// <summary>
/// A long list: elements pushed and popped at its ends, read by index, and inserted in the middle. The error path is a
/// search for a missing element.
/// </summary>
public unsafe class QuickListBenchmarks
{
    private const int Elements = 100_000;
    private const int Batch = 1_000;
    private const int Several = 100;

    // The default of list-max-listpack-size.
    private static readonly ListLimits Limits = new(-2);

    private readonly byte[] _new = "element:new"u8.ToArray();
    private readonly byte[] _missing = "element:none"u8.ToArray();
    private readonly int[] _indexes = new int[4_096];
    private SlabSource _source = null!;
    private Arena _arena = null!;
    private byte* _header;
    private int _at;

    /// <summary>Whether the inner nodes are compacted.</summary>
    [Params(false, true)]
    public bool Compact { get; set; }

    private QuickList List => new(_arena, _header, Limits);

    [GlobalSetup]
    public void Setup()
    {
        _source = new SlabSource();
        _arena = new Arena(_source);
        _header = QuickList.New(_arena);
        for (int i = 0; i < Elements; i++) PushLast(Encoding.ASCII.GetBytes($"element:{i:d6}"));
        if (Compact) List.Cool(int.MaxValue);
        var random = new Random(1);
        for (int i = 0; i < _indexes.Length; i++) _indexes[i] = random.Next(Elements - Several);
    }

    [GlobalCleanup]
    public void Cleanup()
    {
        _arena.Dispose();
        _source.Dispose();
    }

    [Benchmark(Baseline = true, OperationsPerInvoke = Batch)]
    public long PushAndPopLast()
    {
        for (int i = 0; i < Batch; i++) PushLast(_new);
        for (int i = 0; i < Batch; i++)
        {
            List.ReadEnd(last: true);
            List.Remove(List.Count - 1, 1);
        }

        return List.Count;
    }

    [Benchmark(OperationsPerInvoke = Batch)]
    public long PushAndPopFirst()
    {
        for (int i = 0; i < Batch; i++) PushFirst(_new);
        for (int i = 0; i < Batch; i++)
        {
            List.ReadEnd(last: false);
            List.Remove(0, 1);
        }

        return List.Count;
    }

    [Benchmark]
    public int ReadByIndex() => Read(1);

    [Benchmark]
    public int ReadRangeOf100() => Read(Several);

    [Benchmark]
    public long InsertAndRemoveInTheMiddle()
    {
        List.Insert(Elements / 2, after: false, _new);
        List.Remove(Elements / 2, 1);
        return List.Count;
    }

    [Benchmark]
    public long FindMiss()
    {
        var reader = new ListReader(List.FirstNode, Elements, backwards: false);
        return reader.MoveTo(new ListNeedle(_missing));
    }

    private int Read(int count)
    {
        if (++_at >= _indexes.Length) _at = 0;
        var reader = new ListReader(List.Locate(_indexes[_at]), count, backwards: false);
        int bytes = 0;
        while (reader.MoveNext()) bytes += reader.Current.Length;
        return bytes;
    }

    private void PushFirst(byte[] element)
    {
        if (!QuickListEnds.TryPushFirst(_header, element, Limits)) List.PushFirst(element);
    }

    private void PushLast(byte[] element)
    {
        if (!QuickListEnds.TryPushLast(_header, element, Limits)) List.PushLast(element);
    }
}
