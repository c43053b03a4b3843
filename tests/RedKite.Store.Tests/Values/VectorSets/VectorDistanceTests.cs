using RedKite.Store.Values.VectorSets;

namespace RedKite.Store.Tests.Values.VectorSets;

public sealed unsafe class VectorDistanceTests
{
    [Fact]
    public void Products_are_those_of_a_plain_loop_at_any_length() => Randomness.Run(random =>
    {
        for (int count = 1; count <= 200; count++)
        {
            // No sign and no end goes wrong: the largest components on both sides, or any.
            bool largest = random.Next(3) == 0;
            sbyte[] a = [.. Enumerable.Range(0, count).Select(_ => largest ? (sbyte)-127 : (sbyte)random.Next(-127, 128))];
            sbyte[] b = [.. Enumerable.Range(0, count).Select(_ => largest ? (sbyte)-127 : (sbyte)random.Next(-127, 128))];
            float[] c = VectorSetWorld.Vector(random, count);
            float[] d = VectorSetWorld.Vector(random, count);
            fixed (sbyte* first = a, second = b)
            fixed (float* third = c, fourth = d)
            {
                Assert.Equal(a.Zip(b, (x, y) => x * y).Sum(), VectorDistance.DotOfBytes(first, second, count));
                Assert.Equal(c.Zip(d, (x, y) => x * (double)y).Sum(), VectorDistance.DotOfFloats(third, fourth, count), 0.001);
            }
        }
    });

    [Fact]
    public void Keys_order_distances_and_keep_them()
    {
        float[] distances = [-0.001f, -0f, 0, float.Epsilon, 0.5f, 1, 2];
        for (int i = 0; i < distances.Length; i++)
        {
            ulong key = DistanceKey.Of(distances[i], 123_456_789);
            Assert.Equal(distances[i], DistanceKey.Distance(key));
            Assert.Equal(123_456_789, DistanceKey.Number(key));
            if (i > 0) Assert.True(DistanceKey.Of(distances[i - 1], int.MaxValue) < key);
        }
    }

    [Fact]
    public void Heap_gives_keys_in_order() => Randomness.Run(random =>
    {
        var heap = new DistanceHeap();
        List<ulong> keys = [.. Enumerable.Range(0, 1_000).Select(_ => (ulong)random.NextInt64())];
        foreach (ulong key in keys) heap.Push(key);
        heap.ReplaceLowest(5);
        keys.Sort();
        keys[0] = 5;
        keys.Sort();
        foreach (ulong key in keys) Assert.Equal(key, heap.Pop());
        Assert.Equal(0, heap.Count);
    });
}
