namespace RedKite.Bench;

/// <summary>
/// Reproducible random numbers in a nanosecond each: SplitMix64, for which every seed is good. The runtime's seeded
/// generator is several times slower.
/// </summary>
internal sealed class RandomSource(ulong seed)
{
    private ulong _state = seed;

    internal ulong Next()
    {
        _state += 0x9E3779B97F4A7C15;
        ulong mixed = (_state ^ (_state >> 30)) * 0xBF58476D1CE4E5B9;
        mixed = (mixed ^ (mixed >> 27)) * 0x94D049BB133111EB;
        return mixed ^ (mixed >> 31);
    }

    /// <summary>Uniform from 0 to below a bound.</summary>
    internal long Below(long bound) => (long)Math.BigMul(Next(), (ulong)bound, out _);

    /// <summary>Uniform above 0 and up to 1.</summary>
    internal double Fraction() => ((Next() >> 11) + 1) * (1.0 / (1UL << 53));
}
