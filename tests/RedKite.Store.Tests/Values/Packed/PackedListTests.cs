using System.Text;
using RedKite.Store.Memory;
using RedKite.Store.Values.Packed;

namespace RedKite.Store.Tests.Structures;

/// <summary>A packed list against a list of byte strings, on the guarded arena, each block exactly as large as the list.</summary>
public sealed unsafe class PackedListTests
{
    [Fact]
    public void Random_operations_agree_with_a_list()
    {
        Randomness.Run(random =>
        {
            using var world = new World();
            for (int step = 0; step < 20_000; step++)
            {
                bool growing = step / 2_000 % 2 == 0;
                int index = random.Next(world.Model.Count + 1);
                switch (random.Next(10))
                {
                    case < 2 when world.Model.Count > 0: world.Replace(random.Next(world.Model.Count), RandomElement(random)); break;
                    case < 4 when !growing: world.Remove(index, random.Next(4)); break;
                    case < 5: world.Remove(index, 1); break;
                    case < 9 when growing: world.Insert(index, RandomElement(random)); break;
                    default: world.AssertFind(RandomElement(random)); break;
                }

                if (step % 100 == 0) world.AssertAll();
            }

            world.AssertAll();
        });
    }

    [Fact]
    public void Integers_at_encoding_boundaries_read_back()
    {
        using var world = new World();
        foreach (int bits in (int[])[0, 1, 6, 7, 8, 11, 12, 13, 15, 16, 23, 24, 31, 32, 62, 63])
        {
            for (long delta = -2; delta <= 2; delta++)
            {
                world.Insert(world.Model.Count, Encoding.ASCII.GetBytes(((1L << bits) + delta).ToString(System.Globalization.CultureInfo.InvariantCulture)));
                world.Insert(0, Encoding.ASCII.GetBytes((-(1L << bits) + delta).ToString(System.Globalization.CultureInfo.InvariantCulture)));
            }
        }

        world.AssertAll();
    }

    [Fact]
    public void Texts_at_encoding_boundaries_read_back()
    {
        using var world = new World();
        foreach (int length in (int[])[0, 1, 62, 63, 64, 125, 126, 127, 128, 4094, 4095, 4096, 16377, 16378, 16379, 16384, 70_000, 2_097_150])
        {
            world.Insert(world.Model.Count, new byte[length]);
            world.Insert(0, Enumerable.Repeat((byte)'x', length).ToArray());
        }

        world.AssertAll();
    }

    [Fact]
    public void More_elements_than_the_header_holds_are_counted()
    {
        using var world = new World();
        byte[] many = new byte[2 * 66_000];
        for (int i = 0; i < many.Length; i += 2) many[i + 1] = 1; // the number 0, and its length
        world.Reserve(many.Length);
        PackedList.InsertRaw(world.List, PackedList.Start, many, 66_000);
        Assert.Equal(66_000, PackedList.Count(world.List));
        Assert.Equal(PackedList.Start + (2 * 65_999), PackedList.At(world.List, -1));
        Assert.Equal(-1, PackedList.At(world.List, 66_000));
        PackedList.Remove(world.List, PackedList.Start, 65_000);
        Assert.Equal(1_000, PackedList.Count(world.List));
    }

    [Fact]
    public void Pair_search_finds_fields_and_not_values()
    {
        using var world = new World();
        foreach (string text in (string[])["a", "b", "b", "1", "1", "c"]) world.Insert(world.Model.Count, Encoding.ASCII.GetBytes(text));
        Assert.Equal(PackedList.At(world.List, 2), PackedList.Find(world.List, PackedList.Start, "b"u8, step: 2));
        Assert.Equal(PackedList.At(world.List, 4), PackedList.Find(world.List, PackedList.Start, "1"u8, step: 2));
        Assert.Equal(-1, PackedList.Find(world.List, PackedList.Start, "c"u8, step: 2));
    }

    [Fact]
    public void Damaged_lists_are_refused_or_harmless()
    {
        Randomness.Run(random =>
        {
            using var world = new World();
            for (int i = 0; i < 30; i++) world.Insert(i, RandomElement(random));
            byte[] sound = world.Bytes();
            Assert.True(PackedList.IsSound(sound, out int count, out bool statesCount) && statesCount);
            Assert.Equal(30, count);
            int refused = 0;
            for (int round = 0; round < 20_000; round++)
            {
                byte[] damaged = round % 3 == 0 ? sound[..random.Next(sound.Length)] : [.. sound];
                if (damaged.Length > 0 && round % 3 != 0) damaged[random.Next(damaged.Length)] ^= (byte)(1 << random.Next(8));
                if (!PackedList.IsSound(damaged, out count, out statesCount))
                {
                    if (round % 3 != 0) refused++;
                    continue;
                }

                Assert.NotEqual(0, round % 3); // truncated lists never pass

                // A list that passes can be iterated from either end, within its bytes.
                fixed (byte* list = damaged)
                {
                    int seen = 0;
                    for (int offset = PackedList.Start; !PackedList.IsEnd(list, offset); offset = PackedList.Next(list, offset)) seen++;
                    Assert.Equal(count, seen);
                    for (int offset = PackedList.Last(list); offset >= 0; offset = PackedList.Previous(list, offset)) seen--;
                    Assert.Equal(0, seen);
                }
            }

            Assert.NotEqual(0, refused);
        });
    }

