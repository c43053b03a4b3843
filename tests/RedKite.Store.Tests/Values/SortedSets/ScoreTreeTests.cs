using FsCheck;
using FsCheck.Fluent;
using RedKite.Store.Memory;
using RedKite.Store.Values.SortedSets;
using RedKite.TestSupport;

namespace RedKite.Store.Tests.Structures;

/// <summary>
/// The tree against a SortedSet of scores and members: generated operations on trees of tiny nodes in the guarded arena, in
/// which nodes split and join constantly, and large trees of full-size nodes.
/// </summary>
public sealed unsafe class ScoreTreeTests
{
    private const int Many = 300_000;

    [Fact]
    public void Generated_operations_agree_with_a_sorted_set()
    {
        Prop.ForAll(ArbMap.Default.ArbFor<(byte Operation, ushort Value)[]>(), operations =>
        {
            using var world = new World<TinySizes>(guarded: true);
            foreach ((byte operation, ushort value) in operations) Apply(world, operation, value);
            world.AssertAll();
            world.AssertBounds();
        }).Check(Config.QuickThrowOnFailure.WithMaxTest(500).WithEndSize(400));
    }

    [Theory]
    [InlineData(60)]
    [InlineData(3_000)]
    public void Random_operations_agree_with_a_sorted_set(int members)
    {
        Randomness.Run(random =>
        {
            using var world = new World<TinySizes>(guarded: true);
            for (int step = 0; step < 40_000; step++)
            {
                // Phases of growth and of shrinking, so that levels are added and removed.
                bool growing = step / 10_000 % 2 == 0;
                int value = random.Next(members);
                if (random.Next(1_000) == 0) world.RemoveRange(random.Next(world.Count + 1), random.Next(world.Count + 1));
                else if (random.Next(10) < (growing ? 8 : 2)) world.Add(value, random.Next(5));
                else world.Remove(value);
                if (step % 2_500 != 0) continue;
                world.AssertAll();
                world.AssertBounds();
            }

            world.Guard!.Check();
        });
    }

    [Theory]
    [InlineData(1)]
    [InlineData(Many)]
    public void Full_size_nodes_hold_many_members_in_any_order(int scores)
    {
        Randomness.Run(random =>
        {
            int members = TestScale.Of(gate: 60_000, full: Many);
            using var world = new World<ScoreTreeSizes>(guarded: false);
            int[] values = [.. Enumerable.Range(0, members)];
            random.Shuffle(values);
            foreach (int value in values) world.Add(value, value % scores);
            world.AssertOrder();
            for (int i = 0; i < 1_000; i++) world.AssertRank(random.Next(members));
            for (int i = 0; i < members; i += 2) world.Remove(values[i]);
            world.AssertOrder();
            for (int i = 0; i < 1_000; i++) world.AssertRank(random.Next(world.Count));
            world.RemoveRange(1_000, world.Count - 2_000);
            world.AssertAll();
        });
    }

    [Theory]
    [InlineData("ascending", 41.0)]
    [InlineData("descending", 42.0)]
    [InlineData("random", 49.0)]
    public void Member_of_12_bytes_takes_little_memory(string order, double bytesMax)
    {
        using var source = new SlabSource();
        using var arena = new Arena(source);
        var tree = default(ScoreTree<ScoreTreeSizes>);
        var random = new Random(1);
        var blocks = new nint[Many];
        for (int i = 0; i < Many; i++)
        {
            double score = order switch { "ascending" => i, "descending" => -i, _ => random.NextDouble() };
            byte* block = arena.Allocate(ScoredMember.BytesFor(12));
            ScoredMember.Initialize(block, score, System.Text.Encoding.ASCII.GetBytes($"membr:{i:000000}"));
            tree.Insert(arena, block);
            blocks[i] = (nint)block;
        }

        Assert.Equal(Many, tree.Count);
        Assert.Equal(arena.UsedBytes, tree.MemoryBytes + (Many * 24L));
        Assert.InRange((double)arena.UsedBytes / Many, 24, bytesMax);
        tree.Free(arena);
        foreach (nint block in blocks) arena.Free((byte*)block, ScoredMember.BytesFor(12));
        Assert.Equal(0, arena.UsedBytes);
    }

