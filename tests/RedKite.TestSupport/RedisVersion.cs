namespace RedKite.TestSupport;

/// <summary>The version of Redis that RedKite is compared with, reply by reply.</summary>
public static class RedisVersion
{
    /// <summary>The version of the second oracle, which has what the first one lacks.</summary>
    public static readonly Version Second = new(8, 6, 3);

    private static readonly Version Compared = new(8, 0, 2);

    /// <summary>Whether something came with a version above it, so that the oracle does not have it. A name may stand before the version.</summary>
    public static bool IsNewer(string since, Version? than = null) => Version.TryParse(since.Split(' ')[^1], out Version? version) && version > (than ?? Compared);
}