    private static byte[] RandomElement(Random random) => random.Next(5) switch
    {
        0 => Encoding.ASCII.GetBytes(random.Next(-200, 200).ToString(System.Globalization.CultureInfo.InvariantCulture)),
        1 => Encoding.ASCII.GetBytes((random.NextInt64(long.MinValue, long.MaxValue) >> random.Next(64)).ToString(System.Globalization.CultureInfo.InvariantCulture)),
        2 => Encoding.ASCII.GetBytes(random.Pick("0", "-0", "00", "+1", "01", " 1", "1 ", "-", "", "9223372036854775808", "-9223372036854775809")),
        3 => random.Bytes(random.Next(200)),
        _ => random.Bytes(random.Pick(1, 60, 64, 130, 4095, 4100)),
    };

    private sealed class World : IDisposable
    {
        private readonly ArenaGuard _guard = new();
        private readonly SlabSource _source = new();
        private readonly Arena _arena;
        private long _bytes = PackedList.EmptyBytes;

        internal World()
        {
            _arena = new Arena(_source, _guard);
            List = _arena.Allocate(_bytes);
            PackedList.Initialize(List);
        }

        internal byte* List { get; private set; }

        internal List<byte[]> Model { get; } = [];

        internal byte[] Bytes() => new ReadOnlySpan<byte>(List, PackedList.Bytes(List)).ToArray();

        internal void Reserve(int more)
        {
            List = _arena.Reallocate(List, _bytes, _bytes + more);
            _bytes += more;
        }

        internal void Insert(int index, byte[] bytes)
        {
            Reserve(PackedList.ElementBytes(bytes));
            PackedList.Insert(List, OffsetOf(index), bytes);
            Model.Insert(index, bytes);
        }

        internal void Replace(int index, byte[] bytes)
        {
            int more = PackedList.ElementBytes(bytes) - PackedList.ElementBytes(List, OffsetOf(index));
            if (more > 0) Reserve(more);
            PackedList.Replace(List, OffsetOf(index), bytes);
            if (more < 0) Reserve(more);
            Model[index] = bytes;
        }

        internal void Remove(int index, int count)
        {
            PackedList.Remove(List, OffsetOf(index), count);
            Reserve(PackedList.Bytes(List) - (int)_bytes);
            Model.RemoveRange(index, Math.Min(count, Model.Count - index));
        }

        internal void AssertFind(byte[] bytes)
        {
            int index = Model.FindIndex(element => element.AsSpan().SequenceEqual(bytes));
            Assert.Equal(index < 0 ? -1 : OffsetOf(index), PackedList.Find(List, PackedList.Start, bytes));
        }

        internal void AssertAll()
        {
            Assert.Equal(_bytes, PackedList.Bytes(List));
            Assert.Equal(Model.Count, PackedList.Count(List));
            Assert.True(PackedList.IsSound(new ReadOnlySpan<byte>(List, (int)_bytes), out int count, out bool statesCount) && statesCount);
            Assert.Equal(Model.Count, count);
            Span<byte> buffer = stackalloc byte[CanonicalInteger.TextBytesMax];
            int offset = PackedList.Start;
            foreach (byte[] bytes in Model)
            {
                Assert.True(PackedList.Read(List, offset).Bytes(buffer).SequenceEqual(bytes));
                Assert.True(PackedList.Read(List, offset).Equals(bytes));
                offset = PackedList.Next(List, offset);
            }

            Assert.Equal(PackedList.EndOf(List), offset);
            for (int i = Model.Count - 1; i >= 0; i--)
            {
                offset = PackedList.Previous(List, offset);
                Assert.Equal(offset, PackedList.At(List, i));
                Assert.Equal(offset, PackedList.At(List, i - Model.Count));
            }

            Assert.Equal(-1, PackedList.Previous(List, PackedList.Start));
            _guard.Check();
        }

        public void Dispose()
        {
            _arena.Free(List, _bytes);
            _guard.Check();
            _arena.Dispose();
            _source.Dispose();
        }

        private int OffsetOf(int index)
        {
            if (index == Model.Count) return PackedList.EndOf(List);
            int offset = PackedList.Start;
            for (; index > 0; index--) offset = PackedList.Next(List, offset);
            return offset;
        }
    }
}
