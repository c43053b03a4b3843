using RedKite.Store.Values.Sets;

namespace RedKite.Store.Tests.Structures;

/// <summary>Intsets against a sorted set.</summary>
public unsafe class IntSetTests
{
    [Fact]
    public void Numbers_are_sorted_with_the_width_of_the_widest() => Randomness.Run(random =>
    {
        for (int round = 0; round < 200; round++)
        {
            byte[] bytes = new byte[IntSet.EmptyBytes + (8 * 300)];
            SortedSet<long> model = [];
            fixed (byte* set = bytes)
            {
                IntSet.Initialize(set);
                for (int step = 0; step < 300; step++)
                {
                    long number = Number(random, round);
                    bool found = IntSet.TryFind(set, number, out int index);
                    Assert.Equal(model.Contains(number), found);
                    Assert.Equal(model.Count(other => other < number), index);
                    if (!found)
                    {
                        long expected = IntSet.BytesWith(set, number);
                        IntSet.Insert(set, index, number);
                        Assert.Equal(expected, IntSet.Bytes(set));
                        model.Add(number);
                    }
                    else if (random.Next(2) == 0)
                    {
                        IntSet.RemoveAt(set, index);
                        model.Remove(number);
                    }

                    Assert.Equal(model.Count, IntSet.Count(set));
                }

                Assert.Equal(model, Enumerable.Range(0, model.Count).Select(i => At(bytes, i)));
                Assert.Equal(model.Count > 0, IntSet.IsSound(bytes.AsSpan(0, IntSet.Bytes(set)), out bool ascends) && ascends);
            }
        }
    });

    [Fact]
    public void Forward_search_finds_every_member() => Randomness.Run(random =>
    {
        for (int round = 0; round < 100; round++)
        {
            byte[] bytes = new byte[IntSet.EmptyBytes + (8 * 400)];
            SortedSet<long> model = [];
            fixed (byte* set = bytes)
            {
                IntSet.Initialize(set);
                for (int i = random.Next(400); i > 0; i--)
                {
                    long number = Number(random, round);
                    if (!IntSet.TryFind(set, number, out int index)) IntSet.Insert(set, index, number);
                    model.Add(number);
                }

                int passed = 0;
                foreach (long number in model.Concat(Enumerable.Range(0, 200).Select(_ => Number(random, round))).Order())
                {
                    Assert.Equal(model.Contains(number), IntSet.ContainsFrom(set, number, ref passed));
                }
            }
        }
    });

    [Theory]
    [InlineData(new byte[] { 2, 0, 0, 0, 1, 0, 0, 0, 5, 0 }, true)]
    [InlineData(new byte[] { 2, 0, 0, 0, 1, 0, 0, 0, 5 }, false)]
    [InlineData(new byte[] { 2, 0, 0, 0, 2, 0, 0, 0, 5, 0, 5, 0 }, false)]
    [InlineData(new byte[] { 2, 0, 0, 0, 2, 0, 0, 0, 5, 0, 255, 255 }, false)]
    [InlineData(new byte[] { 3, 0, 0, 0, 1, 0, 0, 0, 5, 0, 0 }, false)]
    [InlineData(new byte[] { 2, 0, 0, 0, 0, 0, 0, 0 }, false)]
    [InlineData(new byte[] { 2, 0, 0, 0, 0, 0, 0, 128, 5, 0 }, false)]
    public void Untrusted_bytes_are_validated(byte[] bytes, bool isSound) => Assert.Equal(isSound, IntSet.IsSound(bytes, out bool ascends) && ascends);

    private static long At(byte[] bytes, int index)
    {
        fixed (byte* set = bytes) return IntSet.At(set, index);
    }

    // Rounds of narrow numbers, and rounds with occasional wider ones.
    private static long Number(Random random, int round) => (round % 4 == 0 ? 0 : random.Next(60)) switch
    {
        1 => random.NextInt64(int.MinValue, int.MaxValue),
        2 => random.NextInt64(long.MinValue, long.MaxValue),
        3 => random.Pick(long.MinValue, long.MaxValue, int.MaxValue + 1L, int.MinValue - 1L, short.MaxValue + 1L, short.MinValue - 1L),
        _ => random.Next(-150, 150),
    };
}
