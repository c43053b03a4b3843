using RedKite.Sketches.Store;
using RedKite.Store.Values;

namespace RedKite.Sketches.Digests;

/// <summary>A t-digest in a value: merged centroids in order, and behind them observations that are not merged yet. Only what adds merges them.</summary>
internal static class TDigest
{
    // As many as a double has exactly.
    internal const ulong ObservationsMax = 1UL << 53;

    private const int Observed = 0, CompressionNumber = 1, Merged = 2, Unmerged = 3, Least = 4, Largest = 5, MergedSum = 6, Merges = 7;
    private const int Means = 0, Weights = 1;

    internal static ulong Observations(Sketch digest) => digest.Number(Observed);

    internal static int Compression(Sketch digest) => (int)digest.Number(CompressionNumber);

    internal static int MergedNodes(Sketch digest) => (int)digest.Number(Merged);

    internal static int UnmergedNodes(Sketch digest) => (int)digest.Number(Unmerged);

    internal static ulong MergedWeight(Sketch digest) => digest.Number(MergedSum);

    internal static long Compressions(Sketch digest) => (long)digest.Number(Merges);

    internal static double Min(Sketch digest) => Observations(digest) == 0 ? double.NaN : BitConverter.UInt64BitsToDouble(digest.Number(Least));

    internal static double Max(Sketch digest) => Observations(digest) == 0 ? double.NaN : BitConverter.UInt64BitsToDouble(digest.Number(Largest));

    internal static void CountFacts(Sketch digest, Dictionary<string, long> facts)
    {
        facts.Count("centroids", MergedNodes(digest));
        facts.Count("unmerged", UnmergedNodes(digest));
        facts.Count("compressions", Compressions(digest));
    }

    internal static void Initialize(Sketch digest, int compression)
    {
        digest.Number(CompressionNumber) = (ulong)compression;
        for (int i = 0; i < 2; i++) digest.AddPart(DigestNodes.CapacityFor(compression) * sizeof(double), isWhole: true);
    }

    internal static void Reset(Sketch digest)
    {
        foreach (int number in (ReadOnlySpan<int>)[Observed, Merged, Unmerged, Least, Largest, MergedSum, Merges]) digest.Number(number) = 0;
    }

    internal static void Add(Sketch digest, double value)
    {
        if (Nodes(digest) == DigestNodes.CapacityFor(Compression(digest))) Merge(digest);
        int at = Nodes(digest);
        digest.All<double>(Means)[at] = value;
        digest.All<double>(Weights)[at] = 1;
        digest.Number(Least) = BitConverter.DoubleToUInt64Bits(Observations(digest) == 0 ? value : Math.Min(value, Min(digest)));
        digest.Number(Largest) = BitConverter.DoubleToUInt64Bits(Observations(digest) == 0 ? value : Math.Max(value, Max(digest)));
        digest.Number(Unmerged)++;
        digest.Number(Observed)++;
    }

    internal static void AddTo(Sketch digest, DigestNodes nodes)
    {
        if (Nodes(digest) > 0) nodes.Add(digest.All<double>(Means)[..Nodes(digest)], digest.All<double>(Weights)[..Nodes(digest)]);
    }

    /// <summary>Replaces the centroids.</summary>
    internal static void Replace(Sketch digest, DigestNodes nodes, int compression, ulong observations, double min, double max)
    {
        nodes.Merge();
        digest.Resize(Means, DigestNodes.CapacityFor(compression) * sizeof(double));
        digest.Resize(Weights, DigestNodes.CapacityFor(compression) * sizeof(double));
        nodes.Means.CopyTo(digest.All<double>(Means));
        nodes.Weights.CopyTo(digest.All<double>(Weights));
        digest.Number(CompressionNumber) = (ulong)compression;
        digest.Number(Observed) = digest.Number(MergedSum) = observations;
        digest.Number(Merged) = (ulong)nodes.Count;
        digest.Number(Unmerged) = 0;
        digest.Number(Least) = BitConverter.DoubleToUInt64Bits(min);
        digest.Number(Largest) = BitConverter.DoubleToUInt64Bits(max);
        CountMerge(digest);
    }

    /// <summary>What readers see: valid until the thread reads another one.</summary>
    internal static DigestView View(Sketch digest)
    {
        int count = Nodes(digest);
        if (count == 0) return new DigestView(default, default, default, 0, double.NaN, double.NaN);
        DigestNodes nodes = DigestNodes.Begin(Compression(digest));
        ReadOnlySpan<double> means = digest.All<double>(Means)[..count], weights = digest.All<double>(Weights)[..count];
        if (UnmergedNodes(digest) > 0)
        {
            AddTo(digest, nodes);
            nodes.Merge();
            means = nodes.Means;
            weights = nodes.Weights;
        }

        return new DigestView(means, weights, nodes.EndsOf(weights), Observations(digest), Min(digest), Max(digest));
    }

    /// <summary>Whether the numbers, which came from outside, fit each other.</summary>
    internal static bool IsValid(Sketch digest)
    {
        if (digest.Number(CompressionNumber) is 0 or > SketchLimits.CompressionMax || digest.PartCount != 2 || digest.PageCount(Means) != 1 || digest.PageCount(Weights) != 1) return false;
        int capacity = DigestNodes.CapacityFor(Compression(digest));
        if (digest.PartBytes(Means) != capacity * sizeof(double) || digest.PartBytes(Weights) != capacity * sizeof(double)) return false;
        if (digest.Number(Merged) > (ulong)capacity || digest.Number(Unmerged) > (ulong)capacity || Nodes(digest) > capacity || digest.Number(Merges) > long.MaxValue) return false;
        if (Observations(digest) > ObservationsMax || MergedWeight(digest) + digest.Number(Unmerged) != Observations(digest)) return false;
        if (Nodes(digest) == 0) return Observations(digest) == 0;
        double merged = 0, min = Min(digest), max = Max(digest);
        if (!double.IsFinite(min) || !double.IsFinite(max) || min > max) return false;
        ReadOnlySpan<double> means = digest.All<double>(Means), weights = digest.All<double>(Weights);
        for (int i = 0; i < Nodes(digest); i++)
        {
            if (!(means[i] >= min && means[i] <= max) || !(weights[i] >= 1 && weights[i] <= ObservationsMax) || weights[i] != Math.Floor(weights[i])) return false;
            if (i < MergedNodes(digest) && i > 0 && means[i] < means[i - 1]) return false;
            if (i < MergedNodes(digest)) merged += weights[i];
            else if (weights[i] != 1) return false;
        }

        return merged == MergedWeight(digest);
    }

    /// <summary>Centroids and observations that are not merged.</summary>
    internal static int Nodes(Sketch digest) => MergedNodes(digest) + UnmergedNodes(digest);

    private static void Merge(Sketch digest)
    {
        int count = Nodes(digest);
        digest.Number(Merged) = (ulong)DigestNodes.Merge(digest.All<double>(Means)[..count], digest.All<double>(Weights)[..count], Observations(digest), Compression(digest));
        digest.Number(Unmerged) = 0;
        digest.Number(MergedSum) = Observations(digest);
        CountMerge(digest);
    }

    // Of a digest that was loaded it may be any number.
    private static void CountMerge(Sketch digest)
    {
        if (digest.Number(Merges) < long.MaxValue) digest.Number(Merges)++;
    }
}
