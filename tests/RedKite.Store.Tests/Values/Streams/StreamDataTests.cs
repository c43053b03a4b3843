using System.Globalization;
using System.Text;
using FsCheck;
using FsCheck.Fluent;
using RedKite.Store.Memory;
using RedKite.Store.Values.Copying;
using RedKite.Store.Values.Streams;

namespace RedKite.Store.Tests.Structures.Streams;

/// <summary>A stream's entries against a sorted dictionary, on the guarded arena, with nodes of few entries.</summary>
public sealed unsafe class StreamDataTests
{
    private static readonly string[][] NameSets = [["a"], ["a", "b"], ["b", "a"], ["a", "b", "c", "d"], ["1", ""], [new string('n', 70)]];

    [Theory]
    [InlineData(0, 1, false)]
    [InlineData(0, 3, false)]
    [InlineData(0, 3, true)]
    [InlineData(200, 0, false)]
    [InlineData(200, 0, true)]
    [InlineData(4096, 100, false)]
    [InlineData(4096, 100, true)]
    [InlineData(0, 0, false)]
    public void Random_operations_agree_with_a_dictionary(int nodeBytesMax, int nodeEntriesMax, bool lowersLastId)
    {
        Randomness.Run(random =>
        {
            using var world = new World(nodeBytesMax, nodeEntriesMax);
            for (int step = 0; step < 6_000; step++)
            {
                bool growing = step / 1_000 % 2 == 0;
                switch (random.Next(20))
                {
                    case < 12 when growing: world.Append(random); break;
                    case < 5: world.Append(random); break;
                    case < 14: world.Delete(world.RandomId(random)); break;
                    case 14: world.Trim(new StreamTrimming { ByLength = true, LengthMax = random.Next(world.Count + 2), IsApproximate = random.Next(2) == 0 }); break;
                    case 15: world.Trim(new StreamTrimming { MinId = world.RandomId(random), IsApproximate = random.Next(2) == 0, DeletedMax = random.Next(3) * 5 }); break;
                    case 16 when lowersLastId: world.LowerLastId(); break;
                    default: world.AssertRange(world.RandomId(random), world.RandomId(random)); break;
                }

                if (step % 300 == 0) world.AssertAll();
            }

            world.AssertAll();
            world.AssertCopy();
        });
    }

    [Fact]
    public void Generated_entries_read_back_from_either_end()
    {
        Gen<(byte[][] Texts, int Later)[]> entries = Gen.ArrayOf(
            from count in Gen.Choose(1, 4)
            from texts in Gen.ArrayOf(ArbMap.Default.GeneratorFor<byte[]>().Select(bytes => bytes ?? []), count * 2)
            from later in Gen.Choose(0, 200)
            select (texts, later));
        Prop.ForAll(entries.ToArbitrary(), all =>
        {
            using var world = new World(0, 7);
            foreach ((byte[][] texts, int later) in all) world.Append(later * (later % 3), later % 2 == 0, texts);
            world.AssertAll();
        }).QuickCheckThrowOnFailure();
    }

    [Fact]
    public void Common_entries_take_less_than_in_a_packed_list()
    {
        Randomness.Run(random =>
        {
            using var world = new World(4096, 100);
            for (int i = 0; i < 5_000; i++)
            {
                string Value() => string.Create(16, random, (text, source) => source.GetItems("abcdefghijklmnopqrstuvwxyz0123456789", text));
                string[] fields = ["field1", Value(), "field2", Value(), "field3", Value(), "field4", Value()];
                world.Append(i % 10 == 0 ? 1 : 0, false, [.. fields.Select(Encoding.ASCII.GetBytes)]);
            }

            Assert.InRange(world.Bytes / 5_000.0, 50, 62); // 81 and more in a Redis listpack
        });
    }

