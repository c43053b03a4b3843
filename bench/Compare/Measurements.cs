namespace RedKite.Compare;

/// <summary>What one benchmark cost in one build.</summary>
/// <param name="Launches">
/// Nanoseconds for each operation, launch by launch in the order in which they were made: what a launch happened to get
/// (addresses, the compiler's timing) is in all of its measurements.
/// </param>
/// <param name="BytesPerOperation">Managed bytes allocated for each operation; null where that was not measured.</param>
internal sealed record Measurements(IReadOnlyList<double[]> Launches, long? BytesPerOperation)
{
    internal double[] Pooled { get; } = [.. Launches.SelectMany(launch => launch)];

    /// <summary>Of the same benchmark in two launches, the second one later.</summary>
    internal Measurements FollowedBy(Measurements later) => new(
        [.. Launches, .. later.Launches],
        // The least: whatever else the process allocates meanwhile only adds.
        BytesPerOperation is { } bytes && later.BytesPerOperation is { } laterBytes ? Math.Min(bytes, laterBytes) : null);
}
