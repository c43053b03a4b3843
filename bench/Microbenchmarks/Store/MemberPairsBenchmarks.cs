using System.Text;
using BenchmarkDotNet.Attributes;
using RedKite.Store.Keyspace;
using RedKite.Store.Memory;
using RedKite.Store.Values.Members;
using RedKite.Store.Values.Sets;

namespace RedKite.Microbenchmarks;

/// <summary>Intersecting two tables of the same size with half of the members in common, or none.</summary>
public unsafe class MemberPairsBenchmarks
{
    private readonly KeyHasher _hasher = new();
    private SlabSource _source = null!;
    private Arena _arena = null!;
    private MemberTable<SetMember> _table;
    private MemberTable<SetMember> _half;
    private MemberTable<SetMember> _disjoint;

    [Params(1_000, 100_000)]
    public int Members { get; set; }

    [GlobalSetup]
    public void Setup()
    {
        _source = new SlabSource();
        _arena = new Arena(_source);
        _table = Table(first: 0);
        _half = Table(first: Members / 2);
        _disjoint = Table(first: Members);
    }

    [GlobalCleanup]
    public void Cleanup()
    {
        _arena.Dispose();
        _source.Dispose();
    }

    [Benchmark(Baseline = true)]
    public int HalfInBoth() => CountPairs(_half);

    [Benchmark]
    public int NoneInBoth() => CountPairs(_disjoint);

    private int CountPairs(MemberTable<SetMember> other)
    {
        int found = 0;
        var pairs = new MemberPairs<SetMember>(_table, other, onlyPairs: true);
        while (pairs.MoveNext(out byte* block, out byte* partner, out bool isClear))
        {
            if (!isClear) partner = other.Find(SetMember.Member(block), other.Hash(SetMember.Member(block)));
            if (partner != null && SetMember.AreEqual(block, partner)) found++;
        }

        return found;
    }

    private MemberTable<SetMember> Table(int first)
    {
        var table = new MemberTable<SetMember>(_arena, _hasher, MemberTable<SetMember>.Create(_arena));
        for (int i = first; i < first + Members; i++)
        {
            byte[] member = Encoding.ASCII.GetBytes($"member:{i:d7}");
            table.Add(table.Hash(member), SetMember.Create(_arena, member));
        }

        return table;
    }
}