    [Fact]
    public void Large_entries_read_back_and_waste_no_space()
    {
        using var world = new World(4096, 100);
        foreach (int length in (int[])[100, 127, 128, 129, 300, 4_000, 5_000, 16_383, 70_000, 3_000_000])
        {
            world.Append(1, false, ["name"u8.ToArray(), Encoding.ASCII.GetBytes(new string('\t', length))]);
            world.Append(1, false, ["name"u8.ToArray(), Encoding.ASCII.GetBytes(new string('x', length))]);
            world.Append(1, false, ["other"u8.ToArray(), Encoding.ASCII.GetBytes(new string('x', length))]);
        }

        world.AssertAll();
    }

    [Fact]
    public void Stream_is_freed_in_slices()
    {
        Randomness.Run(random =>
        {
            var world = new World(0, 2);
            for (int i = 0; i < 1_000; i++) world.Append(random);
            int slices = world.Free(blocksMax: 100);
            Assert.InRange(slices, 4, 8); // 500 nodes in leaves of 64
        });
    }

    private sealed class World : IDisposable
    {
        private readonly ArenaGuard _guard = new();
        private readonly SlabSource _source = new();
        private readonly Arena _arena;
        private readonly SortedDictionary<StreamId, byte[][]> _model = [];
        private readonly long _nodeBytesMax;
        private readonly long _nodeEntriesMax;
        private StreamData* _data;
        private bool _hasLowered;

        internal World(long nodeBytesMax, long nodeEntriesMax)
        {
            (_nodeBytesMax, _nodeEntriesMax) = (nodeBytesMax, nodeEntriesMax);
            _arena = new Arena(_source, _guard);
            _data = StreamData.Create(_arena);
        }

        internal int Count => _model.Count;

        internal long Bytes => StreamData.Bytes(_data);

        internal StreamId RandomId(Random random)
        {
            if (_model.Count == 0 || random.Next(10) == 0) return new StreamId((ulong)random.Next(2_000), (ulong)random.Next(3));
            StreamId id = _model.Keys.ElementAt(random.Next(_model.Count));
            return random.Next(6) == 0 && id.TryNext(out StreamId next) ? next : id;
        }

        internal void Append(Random random)
        {
            string[] names = random.Pick(NameSets);
            if (random.Next(4) != 0) names = NameSets[3];
            var texts = new List<byte[]>();
            foreach (string name in names)
            {
                texts.Add(Encoding.ASCII.GetBytes(name));
                texts.Add(random.Next(6) switch
                {
                    0 => "same"u8.ToArray(),
                    1 => Encoding.ASCII.GetBytes(random.Next(200).ToString(CultureInfo.InvariantCulture)),
                    2 => Encoding.ASCII.GetBytes((random.Next(20_000) / 100.0).ToString(CultureInfo.InvariantCulture)),
                    3 => random.Bytes(random.Next(20)),
                    4 => Encoding.ASCII.GetBytes(new string('v', random.Next(random.Next(8) == 0 ? 500 : 30))),
                    _ => [],
                });
            }

            Append(random.Pick(0, 0, 0, 1, 2, 60, 61, 5_000), random.Next(4) == 0, [.. texts]);
        }

        internal void Append(int later, bool jumps, byte[][] texts)
        {
            StreamId last = _data->LastId;
            ulong sequence = later > 0 ? (jumps ? 9UL : 0) : last.Sequence + (jumps ? 70UL : 1);
            var id = new StreamId(last.Ms + (ulong)later, sequence);
            if (id <= last) last.TryNext(out id);
            long textBytes = texts.Sum(text => text.Length);
            var added = new StreamAppender(_arena, _data, id, texts.Length / 2, textBytes, _nodeBytesMax, _nodeEntriesMax);
            for (int i = 0; i < texts.Length; i += 2) added.Name(texts[i]);
            for (int i = 0; i < texts.Length; i += 2) added.Pair(texts[i], texts[i + 1]);
            added.End();
            _model.Add(id, texts);
            AssertCounters();
        }

        internal void Delete(StreamId id)
        {
            Assert.Equal(_model.Remove(id), StreamData.Delete(_data, _arena, id));
            AssertCounters();
        }

