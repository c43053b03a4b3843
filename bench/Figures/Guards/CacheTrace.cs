namespace RedKite.Figures.Guards;

/// <summary>Requests for keys by Zipf's distribution, the same for the same seed. Numbers say nothing about popularity.</summary>
internal static class CacheTrace
{
    internal static int[] Create(int keys, int requests, double exponent, int seed)
    {
        double[] sums = new double[keys];
        double sum = 0;
        for (int i = 0; i < keys; i++) sums[i] = sum += 1 / Math.Pow(i + 1, exponent);
        var random = new Random(seed);
        int[] numbers = [.. Enumerable.Range(0, keys)];
        random.Shuffle(numbers);
        int[] trace = new int[requests];
        for (int i = 0; i < requests; i++)
        {
            int rank = Array.BinarySearch(sums, random.NextDouble() * sum);
            trace[i] = numbers[rank < 0 ? ~rank : rank];
        }

        return trace;
    }
}
