using RedKite.Figures;

namespace RedKite.Compare;

/// <summary>The measurements of one benchmark in one build.</summary>
/// <param name="Launches">
/// Nanoseconds per operation, by launch in order: the accidents of a launch (addresses, the compiler's timing) affect all
/// of its measurements.
/// </param>
/// <param name="BytesPerOperation">Managed bytes allocated per operation; null if not measured.</param>
internal sealed record Measurements(IReadOnlyList<double[]> Launches, long? BytesPerOperation)
{
    /// <summary>One value per launch, in order.</summary>
    internal double[] LaunchMedians { get; } = [.. Launches.Select(Median.Of)];

    /// <summary>Appends a later launch of the same benchmark.</summary>
    internal Measurements FollowedBy(Measurements later) => new(
        [.. Launches, .. later.Launches],
        // The minimum: other allocations of the process only add.
        BytesPerOperation is { } bytes && later.BytesPerOperation is { } laterBytes ? Math.Min(bytes, laterBytes) : null);
}
