using FsCheck;
using FsCheck.Fluent;
using RedKite.Store.Memory;
using RedKite.Store.Values.Streams;

namespace RedKite.Store.Tests.Structures.Streams;

/// <summary>A tree of ids against a sorted dictionary, on the guarded arena.</summary>
public sealed unsafe class IdTreeTests
{
    private enum Kind
    {
        Append,
        Add,
        Remove,
        RemoveFirst,
        RemoveLast,
        RemoveLastLeaf,
        Look,
    }

    [Theory]
    [InlineData(0)]
    [InlineData(8)]
    [InlineData(24)]
    public void Random_operations_agree_with_a_dictionary(int valueBytes)
    {
        Randomness.Run(random =>
        {
            using var world = new World(valueBytes);
            for (int step = 0; step < 60_000; step++)
            {
                // Phases: growth at random, growth at the end, shrinking, and a queue.
                int id = random.Next(6_000);
                switch (step / 6_000 % 4)
                {
                    case 0: world.Do(random.Next(4) == 0 ? Kind.Remove : Kind.Add, id); break;
                    case 1: world.Do(random.Next(5) == 0 ? Kind.Remove : Kind.Append, id); break;
                    case 2: world.Do(random.Next(5) == 0 ? Kind.Add : random.Next(60) == 0 ? Kind.RemoveLastLeaf : Kind.Remove, id); break;
                    default: world.Do(random.Next(2) == 0 ? Kind.Append : random.Next(8) == 0 ? Kind.RemoveLast : Kind.RemoveFirst, id); break;
                }

                if (step % 100 == 0) world.Do(Kind.Look, id);
                if (step % 3_000 == 0) world.AssertAll();
            }

            world.AssertAll();
            world.Empty();
        });
    }

    [Fact]
    public void Generated_operations_agree_with_a_dictionary()
    {
        Gen<(Kind, int)[]> changes = Gen.ArrayOf(
            from kind in Gen.Elements(Enum.GetValues<Kind>())
            from id in Gen.Choose(0, 400)
            select (kind, id));
        Prop.ForAll(changes.Resize(600).ToArbitrary(), sequence =>
        {
            using var world = new World(valueBytes: 8);
            foreach ((Kind kind, int id) in sequence) world.Do(kind, id);
            world.AssertAll();
            world.Empty();
        }).QuickCheckThrowOnFailure();
    }

    [Fact]
    public void Ascending_ids_fill_the_nodes_and_a_queue_of_them_stays_small()
    {
        using var world = new World(valueBytes: 8);
        const int Many = 100_000;
        for (int id = 1; id <= Many; id++) world.Do(Kind.Append, 0);
        Assert.InRange(world.Tree.Bytes, 24L * Many, 27L * Many);
        for (int i = 0; i < Many; i++)
        {
            world.Do(Kind.Append, 0);
            world.Do(Kind.RemoveFirst, 0);
        }

        Assert.InRange(world.Tree.Bytes, 24L * Many, 28L * Many);
        for (int i = 0; i < Many - 100; i++) world.Do(Kind.RemoveFirst, 0);
        Assert.InRange(world.Tree.Bytes, 1, 5_000);
        world.AssertAll();
        world.Empty();
    }

    [Fact]
    public void Last_id_has_no_successor_and_the_first_no_predecessor()
    {
        using var world = new World(valueBytes: 8);
        world.Tree.Add(world.Arena, StreamId.Max);
        world.Tree.Add(world.Arena, default);
        Assert.True(world.Tree.SeekFirst(out IdTree.IdPosition position));
        Assert.Equal(default, position.Id);
        Assert.False(world.Tree.MovePrevious(ref position));
        Assert.True(world.Tree.MoveNext(ref position));
        Assert.Equal(StreamId.Max, position.Id);
        Assert.False(world.Tree.MoveNext(ref position));
        world.Tree.RemoveLastLeaf(world.Arena);
    }

    private sealed class World : IDisposable
    {
        private readonly ArenaGuard _guard = new();
        private readonly SlabSource _source = new();
        private readonly SortedDictionary<StreamId, long> _model = [];
        private readonly int _valueBytes;
        private ulong _lastMs = 20_000;
        private long _nextValue;

