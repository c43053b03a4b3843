namespace RedKite.Scripting;

/// <summary>The generator behind math.random, whose sequence is that of POSIX's lrand48, as in Redis.</summary>
internal sealed class ScriptRandom
{
    private const long Multiplier = 0x5DEECE66D;
    private const long Mask = (1L << 48) - 1;

    private long _state = 0x1234ABCD330E;

    internal void Seed(int seed) => _state = ((long)(uint)seed << 16) | 0x330E;

    /// <summary>A number from 0 up to 1.</summary>
    internal double Next()
    {
        _state = ((_state * Multiplier) + 0xB) & Mask;
        return _state >> 17 is var value && value == int.MaxValue ? 0 : value / (double)int.MaxValue;
    }
}
