namespace RedKite.Server.Metrics;

/// <summary>
/// Chooses what to sample: one of `stride` on average, at random distances, so that sampling does not follow a pattern, such as
/// clients that a loop serves in turn. On one thread.
/// </summary>
internal struct SampleGap(uint seed)
{
    private uint _random = seed;

    /// <summary>The distance to the next sample: from 1 to twice the stride, the stride on average.</summary>
    internal int Next(int stride)
    {
        _random ^= _random << 13;
        _random ^= _random >> 17;
        _random ^= _random << 5;
        return 1 + (int)(_random % (uint)((2 * stride) - 1));
    }
}