    [Fact]
    public void Tree_is_freed_in_slices()
    {
        using var source = new SlabSource();
        using var world = new World<TinySizes>(guarded: true);
        for (int value = 0; value < 1_000; value++) world.Add(value, value);
        int slices = 0;
        int leavesLeft = 7;
        while (!world.Tree.FreeSlice(world.Arena, ref leavesLeft))
        {
            Assert.Equal(0, leavesLeft);
            leavesLeft = 7;
            slices++;
        }

        Assert.InRange(slices, 1_000 / 4 / 7, 1_000 / 7);
        Assert.Equal(0, world.Tree.Count);
        Assert.Equal(0, world.Tree.MemoryBytes);
    }

    [Theory]
    [InlineData(0)]
    [InlineData(1)]
    [InlineData(127)]
    [InlineData(128)]
    [InlineData(16_383)]
    [InlineData(16_384)]
    [InlineData(3_000_000)]
    public void Block_has_its_score_and_member(int length)
    {
        using var source = new SlabSource();
        using var guard = new ArenaGuard();
        var arena = new Arena(source, guard);
        byte[] member = new Random(length).Bytes(length);
        byte* block = arena.Allocate(ScoredMember.BytesFor(length));
        ScoredMember.Initialize(block, -0.0, member);
        Assert.True(double.IsNegative(ScoredMember.Score(block)));
        Assert.True(ScoredMember.Member(block).SequenceEqual(member));
        ScoredMember.SetScore(block, double.PositiveInfinity);
        Assert.Equal(double.PositiveInfinity, ScoredMember.Score(block));
        arena.Free(block, ScoredMember.BytesFor(length));
        while (arena.HasWaiting) arena.FreeWaiting(1);
    }

    private static void Apply(World<TinySizes> world, byte operation, ushort value)
    {
        switch (operation % 16)
        {
            case < 9: world.Add(value % 300, value % 7); break;
            case < 13: world.Remove(value % 300); break;
            case 13: world.RemoveRange(value % (world.Count + 1), value / 300 % 20); break;
            case 14: world.AssertRank(value % (world.Count + 1)); break;
            default: world.Add(value % 300, value); break;
        }
    }

    private readonly struct TinySizes : IScoreTreeSizes
    {
        public static int LeafMax => 4;

        public static int InnerMax => 4;
    }