        internal void Trim(StreamTrimming trimming)
        {
            int wanted = trimming.ByLength ? (int)Math.Max(0, _model.Count - trimming.LengthMax) : _model.Keys.Count(id => id < trimming.MinId);
            long trimmed = trimming.Trim(_data, _arena);
            Assert.InRange(trimmed, 0, wanted);
            if (trimming.DeletedMax > 0) Assert.InRange(trimmed, 0, trimming.DeletedMax);
            else if (!trimming.IsApproximate && (trimming.ByLength || !_hasLowered)) Assert.Equal(wanted, trimmed);
            foreach (StreamId id in _model.Keys.Take((int)trimmed).ToArray()) _model.Remove(id);
            AssertCounters();
        }

        // XSETID may lower the id to the last entry. Entries deleted above it may stay in their node, and then trimming by id
        // stops at that node although lower ids follow in the next one; Redis does the same.
        internal void LowerLastId()
        {
            StreamId last = _model.Count > 0 ? _model.Keys.Last() : default;
            _hasLowered |= last < _data->LastId;
            StreamData.SetLastId(_data, _arena, last);
        }

        internal void AssertRange(StreamId low, StreamId high)
        {
            StreamId[] expected = [.. _model.Keys.Where(id => id >= low && id <= high)];
            Assert.Equal(expected, Ids(low, high, reverse: false));
            Assert.Equal(expected.Reverse(), Ids(low, high, reverse: true));
            Assert.Equal(_model.ContainsKey(low), StreamData.TryFind(_data, low, out StreamNodeReader reader));
            if (_model.TryGetValue(low, out byte[][]? texts)) AssertFields(texts, reader.Fields);
        }

        internal void AssertAll()
        {
            foreach (bool reverse in (bool[])[false, true])
            {
                var cursor = new StreamCursor(_data, default, StreamId.Max, reverse);
                foreach ((StreamId id, byte[][] texts) in reverse ? _model.Reverse() : _model)
                {
                    Assert.True(cursor.MoveNext());
                    Assert.Equal(id, cursor.Id);
                    AssertFields(texts, cursor.Fields);
                }

                Assert.False(cursor.MoveNext());
            }

            AssertCounters();
            Assert.Equal(StreamData.Bytes(_data), _arena.UsedBytes);
            _guard.Check();
        }

        internal void AssertCopy()
        {
            StreamData* original = _data;
            var copy = new StreamCopy((byte*)original, _arena);
            while (copy.Step())
            {
            }

            _data = (StreamData*)copy.Root;
            while (StreamData.FreeSlice(original, _arena, 1_000))
            {
            }

            AssertAll();
            Append(new Random(5));
            AssertAll();
        }

        internal int Free(int blocksMax)
        {
            int slices = 1;
            while (StreamData.FreeSlice(_data, _arena, blocksMax)) slices++;
            while (_arena.HasWaiting) _arena.FreeWaiting(blocksMax);
            Assert.Equal(0, _arena.UsedBytes);
            _arena.Dispose(); // throws for a leak
            _source.Dispose();
            return slices;
        }

        public void Dispose() => Free(64);

        private void AssertCounters()
        {
            Assert.Equal(_model.Count, _data->Length);
            Assert.Equal(_model.Count > 0 ? _model.Keys.First() : default, _data->FirstId);
            Assert.Equal(_model.Count > 0, StreamData.TryLastEntryId(_data, out StreamId last));
            if (_model.Count > 0) Assert.Equal(_model.Keys.Last(), last);
        }

        private List<StreamId> Ids(StreamId low, StreamId high, bool reverse)
        {
            var ids = new List<StreamId>();
            var cursor = new StreamCursor(_data, low, high, reverse);
            while (cursor.MoveNext()) ids.Add(cursor.Id);
            return ids;
        }

        private static void AssertFields(byte[][] texts, StreamFields fields)
        {
            Span<byte> scratch = stackalloc byte[CompactText.ScratchBytes];
            Assert.Equal(texts.Length / 2, fields.Count);
            for (int i = 0; i < texts.Length; i += 2)
            {
                Assert.True(fields.Name().Bytes(scratch).SequenceEqual(texts[i]));
                Assert.True(fields.Value().Bytes(scratch).SequenceEqual(texts[i + 1]));
            }
        }
    }
}