        internal World(int valueBytes)
        {
            _valueBytes = valueBytes;
            Arena = new Arena(_source, _guard);
            Tree = IdTree.Empty(valueBytes);
        }

        internal IdTree Tree;

        internal Arena Arena { get; }

        internal void Do(Kind kind, int at)
        {
            var id = new StreamId((ulong)at, (ulong)at % 3);
            switch (kind)
            {
                case Kind.Append:
                    Add(new StreamId(++_lastMs, 7));
                    break;
                case Kind.Add when !_model.ContainsKey(id):
                    Add(id);
                    break;
                case Kind.Remove:
                    Assert.Equal(_model.Remove(id), Tree.Remove(Arena, id));
                    break;
                case Kind.RemoveFirst when _model.Count > 0:
                    StreamId first = _model.First().Key;
                    Assert.True(Tree.SeekFirst(out IdTree.IdPosition position) && position.Id == first);
                    Assert.True(Tree.Remove(Arena, first));
                    _model.Remove(first);
                    break;
                case Kind.RemoveLast when _model.Count > 0:
                    Assert.True(Tree.SeekLast(out position));
                    StreamId last = position.Id;
                    Assert.Equal(Tree.Count == 1, !Tree.MovePrevious(ref position));
                    Assert.True(Tree.Remove(Arena, last));
                    Assert.True(_model.Remove(last));
                    break;
                case Kind.RemoveLastLeaf when _model.Count > 0:
                    int removed = Tree.RemoveLastLeaf(Arena);
                    foreach (StreamId key in _model.Keys.TakeLast(removed).ToArray()) _model.Remove(key);
                    break;
                case Kind.Look:
                    Look(id);
                    break;
                default:
                    break;
            }

            Assert.Equal(_model.Count, Tree.Count);
        }

        internal void AssertAll()
        {
            var forth = new List<StreamId>();
            bool more = Tree.SeekFirst(out IdTree.IdPosition position);
            for (; more; more = Tree.MoveNext(ref position))
            {
                forth.Add(position.Id);
                AssertValue(position.Id, position.Value);
            }

            Assert.Equal(_model.Keys, forth);
            var back = new List<StreamId>();
            more = Tree.SeekLast(out position);
            for (; more; more = Tree.MovePrevious(ref position)) back.Add(position.Id);
            back.Reverse();
            Assert.Equal(forth, back);
            Assert.Equal(Tree.Bytes, Arena.UsedBytes);
            _guard.Check();
        }

        internal void Empty()
        {
            while (Tree.Count > 0) Tree.RemoveLastLeaf(Arena);
            Assert.Equal(0, Tree.Bytes);
            Assert.Equal(0, Arena.UsedBytes);
        }

        public void Dispose()
        {
            Arena.Dispose(); // throws for a leak
            _source.Dispose();
        }

        private void Add(StreamId id)
        {
            _model.Add(id, ++_nextValue);
            byte* value = Tree.Add(Arena, id);
            if (_valueBytes > 0) *(long*)value = _nextValue;
        }

        private void Look(StreamId id)
        {
            byte* value = Tree.Find(id);
            Assert.Equal(_model.ContainsKey(id), value != null);
            if (value != null) AssertValue(id, value);
            StreamId[] above = [.. _model.Keys.SkipWhile(key => key < id).Take(1)];
            Assert.Equal(above.Length > 0, Tree.SeekCeiling(id, out IdTree.IdPosition position));
            if (above.Length > 0) Assert.Equal(above[0], position.Id);
            StreamId[] below = [.. _model.Keys.TakeWhile(key => key <= id).TakeLast(1)];
            Assert.Equal(below.Length > 0, Tree.SeekFloor(id, out position));
            if (below.Length > 0) Assert.Equal(below[0], position.Id);
        }

        private void AssertValue(StreamId id, byte* value)
        {
            if (_valueBytes > 0) Assert.Equal(_model[id], *(long*)value);
        }
    }
}
