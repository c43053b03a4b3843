namespace RedKite.Bench;

/// <summary>The order of key numbers.</summary>
internal enum KeyPattern
{
    /// <summary>R: uniform.</summary>
    Random,

    /// <summary>S: every client goes through the whole range in order.</summary>
    Sequential,

    /// <summary>P: in order, each client through its own part of the range.</summary>
    Parallel,

    /// <summary>G: a normal distribution around the median.</summary>
    Gaussian,

    /// <summary>Z: Zipf's distribution, in which the lowest number is the most frequent.</summary>
    Zipf,
}

/// <summary>The sequence of key numbers of one client for one request type.</summary>
internal sealed class KeySequence
{
    private readonly KeyPattern _pattern;
    private readonly long _minimum;
    private readonly long _maximum;
    private readonly double _median;
    private readonly double _standardDeviation;
    private readonly ZipfDistribution? _zipf;
    private readonly RandomSource _random;
    private long _next;

    /// <param name="client">The client's index among <paramref name="clients"/>.</param>
    internal KeySequence(KeyPattern pattern, BenchOptions options, int client, int clients, RandomSource random)
    {
        _pattern = pattern;
        _random = random;
        _minimum = options.KeyMinimum;
        _maximum = options.KeyMaximum;
        if (pattern == KeyPattern.Parallel)
        {
            // The last clients have one key less, or none if there are fewer keys than clients.
            Int128 range = (Int128)_maximum - _minimum + 1;
            _minimum = options.KeyMinimum + (long)Int128.Min(range - 1, range * client / clients);
            _maximum = Math.Max(_minimum, options.KeyMinimum + (long)(range * (client + 1) / clients) - 1);
        }

        _median = options.KeyMedian ?? ((_minimum / 2.0) + (_maximum / 2.0));
        _standardDeviation = options.KeyStandardDeviation ?? Math.Max(1, (_maximum - _minimum) / 6.0);
        if (pattern == KeyPattern.Zipf) _zipf = new ZipfDistribution(_maximum - _minimum + 1, options.ZipfExponent);
        _next = _minimum;
    }

    internal long Next() => _pattern switch
    {
        KeyPattern.Random => _minimum + _random.Below(_maximum - _minimum + 1),
        KeyPattern.Gaussian => NextGaussian(),
        KeyPattern.Zipf => _minimum + _zipf!.Next(_random) - 1,
        _ => NextInOrder(),
    };

    private long NextInOrder()
    {
        long key = _next;
        _next = key == _maximum ? _minimum : key + 1;
        return key;
    }

    private long NextGaussian()
    {
        // Samples outside the range are rejected. With a median inside the range (which the options require) this terminates: at
        // least one sample in some hundred is inside, unless the deviation is far larger than the range.
        const int drawsMax = 1000;
        for (int i = 0; i < drawsMax; i++)
        {
            double normal = Math.Sqrt(-2 * Math.Log(_random.Fraction())) * Math.Cos(2 * Math.PI * _random.Fraction());
            double key = Math.Round(_median + (normal * _standardDeviation));
            if (key >= _minimum && key <= _maximum) return (long)key;
        }

        return _minimum + _random.Below(_maximum - _minimum + 1);
    }
}
