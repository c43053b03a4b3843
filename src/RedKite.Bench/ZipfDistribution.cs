namespace RedKite.Bench;

/// <summary>
/// Ranks from 1 to a count, in which rank k has a probability proportional to k to the power of minus the exponent, in constant
/// time and memory: rejection-inversion by W. Hörmann and G. Derflinger (1996). A table of cumulative
/// probabilities would take eight bytes per key.
/// </summary>
internal sealed class ZipfDistribution
{
    private readonly long _count;
    private readonly double _exponent;
    private readonly double _first;
    private readonly double _last;
    private readonly double _sureWithin;

    internal ZipfDistribution(long count, double exponent)
    {
        _count = count;
        _exponent = exponent;
        _first = Integral(1.5) - 1;
        _last = Integral(count + 0.5);
        _sureWithin = 2 - InverseIntegral(Integral(2.5) - Density(2));
    }

    internal long Next(RandomSource random)
    {
        while (true)
        {
            double at = _last + (random.Fraction() * (_first - _last));
            double x = InverseIntegral(at);
            double rank = Math.Clamp(Math.Floor(x + 0.5), 1, _count);
            if (rank - x <= _sureWithin || at >= Integral(rank + 0.5) - Density(rank)) return (long)rank;
        }
    }

    private double Density(double x) => Math.Pow(x, -_exponent);

    private double Integral(double x)
    {
        double power = 1 - _exponent;
        double log = Math.Log(x);
        return Math.Abs(power) < 1e-9 ? log : (Math.Exp(power * log) - 1) / power;
    }

    private double InverseIntegral(double y)
    {
        double power = 1 - _exponent;
        return Math.Abs(power) < 1e-9 ? Math.Exp(y) : Math.Exp(Math.Log(Math.Max(1 + (y * power), double.Epsilon)) / power);
    }
}
