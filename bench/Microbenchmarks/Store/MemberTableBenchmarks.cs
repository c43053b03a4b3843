using System.Text;
using BenchmarkDotNet.Attributes;
using RedKite.Store.Keyspace;
using RedKite.Store.Memory;
using RedKite.Store.Values.Members;
using RedKite.Store.Values.Sets;

namespace RedKite.Microbenchmarks;

/// <summary>The table of large sets, hashes and sorted sets: hits, misses, insertions, random sampling, and growth from empty.</summary>
public unsafe class MemberTableBenchmarks
{
    private const int Grown = 1_000;

    private readonly KeyHasher _hasher = new();
    private readonly Random _random = new(1);
    private SlabSource _source = null!;
    private Arena _arena = null!;
    private MemberTable<SetMember> _table;
    private byte[][] _members = [];
    private byte[][] _missing = [];
    private ulong _cursor;
    private int _at;

    [Params(1_000, 1_000_000)]
    public int Members { get; set; }

    [GlobalSetup]
    public void Setup()
    {
        _source = new SlabSource();
        _arena = new Arena(_source);
        _table = NewTable();
        _members = Texts("member", Members);
        _missing = Texts("nobody", Math.Clamp(Members, Grown, 65_536));
        foreach (byte[] member in _members) Add(_table, member);
        _random.Shuffle(_members);
    }

    [GlobalCleanup]
    public void Cleanup()
    {
        FreeAll(_table);
        _arena.Dispose();
        _source.Dispose();
    }

    [Benchmark(Baseline = true)]
    public bool FindHit() => Find(Next(_members));

    [Benchmark]
    public bool FindMiss() => Find(Next(_missing));

    [Benchmark]
    public long AddAndRemove()
    {
        byte[] member = Next(_missing);
        Add(_table, member);
        _table.TryFind(member, _table.Hash(member), out MemberPosition position);
        byte* block = _table.Remove(position);
        _arena.Free(block, SetMember.Bytes(block));
        return _table.Count;
    }

    [Benchmark]
    public long Draw() => (nint)_table.Pick(_random);

    /// <summary>Iterates over one bucket and moves to the next.</summary>
    [Benchmark]
    public int Scan()
    {
        int members = 0;
        MemberEnumerator bucket = _table.ScanBucket(ref _cursor);
        while (bucket.MoveNext()) members++;
        return members;
    }

    [Benchmark(OperationsPerInvoke = Grown)]
    public void GrowAndFree()
    {
        MemberTable<SetMember> table = NewTable();
        for (int i = 0; i < Grown; i++) Add(table, _missing[i]);
        FreeAll(table);
    }

    private static byte[][] Texts(string name, int count) => [.. Enumerable.Range(0, count).Select(i => Encoding.ASCII.GetBytes($"{name}:{i:d7}"))];

    private static void FreeAll(MemberTable<SetMember> table)
    {
        while (table.FreeSlice(Grown))
        {
        }
    }

    private MemberTable<SetMember> NewTable() => new(_arena, _hasher, MemberTable<SetMember>.Create(_arena));

    private void Add(MemberTable<SetMember> table, byte[] member) => table.Add(table.Hash(member), SetMember.Create(_arena, member));

    private bool Find(byte[] member) => _table.TryFind(member, _table.Hash(member), out _);

    private byte[] Next(byte[][] members)
    {
        if (++_at >= members.Length) _at = 0;
        return members[_at];
    }
}
