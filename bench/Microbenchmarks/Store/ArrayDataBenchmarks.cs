using System.Globalization;
using System.Text;
using BenchmarkDotNet.Attributes;
using RedKite.Store.Keyspace;
using RedKite.Store.Values.Arrays;

namespace RedKite.Microbenchmarks;

/// <summary>
/// An array whose elements are next to each other, or each in a slice of its own: reading one, replacing one, adding one behind the last and removing it, and
/// reading all. The error path is an index without an element.
/// </summary>
public class ArrayDataBenchmarks
{
    private Keyspace _keyspace = null!;
    private byte[][] _texts = [];
    private ulong _at;

    [Params(100, 100_000)]
    public int Elements { get; set; }

    [Params(1, 1_000)]
    public int Distance { get; set; }

    [GlobalSetup]
    public void Setup()
    {
        _keyspace = new Keyspace(1, 1);
        _texts = [.. Enumerable.Range(0, Elements).Select(i => Encoding.UTF8.GetBytes((i % 2 == 0 ? "" : "element:") + i.ToString(CultureInfo.InvariantCulture)))];
        ArrayValue array = ArrayValue.Create(_keyspace.Databases[0], "key"u8, _keyspace.Hash("key"u8), 0);
        for (int i = 0; i < Elements; i++) array.Set((ulong)((long)i * Distance), _texts[i]);
        _at = 0;
    }

    [GlobalCleanup]
    public void Cleanup() => _keyspace.Dispose();

    [Benchmark(Baseline = true)]
    public bool Get() => Array.TryGet(Next() * (ulong)Distance, out _);

    [Benchmark]
    public bool GetMissing() => Array.TryGet((ulong)((long)Elements * Distance) + Next(), out _);

    [Benchmark]
    public bool Replace()
    {
        ulong next = Next();
        return Array.Set(next * (ulong)Distance, _texts[next]);
    }

    [Benchmark]
    public long AddAndRemove()
    {
        ulong index = (ulong)((long)Elements * Distance);
        ArrayValue array = Array;
        array.Set(index, "element"u8);
        return array.Remove(index, index);
    }

    [Benchmark]
    public ulong Enumerate()
    {
        ulong sum = 0;
        ArrayCursor cursor = Array.Between(0, ArrayData.IndexMax);
        while (cursor.MoveNext()) sum += cursor.Index;
        return sum;
    }

    private ArrayValue Array => ArrayValue.Of(_keyspace.Databases[0], _keyspace.Databases[0].Find("key"u8, _keyspace.Hash("key"u8), ExpiryClock.Never));

    private ulong Next() => _at = (_at + 7) % (ulong)Elements;
}
