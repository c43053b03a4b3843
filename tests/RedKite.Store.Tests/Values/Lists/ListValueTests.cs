using System.Globalization;
using System.Text;
using RedKite.Store.Keyspace;
using RedKite.Store.Values.Lists;
using KeyStore = RedKite.Store.Keyspace.Keyspace;

namespace RedKite.Store.Tests.Values;

/// <summary>Lists on guarded memory against .NET lists, with small nodes, so that they split, merge and are compacted often.</summary>
public sealed class ListValueTests
{
    private static readonly byte[] Key = "list"u8.ToArray();

    [Theory]
    [InlineData(1)]
    [InlineData(3)]
    [InlineData(16)]
    [InlineData(128)]
    [InlineData(-1)]
    [InlineData(-2)]
    public void Random_operations_agree_with_a_list(int limit)
    {
        Randomness.Run(random =>
        {
            using var world = new World(limit);
            int elements = limit is > 0 and < 16 ? 1_000 : 3_000;
            for (int step = 0; step < 12_000; step++)
            {
                bool grows = step / 1_500 % 2 == 0 && world.Model.Count < elements;
                Work(world, random, grows);
                if (step % 500 == 0) world.AssertAll();
            }

            world.AssertAll();
        });
    }

    [Fact]
    public void Queues_of_any_length_return_elements_in_order()
    {
        Randomness.Run(random =>
        {
            using var world = new World(-1);
            int next = 0;
            for (int round = 0; round < 60; round++)
            {
                for (int i = random.Next(2_000); i > 0; i--) world.Push(last: true, Text($"element:{next++}"));
                for (int i = Math.Min(world.Model.Count, random.Next(2_000)); i > 0; i--) world.Pop(last: false);
                if (random.Next(2) == 0) world.Sweep();
                for (int i = random.Next(50); i > 0; i--) world.Push(last: false, Text($"element:{next++}"));
                for (int i = Math.Min(world.Model.Count, random.Next(50)); i > 0; i--) world.Pop(last: true);
            }

            world.AssertAll();
        });
    }

    [Fact]
    public void List_becomes_long_beyond_the_limit_and_packed_again_at_half_of_it()
    {
        using var world = new World(8);
        for (int i = 0; i < 8; i++) world.Push(last: true, Text("x"));
        Assert.Equal(ValueEncoding.ListPack, world.Encoding);
        world.Push(last: true, Text("x"));
        Assert.Equal(ValueEncoding.QuickList, world.Encoding);
        while (world.Model.Count > 5) world.Pop(last: true);
        Assert.Equal(ValueEncoding.QuickList, world.Encoding);
        world.Pop(last: true);
        Assert.Equal(ValueEncoding.ListPack, world.Encoding);
        world.AssertAll();
    }

    [Fact]
    public void Element_over_the_limit_has_a_node_of_its_own()
    {
        using var world = new World(-1);
        world.Push(last: true, Text("small"));
        world.Push(last: true, new byte[100_000]);
        world.Push(last: true, Text("small"));
        world.Insert(1, new byte[70_000]);
        world.Replace(2, Text("short"));
        world.Replace(0, new byte[80_000]);
        world.AssertAll();
        world.Remove(0, 2);
        world.AssertAll();
        Assert.Equal(ValueEncoding.ListPack, world.Encoding);
    }

    [Fact]
    public void Long_lists_of_similar_elements_take_little_memory()
    {
        using var world = new World(-2, guarded: false);
        for (int i = 0; i < 100_000; i++) world.Push(last: true, Text($"member:{i:d6}"));
        world.Sweep();
        world.Sweep();
        Assert.InRange(world.MemoryBytes / 100_000.0, 1, 5);
        world.AssertAll();
    }

    [Theory]
    [InlineData(true)]
    [InlineData(false)]
    public void Growing_list_is_compacted_in_slices_and_completely_once_idle(bool last)
    {
        using var world = new World(-2, guarded: false);
        for (int i = 0; i < 50_000; i++) world.Push(last, Text($"member:{i:d6}"));
        long packed = world.MemoryBytes;
        world.Sweep();
        long afterSlice = world.MemoryBytes;
        Assert.InRange(afterSlice, packed - 32_000, packed - 4_000);
        for (int i = 0; i < 1_000; i++) world.Push(last, Text($"member:{i:d6}"));
        long grown = world.MemoryBytes;
        world.Sweep();
        Assert.InRange(world.MemoryBytes, grown - 32_000, grown - 4_000);
        world.Sweep();
        Assert.InRange(world.MemoryBytes, 1, packed / 3);
        Assert.False(world.Store.Stripes[0].WarmLists.AreWaiting);
        world.AssertAll();
    }

