using System.Globalization;
using System.Text;
using BenchmarkDotNet.Attributes;
using RedKite.Store.Memory;
using RedKite.Store.Values.Packed;

namespace RedKite.Microbenchmarks;

/// <summary>
/// Finding, inserting, removing and reading elements of a packed list of alternating texts and numbers, as in small hashes
/// and lists. The error paths are a missing element, and an untrusted list with a damaged last element.
/// </summary>
public unsafe class PackedListBenchmarks
{
    private const int BlockBytes = 4096;

    private readonly byte[] _new = "field:new"u8.ToArray();
    private readonly byte[] _missing = "field:none"u8.ToArray();
    private SlabSource _source = null!;
    private Arena _arena = null!;
    private byte* _list;
    private byte[] _text = [];
    private byte[] _number = [];
    private byte[] _damaged = [];

    [Params(16, 128)]
    public int Elements { get; set; }

    [GlobalSetup]
    public void Setup()
    {
        _source = new SlabSource();
        _arena = new Arena(_source);
        _list = _arena.Allocate(BlockBytes);
        PackedList.Initialize(_list);
        for (int pair = 0; pair < Elements / 2; pair++)
        {
            PackedList.Insert(_list, PackedList.EndOf(_list), Field(pair));
            PackedList.Insert(_list, PackedList.EndOf(_list), Number(pair));
        }

        _text = Field(Elements / 4);
        _number = Encoding.ASCII.GetBytes(string.Create(CultureInfo.InvariantCulture, $"{Number(Elements / 4)}"));
        _damaged = new ReadOnlySpan<byte>(_list, PackedList.Bytes(_list)).ToArray();
        _damaged[^2] ^= 1; // the last element's length
    }

    [GlobalCleanup]
    public void Cleanup()
    {
        _arena.Dispose();
        _source.Dispose();
    }

    [Benchmark(Baseline = true)]
    public bool FindText() => PackedList.Find(_list, PackedList.Start, _text) >= 0;

    [Benchmark]
    public bool FindNumber() => PackedList.Find(_list, PackedList.Start, _number) >= 0;

    [Benchmark]
    public bool FindField() => PackedList.Find(_list, PackedList.Start, _text, step: 2) >= 0;

    [Benchmark]
    public bool FindMiss() => PackedList.Find(_list, PackedList.Start, _missing) >= 0;

    [Benchmark]
    public int InsertAndRemoveInTheMiddle()
    {
        int offset = PackedList.At(_list, Elements / 2);
        PackedList.Insert(_list, offset, _new);
        PackedList.Remove(_list, offset);
        return PackedList.Count(_list);
    }

    [Benchmark]
    public long ReadAll()
    {
        long sum = 0;
        for (int offset = PackedList.Start; !PackedList.IsEnd(_list, offset); offset = PackedList.Next(_list, offset)) sum += PackedList.Read(_list, offset).Number;
        return sum;
    }

    [Benchmark]
    public bool CheckDamaged() => PackedList.IsSound(_damaged, out _, out _);

    private static byte[] Field(int pair) => Encoding.ASCII.GetBytes($"field:{pair}");

    private static int Number(int pair) => 1_000 + pair;
}
