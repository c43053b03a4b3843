using System.Numerics;

namespace RedKite.Figures.Vectors;

/// <summary>Vectors, queries, and the exact answers to them, the same in every run.</summary>
/// <param name="Name">The name in tables and of --only.</param>
internal sealed record VectorData(string Name, float[][] Vectors, float[][] Queries, int[][] Nearest)
{
    internal const int Dimensions = 300;

    /// <summary>The neighbours that a query asks for.</summary>
    internal const int Wanted = 10;

    private const int Seed = 13;
    private const int Centers = 1000;
    private const float Noise = 0.5f; // of a cluster's vectors, where the centre's components have 1

    internal static IReadOnlyList<string> Names { get; } = ["random", "clustered"];

    internal static VectorData Create(string name, int count, int queries)
    {
        var random = new Random(Seed);
        float[][] centers = name == "random" ? [] : [.. Enumerable.Range(0, Centers).Select(_ => Draw(random))];
        float[][] vectors = [.. Enumerable.Range(0, count).Select(_ => Draw(random, centers))];
        float[][] asked = [.. Enumerable.Range(0, queries).Select(_ => Draw(random, centers))];
        return new VectorData(name, vectors, asked, [.. asked.Select(query => FindNearest(vectors, query))]);
    }

    // Vectors have the norm 1, so the largest product is the smallest distance.
    private static int[] FindNearest(float[][] vectors, float[] query)
    {
        var nearest = new PriorityQueue<int, float>();
        for (int i = 0; i < vectors.Length; i++)
        {
            float product = Product(vectors[i], query);
            if (nearest.Count < Wanted) nearest.Enqueue(i, product);
            else nearest.EnqueueDequeue(i, product);
        }

        return [.. nearest.UnorderedItems.Select(item => item.Element)];
    }

    private static float[] Draw(Random random, float[][] centers)
    {
        float[] vector = Draw(random);
        if (centers.Length > 0)
        {
            float[] center = centers[random.Next(centers.Length)];
            for (int i = 0; i < vector.Length; i++) vector[i] = center[i] + (vector[i] * Noise);
        }

        float norm = MathF.Sqrt(Product(vector, vector));
        foreach (ref float component in vector.AsSpan()) component /= norm;
        return vector;
    }

    private static float Product(float[] a, float[] b)
    {
        Vector<float> sums = default;
        int i = 0;
        for (; i <= a.Length - Vector<float>.Count; i += Vector<float>.Count) sums += new Vector<float>(a, i) * new Vector<float>(b, i);
        float sum = Vector.Sum(sums);
        for (; i < a.Length; i++) sum += a[i] * b[i];
        return sum;
    }

    private static float[] Draw(Random random)
    {
        float[] vector = new float[Dimensions];
        for (int i = 0; i < vector.Length; i++) vector[i] = (float)(Math.Sqrt(-2 * Math.Log(1 - random.NextDouble())) * Math.Cos(2 * Math.PI * random.NextDouble()));
        return vector;
    }
}
