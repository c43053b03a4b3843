using System.Numerics;
using System.Runtime.InteropServices;
using RedKite.Store.Memory;

namespace RedKite.Sketches.Digests;

/// <summary>
/// Centroids that are collected and merged outside of a value: for readers, who change nothing, and for merges. Each thread has one, outside the managed heap.
/// </summary>
internal sealed class DigestNodes : IDisposable
{
    // The weight of a centroid is at most this part of what the quantiles at its ends leave, divided by the compression.
    private const double WeightFactor = 4;

    // Without it, the number of centroids would grow with the logarithm of that of the observations.
    private const double LogarithmPart = 6;

    private const int CentroidsPerCompression = 5;

    [ThreadStatic]
    private static DigestNodes? _ofThread;

    private readonly NativeBuffer _means = new();
    private readonly NativeBuffer _weights = new();
    private readonly NativeBuffer _ends = new();
    private int _capacity;
    private int _compression;
    private double _total;

    private DigestNodes()
    {
    }

    internal int Count { get; private set; }

    internal Span<double> Means => MemoryMarshal.Cast<byte, double>(_means.Room(_capacity * sizeof(double)))[..Count];

    internal Span<double> Weights => MemoryMarshal.Cast<byte, double>(_weights.Room(_capacity * sizeof(double)))[..Count];

    internal static int CapacityFor(int compression) => (6 * compression) + 10;

    /// <summary>Begins with none.</summary>
    internal static DigestNodes Begin(int compression)
    {
        DigestNodes nodes = _ofThread ??= new DigestNodes();
        (nodes.Count, nodes._total, nodes._compression, nodes._capacity) = (0, 0, compression, CapacityFor(compression));
        nodes._means.Clear();
        nodes._weights.Clear();
        nodes._ends.Clear();
        return nodes;
    }

    /// <summary>The sum of the weights up to each.</summary>
    internal ReadOnlySpan<double> EndsOf(ReadOnlySpan<double> weights)
    {
        Span<double> ends = MemoryMarshal.Cast<byte, double>(_ends.Room(weights.Length * sizeof(double)));
        double sum = 0;
        for (int i = 0; i < weights.Length; i++) ends[i] = sum += weights[i];
        return ends;
    }

    internal void Add(ReadOnlySpan<double> means, ReadOnlySpan<double> weights)
    {
        while (!means.IsEmpty)
        {
            if (Count == _capacity) Merge();
            int added = Math.Min(means.Length, _capacity - Count), start = Count;
            Count += added;
            means[..added].CopyTo(Means[start..]);
            weights[..added].CopyTo(Weights[start..]);
            foreach (double weight in weights[..added]) _total += weight;
            means = means[added..];
            weights = weights[added..];
        }
    }

    public void Dispose()
    {
        _means.Dispose();
        _weights.Dispose();
        _ends.Dispose();
    }

    internal void Merge() => Count = Merge(Means, Weights, _total, _compression);

    /// <summary>Sorts centroids and merges neighbours (the merging digest of Dunning and Ertl, 2019), with operations that all processors round alike.</summary>
    /// <returns>How many there are then, at the beginning.</returns>
    internal static int Merge(Span<double> means, Span<double> weights, double total, int compression)
    {
        if (means.IsEmpty) return 0;
        means.Sort(weights);
        double factor = WeightFactor / compression * Math.Max(1, BitOperations.Log2((ulong)total) / LogarithmPart);
        int count = MergeNeighbours(means, weights, total, factor);
        for (; count > CentroidsPerCompression * compression; factor *= 2) count = MergeNeighbours(means[..count], weights[..count], total, factor);
        return count;
    }

    private static int MergeNeighbours(Span<double> means, Span<double> weights, double total, double factor)
    {
        int last = 0;
        double before = 0;
        for (int i = 1; i < means.Length; i++)
        {
            double weight = weights[last] + weights[i], start = before / total, end = (before + weight) / total;
            if (weight <= factor * total * Math.Min(start * (1 - start), end * (1 - end)))
            {
                // The mean of equal ones stays that, whatever the rounding.
                double mean = (means[last] * (weights[last] / weight)) + (means[i] * (weights[i] / weight));
                means[last] = Math.Clamp(mean, means[last], means[i]);
                weights[last] = weight;
                continue;
            }

            before += weights[last++];
            (means[last], weights[last]) = (means[i], weights[i]);
        }

        return last + 1;
    }
}
