using System.Text;
using FsCheck;
using FsCheck.Fluent;
using RedKite.Store.Memory;
using RedKite.Store.Values.Copying;
using RedKite.Store.Values.Streams;

namespace RedKite.Store.Tests.Structures.Streams;

/// <summary>A group's consumers and pending entries against dictionaries, on the guarded arena.</summary>
public sealed unsafe class StreamGroupDataTests
{
    [Fact]
    public void Generated_operations_agree_with_dictionaries()
    {
        Gen<(int, int, int)[]> changes = Gen.ArrayOf(
            from kind in Gen.Choose(0, 9)
            from id in Gen.Choose(1, 300)
            from consumer in Gen.Choose(0, 5)
            select (kind, id, consumer));
        Prop.ForAll(changes.Resize(500).ToArbitrary(), sequence =>
        {
            using var world = new World();
            foreach ((int kind, int id, int consumer) in sequence) world.Do(kind, new StreamId((ulong)id, 0), "consumer" + consumer);
            world.AssertAll();
            world.AssertCopy();
        }).QuickCheckThrowOnFailure();
    }

    [Fact]
    public void Names_are_sorted_and_binary_safe()
    {
        using var world = new World();
        foreach (string name in (string[])["b", "", "a", "\0", "\u00ff", "aa", "B"]) world.Do(0, new StreamId(1, (ulong)name.Length), name);
        world.AssertAll();
    }

    private sealed class World : IDisposable
    {
        private readonly ArenaGuard _guard = new();
        private readonly SlabSource _source = new();
        private readonly Arena _arena;
        private readonly SortedDictionary<string, SortedSet<StreamId>> _consumers = new(StringComparer.Ordinal);
        private readonly SortedDictionary<StreamId, (string Consumer, long Ms)> _pending = [];
        private StreamGroupData* _group;
        private long _clock;

        internal World()
        {
            _arena = new Arena(_source, _guard);
            _group = StreamGroupData.Create(_arena, "group"u8, new StreamId(5, 6), 7);
        }

        internal void Do(int kind, StreamId id, string name)
        {
            _clock++;
            byte[] bytes = Encoding.Latin1.GetBytes(name);
            bool isPending = _pending.TryGetValue(id, out (string Consumer, long Ms) known);
            switch (kind)
            {
                case < 5 when !isPending:
                    StreamGroupData.AddPending(_group, _arena, id, FindOrCreate(bytes, name), _clock, _clock * 2);
                    _pending.Add(id, (name, _clock));
                    _consumers[name].Add(id);
                    break;
                case < 7 when isPending:
                    StreamGroupData.MovePending(_arena, id, (StreamPending*)_group->Pending.Find(id), FindOrCreate(bytes, name));
                    _consumers[known.Consumer].Remove(id);
                    _consumers[name].Add(id);
                    _pending[id] = (name, known.Ms);
                    break;
                case 7 or 8:
                    Assert.Equal(isPending, StreamGroupData.RemovePending(_group, _arena, id));
                    _pending.Remove(id);
                    if (isPending) _consumers[known.Consumer].Remove(id);
                    break;
                case 9 when _group->Consumers.TryFind(bytes, out int index):
                    StreamGroupData.RemoveConsumer(_group, _arena, index);
                    foreach (StreamId removed in _consumers[name]) _pending.Remove(removed);
                    _consumers.Remove(name);
                    break;
                default:
                    break;
            }
        }

        internal void AssertAll()
        {
            Assert.Equal("group", Encoding.Latin1.GetString(NamedTable.NameOf((byte*)_group)));
            Assert.Equal(new StreamId(5, 6), _group->LastId);
            Assert.Equal(7, _group->EntriesRead);
            Assert.Equal(_consumers.Count, _group->Consumers.Count);
            int at = 0;
            foreach ((string name, SortedSet<StreamId> ids) in _consumers)
            {
                byte* item = _group->Consumers[at++];
                Assert.Equal(name, Encoding.Latin1.GetString(NamedTable.NameOf(item)));
                Assert.Equal(ids, Ids(&((StreamConsumerData*)item)->Pending));
            }

            Assert.Equal(_pending.Keys, Ids(&_group->Pending));
            foreach ((StreamId id, (string consumer, long ms)) in _pending)
            {
                var pending = (StreamPending*)_group->Pending.Find(id);
                Assert.Equal(consumer, Encoding.Latin1.GetString(NamedTable.NameOf((byte*)pending->Consumer)));
                Assert.Equal((ms, ms * 2), (pending->DeliveredMs, pending->Deliveries));
            }

            Assert.Equal(StreamGroupData.Bytes(_group), _arena.UsedBytes);
            _guard.Check();
        }

        internal void AssertCopy()
        {
            StreamData* stream = StreamData.Create(_arena);
            stream->Groups.Insert(_arena, 0, (byte*)_group);
            var copy = new StreamCopy((byte*)stream, _arena);
            while (copy.Step())
            {
            }

            var copied = (StreamData*)copy.Root;
            _group = (StreamGroupData*)copied->Groups[0];
            copied->Groups.RemoveAt(_arena, 0);
            Assert.False(StreamData.FreeSlice(stream, _arena, int.MaxValue));
            Assert.False(StreamData.FreeSlice(copied, _arena, int.MaxValue));
            AssertAll();
        }

        public void Dispose()
        {
            int slices = 0;
            bool left = true;
            while (left)
            {
                int blocksMax = 2;
                left = StreamGroupData.FreeSlice(_group, _arena, ref blocksMax);
                Assert.InRange(++slices, 1, 100);
            }

            Assert.Equal(0, _arena.UsedBytes);
            _arena.Dispose(); // throws for a leak
            _source.Dispose();
        }

        private StreamConsumerData* FindOrCreate(byte[] bytes, string name)
        {
            if (!_group->Consumers.TryFind(bytes, out int index))
            {
                _group->Consumers.Insert(_arena, index, (byte*)StreamConsumerData.Create(_arena, bytes, _clock));
                _consumers.Add(name, []);
            }

            return (StreamConsumerData*)_group->Consumers[index];
        }

        private static List<StreamId> Ids(IdTree* tree)
        {
            var ids = new List<StreamId>();
            bool more = tree->SeekFirst(out IdTree.IdPosition position);
            for (; more; more = tree->MoveNext(ref position)) ids.Add(position.Id);
            return ids;
        }
    }
}
