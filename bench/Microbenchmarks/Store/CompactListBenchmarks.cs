using System.Text;
using BenchmarkDotNet.Attributes;
using RedKite.Store.Memory;
using RedKite.Store.Values.Lists;
using RedKite.Store.Values.Packed;

namespace RedKite.Microbenchmarks;

/// <summary>
/// Compacting, reading, searching and unpacking a node of a long list. The error paths are an incompressible node, and
/// missing elements: a similar one, and one with a character that no element has.
/// </summary>
public unsafe class CompactListBenchmarks
{
    // About a node's 8 KiB.
    private const int Elements = 500;

    private readonly byte[] _shared = new byte[Elements];
    private readonly byte[] _text = new byte[CompactList.GroupBytesMax];
    private readonly ushort[] _ends = new ushort[CompactList.GroupElements];
    private readonly byte[] _last = Element(Elements - 1);
    private readonly byte[] _missing = Element(Elements);
    private readonly byte[] _otherCharacters = "ELEMENT:000001"u8.ToArray();
    private SlabSource _source = null!;
    private Arena _arena = null!;
    private byte* _packed;
    private byte* _random;
    private byte* _unpacked;
    private byte* _compact;

    [GlobalSetup]
    public void Setup()
    {
        _source = new SlabSource();
        _arena = new Arena(_source);
        var random = new Random(1);
        _packed = Pack(Element);
        _random = Pack(_ =>
        {
            byte[] bytes = new byte[14];
            random.NextBytes(bytes);
            return bytes;
        });
        _unpacked = _arena.Allocate(PackedList.Bytes(_packed));
        _compact = _arena.Allocate(CompactList.Measure(_packed, _shared, out _));
        MakeCompact();
    }

    [GlobalCleanup]
    public void Cleanup()
    {
        _arena.Dispose();
        _source.Dispose();
    }

    [Benchmark(Baseline = true)]
    public int MakeCompact()
    {
        int bytes = CompactList.Measure(_packed, _shared, out CompactAlphabet alphabet);
        CompactList.Write(_packed, _compact, _shared, ref alphabet);
        return bytes;
    }

    [Benchmark]
    public int MeasureRandomBytes() => CompactList.Measure(_random, _shared, out _);

    [Benchmark]
    public int Unpack()
    {
        CompactList.Unpack(_compact, _unpacked);
        return PackedList.Bytes(_unpacked);
    }

    [Benchmark]
    public int ReadGroup() => CompactList.ReadGroup(_compact, Elements / CompactList.GroupElements / 2, _text, _ends);

    [Benchmark]
    public bool FindLast() => CompactList.Contains(_compact, _last);

    [Benchmark]
    public bool FindMiss() => CompactList.Contains(_compact, _missing);

    [Benchmark]
    public bool FindOtherCharacters() => CompactList.Contains(_compact, _otherCharacters);

    private static byte[] Element(int index) => Encoding.ASCII.GetBytes($"element:{index:d6}");

    private byte* Pack(Func<int, byte[]> element)
    {
        byte* list = _arena.Allocate(16 * 1024);
        PackedList.Initialize(list);
        for (int i = 0; i < Elements; i++) PackedList.Insert(list, PackedList.EndOf(list), element(i));
        return list;
    }
}