    [Fact]
    public void List_compress_depth_nodes_stay_uncompacted_at_each_end()
    {
        long[] bytes = new long[2];
        for (int i = 0; i < 2; i++)
        {
            using var world = new World(16, guarded: true, compressDepth: i * 40);
            for (int element = 0; element < 16 * 100; element++) world.Push(last: true, Text($"member:{element:d6}"));
            world.Sweep();
            world.Sweep();
            bytes[i] = world.MemoryBytes;
            world.AssertAll();
        }

        // 76 more nodes of 16 elements, each of which takes some 8 bytes less when compacted.
        Assert.InRange(bytes[1] - bytes[0], 76 * 16 * 4, 76 * 16 * 15);
    }

    [Fact]
    public void Copies_of_an_uncompacted_list_are_compacted_too()
    {
        using var world = new World(-2, guarded: false);
        for (int i = 0; i < 50_000; i++) world.Push(last: true, Text($"member:{i:d6}"));
        byte[] other = "copy"u8.ToArray();
        ulong hash = world.Store.Hash(other);
        Database.Copy(world.Find(), world.Database, other, hash, default, 0);
        world.Sweep();
        world.Sweep();
        Assert.Equal(world.MemoryBytes, world.Database.Find(other, hash, ExpiryClock.Never).MemoryBytes, tolerance: 4096);
        Assert.InRange(world.MemoryBytes / 50_000.0, 1, 5);
    }

    [Fact]
    public void Copies_are_equal_and_independent()
    {
        using var world = new World(4);
        for (int i = 0; i < 500; i++) world.Push(last: true, Text($"member:{i:d6}"));
        byte[] other = "copy"u8.ToArray();
        ulong hash = world.Store.Hash(other);
        Database.Copy(world.Find(), world.Database, other, hash, default, 0);
        world.Remove(0, world.Model.Count);
        var copy = new ListValue(world.Database, world.Database.Find(other, hash, ExpiryClock.Never), world.Limits);
        Assert.Equal(500, copy.Count);
        ListReader elements = copy.Read(0, 500);
        for (int i = 0; i < 500; i++) Assert.True(elements.MoveNext() && elements.Current.SequenceEqual(Text($"member:{i:d6}")));
    }

    private static void Work(World world, Random random, bool grows)
    {
        int count = world.Model.Count;
        int index = random.Next(count + 1);
        switch (random.Next(20))
        {
            case < 6 when grows: world.Push(random.Next(2) == 0, RandomElement(random)); break;
            case < 10 when grows: world.Push(last: true, Text($"member:{random.Next(1_000_000):d6}")); break;
            case < 12 when grows: world.Insert(index, RandomElement(random)); break;
            case < 6 when count > 0: world.Pop(random.Next(2) == 0); break;
            case < 9 when count > 0: world.Remove(Math.Min(index, count - 1), random.Next(4)); break;
            case 9 when count > 0 && random.Next(8) == 0: world.Remove(Math.Min(index, count - 1), random.Next(count)); break;
            case < 15 when count > 0: world.Replace(Math.Min(index, count - 1), RandomElement(random)); break;
            case 15 when count > 0: world.RemoveEqual(world.Model[Math.Min(index, count - 1)], random.Next(1, 4), random.Next(2) == 0); break;
            case 16 when random.Next(20) == 0: world.RemoveEqual(RandomElement(random), long.MaxValue, random.Next(2) == 0); break;
            case 17 when count > 0: world.AssertPositions(random.Next(3) == 0 ? RandomElement(random) : world.Model[Math.Min(index, count - 1)], Math.Min(index, count - 1), random.Next(2) == 0); break;
            case 18 when random.Next(10) == 0: world.Sweep(); break;
            default: world.AssertRange(index, random.Next(2) == 0); break;
        }
    }

    private static byte[] Text(string text) => Encoding.Latin1.GetBytes(text);

    private static byte[] RandomElement(Random random) => random.Next(12) switch
    {
        < 3 => Text(random.Next(-50, 50).ToString(CultureInfo.InvariantCulture)),
        < 5 => Text((random.NextInt64(long.MinValue, long.MaxValue) >> random.Next(64)).ToString(CultureInfo.InvariantCulture)),
        < 8 => Text($"member:{random.Next(1000):d6}"),
        < 10 => random.Bytes(random.Next(20)),
        10 => random.Bytes(random.Pick(60, 64, 65, 130, 500)),
        _ => random.Bytes(random.Pick(0, 1, 1000, random.Next(100) == 0 ? 9_000 : 10)),
    };

    private sealed class World : IDisposable
    {
        private readonly ulong _hash;

        private readonly BackgroundSweep _sweep;

        internal World(int limit, bool guarded = true, int compressDepth = 0)
        {
            Store = new KeyStore(1, 1, guarded);
            _sweep = new BackgroundSweep(Store, 0, 1);
            Limits = new ListLimits(limit, compressDepth);
            _hash = Store.Hash(Key);
        }

        internal KeyStore Store { get; }

        internal ListLimits Limits { get; }

        internal Database Database => Store.Databases[0];

