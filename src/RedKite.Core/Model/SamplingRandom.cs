namespace RedKite.Server.Model;

/// <summary>The random numbers of commands that sample: the runtime's, unless a test seeds its thread's.</summary>
internal static class SamplingRandom
{
    [ThreadStatic]
    private static Random? _seeded;

    /// <summary>The source for the current thread.</summary>
    internal static Random Current => _seeded ?? Random.Shared;

    /// <summary>Makes the samples of commands that this thread executes in process reproducible.</summary>
    /// <param name="seed">The seed; null restores the runtime's source.</param>
    internal static void Seed(int? seed) => _seeded = seed is { } value ? new Random(value) : null;
}
