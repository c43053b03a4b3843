using System.Text;
using BenchmarkDotNet.Attributes;
using RedKite.Store.Memory;
using RedKite.Store.Values.Streams;

namespace RedKite.Microbenchmarks;

/// <summary>A stream's groups or a group's consumers by name: a hit, a miss, and an insertion with its removal.</summary>
public unsafe class NamedTableBenchmarks
{
    private const int FixedBytes = 64;

    private readonly byte[] _missing = "consumer:none"u8.ToArray();
    private SlabSource _source = null!;
    private Arena _arena = null!;
    private NamedTable _table;
    private byte[][] _names = [];
    private byte* _new;
    private int _at;

    [Params(4, 1_000)]
    public int Names { get; set; }

    [GlobalSetup]
    public void Setup()
    {
        _source = new SlabSource();
        _arena = new Arena(_source);
        _table = default;
        _names = [.. Enumerable.Range(0, Names).Select(i => Encoding.ASCII.GetBytes($"consumer:{i:d4}"))];
        foreach (byte[] name in _names) Insert(NamedTable.AllocateItem(_arena, FixedBytes, name));
        new Random(1).Shuffle(_names);
        _new = NamedTable.AllocateItem(_arena, FixedBytes, "consumer"u8);
    }

    [GlobalCleanup]
    public void Cleanup()
    {
        _arena.Dispose();
        _source.Dispose();
    }

    [Benchmark(Baseline = true)]
    public bool FindHit()
    {
        if (++_at >= _names.Length) _at = 0;
        return _table.Find(_names[_at]) != null;
    }

    [Benchmark]
    public bool FindMiss() => _table.Find(_missing) != null;

    [Benchmark]
    public int AddAndRemove()
    {
        int index = Insert(_new);
        _table.RemoveAt(_arena, index);
        return _table.Count;
    }

    private int Insert(byte* item)
    {
        _table.TryFind(NamedTable.NameOf(item), out int index);
        _table.Insert(_arena, index, item);
        return index;
    }
}
