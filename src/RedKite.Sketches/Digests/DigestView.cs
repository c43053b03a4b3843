namespace RedKite.Sketches.Digests;

/// <summary>
/// The merged centroids of a t-digest in order, to answer questions. A centroid of weight 1 is an observation; the others' observations are taken to be spread
/// evenly between the middles of neighbours.
/// </summary>
/// <remarks>Questions search by halves: a command may have many.</remarks>
internal readonly ref struct DigestView(ReadOnlySpan<double> means, ReadOnlySpan<double> weights, ReadOnlySpan<double> ends, double total, double min, double max)
{
    private readonly ReadOnlySpan<double> _means = means;
    private readonly ReadOnlySpan<double> _weights = weights;

    // The weight of each and of those before it.
    private readonly ReadOnlySpan<double> _ends = ends;

    internal double Total { get; } = total;

    internal double Min { get; } = min;

    internal double Max { get; } = max;

    internal double Quantile(double quantile)
    {
        if (Total == 0) return double.NaN;
        return quantile >= 1 ? Max : quantile <= 0 ? Min : ValueAt(quantile * Total);
    }

    /// <summary>The value of a rank, which counts from 0.</summary>
    internal double ValueAt(double rank)
    {
        int i = Math.Min(CountUpTo(_ends, rank), _means.Length - 1);
        if (_weights[i] == 1) return _means[i];
        double before = Before(i);
        double middle = before + (_weights[i] / 2), end = before + _weights[i];
        if (rank < middle) return Between(rank, StartOf(i, before), i == 0 ? Min : _means[i - 1], middle, _means[i]);
        return Between(rank, middle, _means[i], EndOf(i, end), i == _means.Length - 1 ? Max : _means[i + 1]);
    }

    /// <summary>How many observations are less than a value, and half of those that are equal.</summary>
    internal double RankOf(double value)
    {
        if (value < Min) return 0;
        if (value > Max) return Total;
        int i = CountUpTo(_means, Math.BitDecrement(value));
        double before = Before(i), equal = Before(CountUpTo(_means, value)) - before;
        if (equal > 0) return before + (equal / 2);
        bool isFirst = i == 0, isLast = i == _means.Length;
        double left = isFirst ? 0 : Middle(i - 1, before - _weights[i - 1], isEnd: true), right = isLast ? Total : Middle(i, before, isEnd: false);
        return Between(value, isFirst ? Min : _means[i - 1], left, isLast ? Max : _means[i], right);
    }

    /// <summary>The mean of the observations between two quantiles.</summary>
    internal double TrimmedMean(double low, double high)
    {
        double from = Math.Floor(Total * low), to = Math.Ceiling(Total * high), before = 0, sum = 0, count = 0;
        for (int i = 0; i < _means.Length && before < to; before += _weights[i++])
        {
            double taken = Math.Min(to, before + _weights[i]) - Math.Max(from, before);
            if (taken <= 0) continue;
            sum += _means[i] * taken;
            count += taken;
        }

        return count == 0 ? double.NaN : sum / count;
    }

    private double Before(int i) => i == 0 ? 0 : _ends[i - 1];

    // How many of ascending numbers are not larger than another one.
    private static int CountUpTo(ReadOnlySpan<double> numbers, double number)
    {
        int low = 0, high = numbers.Length;
        while (low < high)
        {
            int middle = (low + high) / 2;
            if (numbers[middle] <= number) low = middle + 1;
            else high = middle;
        }

        return low;
    }

    // The rank at which the neighbour before has its mean.
    private double StartOf(int i, double before) => i == 0 ? 0 : Middle(i - 1, before - _weights[i - 1], isEnd: true);

    private double EndOf(int i, double end) => i == _means.Length - 1 ? Total : Middle(i + 1, end, isEnd: false);

    private double Middle(int i, double before, bool isEnd) => _weights[i] != 1 ? before + (_weights[i] / 2) : isEnd ? before + 1 : before;

    private static double Between(double at, double from, double fromValue, double to, double toValue)
    {
        if (to <= from) return toValue;
        double part = (at - from) / (to - from);
        return (fromValue * (1 - part)) + (toValue * part);
    }
}
