using System.Globalization;
using System.Text;
using FsCheck;
using FsCheck.Fluent;
using RedKite.Store.Keyspace;
using RedKite.Store.Memory;
using RedKite.Store.Values.Copying;
using RedKite.Store.Values.Streams;

namespace RedKite.Store.Tests.Structures.Streams;

/// <summary>What a stream remembers of its producers against lists, on the guarded arena.</summary>
public sealed unsafe class StreamProducersTests
{
    [Fact]
    public void Generated_additions_agree_with_lists()
    {
        Gen<(int, int, int, int)[]> steps = Gen.ArrayOf(
            from kind in Gen.Choose(0, 11)
            from producer in Gen.Choose(0, 12)
            from id in Gen.Choose(0, 30)
            from ms in Gen.Choose(0, 1500)
            select (kind, producer, id, ms));
        Prop.ForAll(steps.Resize(500).ToArbitrary(), sequence =>
        {
            using var world = new World();
            foreach ((int kind, int producer, int id, int ms) in sequence) world.Do(kind, producer, id, ms);
            world.AssertAll();
            world.AssertCopy();
        }).QuickCheckThrowOnFailure();
    }

    // XINFO counted what was forgotten at each producer, and the sweep took a removal for one step, whatever it moved.
    [Fact]
    public void Looking_for_forgotten_ids_takes_steps_in_proportion_to_what_is_moved()
    {
        const int Producers = 20_000;
        const int Work = 1_000;
        using var source = new SlabSource();
        using var arena = new Arena(source);
        var hasher = new KeyHasher();
        var producers = new StreamProducers { DurationSeconds = 5, IdsMax = 8 };
        for (int i = 0; i < Producers; i++)
        {
            int producer = producers.ReadProducer(arena, Encoding.Latin1.GetBytes(i.ToString("D6", CultureInfo.InvariantCulture)));
            producers.AddRead(arena, hasher, producer, "id"u8, new StreamId(1_000, (ulong)i));
        }

        Assert.Equal(0, producers.Count(1_000, out int there, out long ids));
        Assert.Equal((Producers, Producers), (there, (int)ids));
        Assert.InRange(producers.Count(10_000, out there, out ids), 1, 5_000);
        Assert.Equal((Producers, Producers), (there, (int)ids));
        int work = Work;
        producers.ForgetExpired(arena, 10_000, ref work);
        Assert.InRange(Producers - producers.Items.Count, 1, Work / 10); // each moves some 2,000 pointers
        while (producers.FreeSlice(arena, ref work)) work = Work;
        Assert.Equal(0, arena.UsedBytes);
    }

    private sealed class World : IDisposable
    {
        private const int DurationSeconds = 5;
        private const int IdsMax = 8;

        private readonly ArenaGuard _guard = new();
        private readonly SlabSource _source = new();
        private readonly Arena _arena;
        private readonly KeyHasher _hasher = new();
        private readonly Dictionary<int, List<(int Id, StreamId Entry)>> _model = [];
        private StreamData* _stream;
        private long _nowMs = 1_000_000;
        private ulong _sequence;
        private long _added;

        internal World()
        {
            _arena = new Arena(_source, _guard);
            _stream = StreamData.Create(_arena);
            _stream->Producers = new StreamProducers { DurationSeconds = DurationSeconds, IdsMax = IdsMax };
        }

        internal void Do(int kind, int producer, int id, int ms)
        {
            if (kind > 9) _nowMs += ms;
            if (kind == 0)
            {
                // In steps of one: what is left of a round goes on in the next.
                for (int i = 0; i < ms % 10; i++)
                {
                    int work = 1;
                    _stream->Producers.ForgetExpired(_arena, _nowMs, ref work);
                }
            }
            else
            {
                Add(producer, id);
            }
        }

        internal void AssertAll()
        {
            AssertFinds();
            for (int i = 0; i < 3 && _stream->Producers.EarliestExpiryMs <= _nowMs; i++)
            {
                int work = int.MaxValue;
                _stream->Producers.ForgetExpired(_arena, _nowMs, ref work);
            }

            AssertFinds();
            Assert.True(_stream->Producers.EarliestExpiryMs > _nowMs);
            Assert.InRange(_arena.UsedBytes, StreamData.Bytes(_stream), StreamData.Bytes(_stream));
            Assert.Equal(_added, _stream->Producers.Added);
            _guard.Check();
        }

        internal void AssertCopy()
        {
            var copy = new StreamCopy((byte*)_stream, _arena);
            while (copy.Step())
            {
            }

            Assert.False(StreamData.FreeSlice(_stream, _arena, int.MaxValue));
            _stream = (StreamData*)copy.Root;
            AssertAll();
            Do(1, 3, 3, 0);
            AssertAll();
        }

        public void Dispose()
        {
            int slices = 0;
            while (StreamData.FreeSlice(_stream, _arena, 3)) Assert.InRange(++slices, 1, 1000);
            Assert.Equal(0, _arena.UsedBytes);
            _arena.Dispose();
            _source.Dispose();
        }

        private void Add(int producer, int id)
        {
            bool isKnown = Known(producer).Any(known => known.Id == id && IsRemembered(known.Entry));
            Assert.Equal(isKnown, _stream->Producers.TryFind(_hasher, Name(producer), Name(id), _nowMs, out StreamId found));
            if (isKnown)
            {
                Assert.Equal(Known(producer).Last(known => known.Id == id).Entry, found);
                return;
            }

            var entry = new StreamId((ulong)_nowMs, ++_sequence);
            _stream->Producers.Remember(_arena, _hasher, Name(producer), Name(id), entry);
            _added++;
            List<(int Id, StreamId Entry)> ids = Known(producer);
            ids.RemoveAll(known => known.Id == id || !IsRemembered(known.Entry));
            ids.Add((id, entry));
            if (ids.Count > IdsMax) ids.RemoveAt(0);
        }

        private void AssertFinds()
        {
            long ids = 0;
            foreach (int producer in _model.Keys)
            {
                for (int id = 0; id <= 30; id++)
                {
                    (int Id, StreamId Entry)[] known = [.. Known(producer).Where(known => known.Id == id && IsRemembered(known.Entry))];
                    Assert.Equal(known.Length == 1, _stream->Producers.TryFind(_hasher, Name(producer), Name(id), _nowMs, out StreamId found));
                    if (known.Length == 1) Assert.Equal(known[0].Entry, found);
                    ids += known.Length;
                }
            }

            _stream->Producers.Count(_nowMs, out int producers, out long counted);
            Assert.Equal((_model.Values.Count(list => list.Any(known => IsRemembered(known.Entry))), ids), (producers, counted));
        }

        private List<(int Id, StreamId Entry)> Known(int producer)
        {
            if (!_model.TryGetValue(producer, out List<(int, StreamId)>? known)) _model.Add(producer, known = []);
            return known;
        }

        private bool IsRemembered(StreamId entry) => (long)entry.Ms + (DurationSeconds * 1000) > _nowMs;

        private static byte[] Name(int number) => Encoding.Latin1.GetBytes(new string('n', number) + number.ToString(CultureInfo.InvariantCulture));
    }
}
