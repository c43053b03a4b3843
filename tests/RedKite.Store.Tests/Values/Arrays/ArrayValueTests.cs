using System.Text;
using RedKite.Store.Keyspace;
using RedKite.Store.Values.Arrays;

namespace RedKite.Store.Tests.Values.Arrays;

public sealed class ArrayValueTests
{
    // Many elements of few slices, some of many, and slices of one element each.
    [Theory]
    [InlineData(300UL)]
    [InlineData(20_000UL)]
    [InlineData(ArrayData.IndexMax)]
    public void Array_agrees_with_a_model_whatever_happens(ulong indexMax) => Randomness.Run(random =>
    {
        using var world = new ArrayWorld();
        for (int step = 0; step < 1_200; step++)
        {
            bool grows = random.Next(10) < (step < 700 ? 8 : 3); // mostly more, then mostly fewer, down to none
            if (grows || world.Count == 0) world.Set(Index(random, indexMax), ArrayWorld.Text(random));
            else if (random.Next(12) == 0) world.Remove(Index(random, indexMax), world.IndexAt(random));
            else world.Remove(world.IndexAt(random), world.IndexAt(random) / 2 * 2 == 0 ? 0 : world.IndexAt(random));
            if (random.Next(200) == 0) world.Seek(Index(random, indexMax));
            if (step % 60 == 0) world.Check(random);
        }

        world.Check(random);
        world.CheckCopy();
        world.RemoveKeyAndCheckMemory();
    });

    [Fact]
    public void Single_elements_are_set_and_removed_as_in_a_model() => Randomness.Run(random =>
    {
        using var world = new ArrayWorld();
        for (int step = 0; step < 3_000; step++)
        {
            var index = (ulong)random.Next(700);
            if (random.Next(10) < (step / 500 % 2 == 0 ? 7 : 3)) world.Set(index, ArrayWorld.Text(random));
            else world.Remove(index, index);
            if (step % 100 == 0) world.Check(random);
        }

        world.Check(random);
        world.RemoveKeyAndCheckMemory();
    });

    [Fact]
    public void Rings_agree_with_a_model_that_moves_elements_one_by_one() => Randomness.Run(random =>
    {
        using var world = new ArrayWorld();
        ulong size = 10;
        for (int step = 0; step < 1_500; step++)
        {
            if (random.Next(60) == 0) size = (ulong)random.Next(1, random.Next(2) == 0 ? 20 : 1_200);
            int kind = random.Next(100);
            if (kind < 85) world.Push(size, ArrayWorld.Text(random));
            else if (kind < 90) world.Insert(ArrayWorld.Text(random));
            else if (kind < 94) world.Set((ulong)random.Next(1_500), ArrayWorld.Text(random));
            else if (kind < 97 && world.Count > 0) world.Remove(world.IndexAt(random), world.IndexAt(random));
            else if (kind == 97) world.Seek((ulong)random.Next(1_500));
            if (step % 40 == 0) world.Check(random);
        }

        world.Check(random);
        world.CheckCopy();
        world.RemoveKeyAndCheckMemory();
    });

    [Fact]
    public void Array_agrees_with_a_model_while_everything_moves() => Randomness.Run(random =>
    {
        using var world = new ArrayWorld();
        var moves = new Defragmentation(world.Store, 0, 1);
        for (int step = 0; step < 400; step++)
        {
            if (random.Next(3) > 0 || world.Count == 0) world.Set((ulong)random.Next(2_000), ArrayWorld.Text(random));
            else world.Remove(world.IndexAt(random), world.IndexAt(random) & 0x700);
            moves.MoveAll();
            if (step % 40 == 0) world.Check(random);
        }

        world.Check(random);
        world.RemoveKeyAndCheckMemory();
    });

    [Fact]
    public void Reported_bytes_are_those_that_the_arena_uses() => Randomness.Run(random =>
    {
        using var world = new ArrayWorld();
        world.Set(5, "first"u8.ToArray());
        (long reported, long used) = world.Bytes();
        for (int step = 0; step < 600; step++)
        {
            if (random.Next(4) > 0) world.Set((ulong)random.Next(30_000), ArrayWorld.Text(random));
            else world.Remove((ulong)random.Next(30_000), (ulong)random.Next(30_000) | 0x7F00);
            if (step == 300 && world.Count > 0) world.Push(9_000, "x"u8.ToArray());
            if (world.Count == 0) world.Set(5, "first"u8.ToArray());
            (long reportedNow, long usedNow) = world.Bytes();
            Assert.Equal(usedNow - used, reportedNow - reported);
        }
    });

    // What is visited is what exists: the range of all indexes takes as many steps as there are elements.
    [Fact]
    public void Ranges_of_all_indexes_cost_what_exists()
    {
        using var world = new ArrayWorld();
        world.Set(0, "low"u8.ToArray());
        world.Set(1UL << 63, "middle"u8.ToArray());
        world.Set(ArrayData.IndexMax, "high"u8.ToArray());
        Assert.Equal(ulong.MaxValue, world.Array.Length);
        Assert.Equal(3, world.Array.CountBetween(0, ArrayData.IndexMax));
        Assert.Equal(3, world.Array.Slices);
        world.Check(new Random(1));
        world.Remove(ArrayData.IndexMax, 1);
        Assert.Equal(1, world.Count);
        world.RemoveKeyAndCheckMemory();
    }

    [Fact]
    public void Full_slices_take_little_more_than_a_word_for_each_short_element()
    {
        using var world = new ArrayWorld();
        for (ulong i = 0; i < 25_600; i++) world.Set(i, Encoding.ASCII.GetBytes($"{i}"));
        Assert.Equal(100, world.Array.Slices);
        Assert.InRange(world.Bytes().Reported / 25_600.0, 8, 8.7);
        Assert.Equal(new ArrayLayout(100, 25_600, 0, 0), world.Array.ReadLayout());
    }

    [Fact]
    public void Every_text_has_its_own_word()
    {
        using var world = new ArrayWorld();
        string[] texts =
        [
            "", "0", "-0", "00", "-1", "1", "1234567", "12345678", "abcdefg", "abcdefgh", "\0", "\0\0\0\0\0\0\0", "4611686018427387903", "4611686018427387904",
            "-4611686018427387904", "-4611686018427387905", "9223372036854775807", "-9223372036854775808", "9223372036854775808", " 1", "1 ", "+1", "1.5",
        ];
        for (int i = 0; i < texts.Length; i++) world.Set((ulong)i * 3, Encoding.Latin1.GetBytes(texts[i]));
        world.Check(new Random(1));
        for (int i = 0; i < texts.Length; i++) world.Set((ulong)i * 3, Encoding.Latin1.GetBytes(texts[^(i + 1)]));
        world.Check(new Random(1));
        world.RemoveKeyAndCheckMemory();
    }

    private static ulong Index(Random random, ulong max) => max < ArrayData.IndexMax
        ? (ulong)random.NextInt64((long)max + 1)
        : random.Next(4) switch { 0 => (ulong)random.Next(1_000), 1 => max - (ulong)random.Next(1_000), _ => (ulong)random.NextInt64() << random.Next(2) };
}