        internal List<byte[]> Model { get; } = [];

        internal ValueEncoding Encoding => Find().Encoding;

        internal long MemoryBytes => Find().MemoryBytes;

        internal void Sweep() => Assert.False(_sweep.Run(0, long.MaxValue, expire: true));

        internal Entry Find() => Database.Find(Key, _hash, ExpiryClock.Never);

        internal void Push(bool last, byte[] value)
        {
            ListValue list = Model.Count > 0 ? Open() : ListValue.Create(Database, Key, _hash, Limits, 0);
            list.PrepareFor(value.Length, 1);
            if (last) list.PushLast(value);
            else list.PushFirst(value);
            Model.Insert(last ? Model.Count : 0, value);
            Assert.Equal(Model.Count, list.Count);
        }

        internal void Insert(int index, byte[] value)
        {
            if (Model.Count == 0) return;
            ListValue list = Open();
            list.PrepareFor(value.Length, 1);
            bool after = index > 0 && (index == Model.Count || value.Length % 2 == 0);
            list.Insert(after ? index - 1 : index, after, value);
            Model.Insert(index, value);
            Assert.Equal(Model.Count, list.Count);
        }

        internal void Replace(int index, byte[] value)
        {
            ListValue list = Open();
            list.PrepareFor(value.Length, 1);
            list.Replace(index, value);
            Model[index] = value;
            Assert.Equal(Model.Count, list.Count);
        }

        internal void Pop(bool last)
        {
            ListValue list = Open();
            int index = last ? Model.Count - 1 : 0;
            Span<byte> digits = stackalloc byte[ListValue.DigitsMax];
            Assert.True(list.ReadEnd(last, digits).SequenceEqual(Model[index]));
            list.Remove(index, 1);
            Model.RemoveAt(index);
            Assert.Equal(Model.Count, list.Count);
        }

        internal void Remove(int index, int count)
        {
            count = Math.Min(count, Model.Count - index);
            ListValue list = Open();
            list.Remove(index, count);
            Model.RemoveRange(index, count);
            Assert.Equal(Model.Count, list.Count);
        }

        internal void RemoveEqual(byte[] value, long most, bool backwards)
        {
            if (Model.Count == 0) return;
            int[] indexes = [.. Enumerable.Range(0, Model.Count).Where(i => Model[i].AsSpan().SequenceEqual(value))];
            indexes = [.. (backwards ? indexes.Reverse() : indexes).Take((int)Math.Min(most, int.MaxValue)).OrderDescending()];
            ListValue list = Open();
            Assert.Equal(indexes.Length, list.RemoveEqual(value, most, backwards));
            foreach (int index in indexes) Model.RemoveAt(index);
            Assert.Equal(Model.Count, list.Count);
        }

        internal void AssertRange(int index, bool backwards)
        {
            if (Model.Count == 0) return;
            index = Math.Min(index, Model.Count - 1);
            int count = Math.Min(40, backwards ? index + 1 : Model.Count - index);
            ListReader elements = Open().Read(index, count, backwards);
            for (int i = 0; i < count; i++)
            {
                Assert.True(elements.MoveNext());
                byte[] expected = Model[backwards ? index - i : index + i];
                Assert.True(elements.Current.SequenceEqual(expected));
                Assert.True(elements.CurrentIs(new ListNeedle(expected)));
                Assert.False(elements.CurrentIs(new ListNeedle([.. expected, 1])));
            }

            Assert.False(elements.MoveNext());
        }

        internal void AssertPositions(byte[] value, int from, bool backwards)
        {
            int count = backwards ? from + 1 : Model.Count - from;
            IEnumerable<int> expected = Enumerable.Range(0, count).Where(i => Model[backwards ? from - i : from + i].AsSpan().SequenceEqual(value));
            List<int> found = [];
            ListReader elements = Open().Read(from, count, backwards);
            var needle = new ListNeedle(value);
            for (long index = -1; elements.MoveTo(needle) is > 0 and long passed;)
            {
                index += passed;
                found.Add((int)index);
                Assert.True(elements.Current.SequenceEqual(value));
            }

            Assert.Equal(expected, found);
        }

        internal void AssertAll()
        {
            Store.CheckGuards();
            if (Model.Count == 0)
            {
                Assert.False(Find().Exists);
                return;
            }

            foreach (bool backwards in (bool[])[false, true])
            {
                ListReader elements = Open().Read(backwards ? Model.Count - 1 : 0, Model.Count, backwards);
                for (int i = 0; i < Model.Count; i++)
                {
                    Assert.True(elements.MoveNext());
                    Assert.True(elements.Current.SequenceEqual(Model[backwards ? Model.Count - 1 - i : i]));
                }
            }
        }

        // Disposing the keyspace throws for a leaked block.
        public void Dispose() => Store.Dispose();

        private ListValue Open() => new(Database, Find(), Limits);
    }
}