    /// <summary>A tree, its members' blocks, and its expected contents.</summary>
    private sealed class World<TSizes> : IDisposable
        where TSizes : struct, IScoreTreeSizes
    {
        private static readonly Comparer<(double Score, byte[] Member)> Order = Comparer<(double Score, byte[] Member)>.Create(
            (a, b) => a.Score != b.Score ? a.Score.CompareTo(b.Score) : a.Member.AsSpan().SequenceCompareTo(b.Member));

        private readonly SlabSource _source = new();
        private readonly Dictionary<int, nint> _blocks = [];
        private readonly SortedSet<(double Score, byte[] Member)> _model = new(Order);

        internal World(bool guarded)
        {
            Guard = guarded ? new ArenaGuard() : null;
            Arena = new Arena(_source, Guard);
        }

        internal ArenaGuard? Guard { get; }

        internal Arena Arena { get; }

        internal ScoreTree<TSizes> Tree;

        internal int Count => _model.Count;

        // Adds a member or changes its score.
        internal void Add(int value, double score)
        {
            Remove(value);
            byte[] member = MemberOf(value);
            byte* block = Arena.Allocate(ScoredMember.BytesFor(member.Length));
            ScoredMember.Initialize(block, score, member);
            Tree.Insert(Arena, block);
            _blocks.Add(value, (nint)block);
            _model.Add((score, member));
        }

        internal void Remove(int value)
        {
            if (!_blocks.Remove(value, out nint block)) return;
            Tree.Remove(Arena, (byte*)block);
            _model.Remove((ScoredMember.Score((byte*)block), MemberOf(value)));
            Free(block);
        }

        internal void RemoveRange(int rank, int count)
        {
            count = Math.Min(count, Count - rank);
            foreach ((double score, byte[] member) in _model.Skip(rank).Take(count).ToArray())
            {
                // The blocks are freed first, as when a table is dropped.
                _blocks.Remove(ValueOf(member), out nint block);
                Free(block);
                _model.Remove((score, member));
            }

            Tree.RemoveRange(Arena, rank, count);
        }

        internal void AssertRank(int rank)
        {
            ScoreTreePosition position = Tree.At(rank);
            Assert.Equal(rank < Count, position.Exists);
            if (!position.Exists) return;
            Assert.Equal(rank, Tree.RankOf(position.Block));
            Assert.Equal(rank, Tree.CountBefore(new EntryBound(position.Score, position.Member, afterEqual: false)));
            Assert.Equal(rank + 1, Tree.CountBefore(new EntryBound(position.Score, position.Member, afterEqual: true)));
        }

        internal void AssertOrder()
        {
            Assert.Equal(Count, Tree.Count);
            ScoreTreePosition position = Tree.At(0);
            foreach ((double score, byte[] member) in _model)
            {
                Assert.Equal(score, position.Score);
                Assert.True(position.Member.SequenceEqual(member));
                position.MoveNext();
            }

            Assert.False(position.Exists);
            position = Tree.At(Count - 1);
            foreach ((double _, byte[] member) in _model.Reverse())
            {
                Assert.True(position.Member.SequenceEqual(member));
                position.MovePrevious();
            }

            Assert.False(position.Exists);
        }

        internal void AssertAll()
        {
            AssertOrder();
            for (int rank = 0; rank <= Count; rank++) AssertRank(rank);
            Assert.False(Tree.At(-1).Exists);
            if (Guard is not null) Assert.Equal(Arena.UsedBytes, Tree.MemoryBytes + _blocks.Keys.Sum(value => BlockSize.RoundUp(ScoredMember.BytesFor(MemberOf(value).Length))));
        }

        internal void AssertBounds()
        {
            foreach (double score in _model.Select(entry => entry.Score).Append(double.NegativeInfinity).Append(2.5).Append(double.PositiveInfinity).Distinct())
            {
                Assert.Equal(_model.Count(entry => entry.Score < score), Tree.CountBefore(new ScoreBound(score, afterEqual: false)));
                Assert.Equal(_model.Count(entry => entry.Score <= score), Tree.CountBefore(new ScoreBound(score, afterEqual: true)));
            }

            byte[] absent = "member:~"u8.ToArray();
            Assert.Equal(_model.Count(entry => Order.Compare(entry, (2, absent)) < 0), Tree.CountBefore(new EntryBound(2, absent, afterEqual: true)));
            if (_model.Select(entry => entry.Score).Distinct().Count() != 1) return;
            foreach (byte[] member in _model.Select(entry => entry.Member).Append([]).Append(absent))
            {
                Assert.Equal(_model.Count(entry => entry.Member.AsSpan().SequenceCompareTo(member) < 0), Tree.CountBefore(new MemberBound(member, afterEqual: false)));
                Assert.Equal(_model.Count(entry => entry.Member.AsSpan().SequenceCompareTo(member) <= 0), Tree.CountBefore(new MemberBound(member, afterEqual: true)));
            }
        }

        public void Dispose()
        {
            Tree.Free(Arena);
            foreach (nint block in _blocks.Values) Free(block);
            Assert.Equal(0, Arena.UsedBytes);
            Arena.Dispose();
            _source.Dispose();
        }

        // Members of different lengths, some with 0xff, so that their order is not numeric.
        private static byte[] MemberOf(int value)
        {
            byte[] bytes = new byte[4 + (value % 5)];
            BitConverter.TryWriteBytes(bytes, value);
            return bytes;
        }

        private static int ValueOf(byte[] member) => BitConverter.ToInt32(member);

        private void Free(nint block) => Arena.Free((byte*)block, ScoredMember.BytesFor(ScoredMember.Member((byte*)block).Length));
    }
}
