using System.Text;
using BenchmarkDotNet.Attributes;
using RedKite.Store.Memory;
using RedKite.Store.Values.SortedSets;

namespace RedKite.Microbenchmarks;

/// <summary>
/// The order of a large sorted set with random scores: members added, removed, rescored, ranked, and read from a score. The
/// error path is a range above all scores.
/// </summary>
public unsafe class ScoreTreeBenchmarks
{
    private const int Several = 100;
    private const int MemberBytes = 14;

    private readonly Random _random = new(1);
    private SlabSource _source = null!;
    private Arena _arena = null!;
    private ScoreTree<ScoreTreeSizes> _tree;
    private nint[] _blocks = [];
    private byte* _new;
    private int _at;

    [Params(10_000, 1_000_000)]
    public int Members { get; set; }

    [GlobalSetup]
    public void Setup()
    {
        _source = new SlabSource();
        _arena = new Arena(_source);
        _tree = default;
        _blocks = [.. Enumerable.Range(0, Members).Select(i => NewBlock($"member:{i:d7}"))];
        foreach (nint block in _blocks) _tree.Insert(_arena, (byte*)block);
        _new = (byte*)NewBlock("member:no-rank");
        _random.Shuffle(_blocks);
    }

    [GlobalCleanup]
    public void Cleanup()
    {
        _arena.Dispose();
        _source.Dispose();
    }

    [Benchmark(Baseline = true)]
    public long Rank() => _tree.RankOf(Next());

    [Benchmark]
    public long AddAndRemove()
    {
        ScoredMember.SetScore(_new, _random.NextDouble());
        _tree.Insert(_arena, _new);
        _tree.Remove(_arena, _new);
        return _tree.Count;
    }

    [Benchmark]
    public long Update()
    {
        _tree.Update(_arena, Next(), _random.NextDouble());
        return _tree.Count;
    }

    [Benchmark]
    public bool SeekScore() => Seek(_random.NextDouble()).Exists;

    [Benchmark]
    public bool SeekAboveAllScores() => Seek(1).Exists;

    [Benchmark]
    public int ReadRangeOf100()
    {
        int bytes = 0;
        ScoreTreePosition place = _tree.At(_random.Next(Members - Several));
        for (int i = 0; i < Several; i++, place.MoveNext()) bytes += place.Member.Length;
        return bytes;
    }

    // Random.NextDouble returns less than 1.
    private ScoreTreePosition Seek(double score) => _tree.At(_tree.CountBefore(new ScoreBound(score, afterEqual: false)));

    private nint NewBlock(string member)
    {
        byte* block = _arena.Allocate(ScoredMember.BytesFor(MemberBytes));
        ScoredMember.Initialize(block, _random.NextDouble(), Encoding.ASCII.GetBytes(member));
        return (nint)block;
    }

    private byte* Next()
    {
        if (++_at >= _blocks.Length) _at = 0;
        return (byte*)_blocks[_at];
    }
}
