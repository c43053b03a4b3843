using System.Globalization;

namespace RedKite.TestSupport;

/// <summary>
/// How much a test does: little in the gate, much with <c>./dev test --long</c>, which sets REDKITE_LONG=1. REDKITE_SEED fixes random numbers;
/// the gate always sets it, so that a failure is caused by a change and not by chance.
/// </summary>
public static class TestScale
{
    public static bool IsLong { get; } = Environment.GetEnvironmentVariable("REDKITE_LONG") == "1";

    /// <summary>The seed in REDKITE_SEED; null: every run has its own.</summary>
    public static int? GivenSeed { get; } =
        int.TryParse(Environment.GetEnvironmentVariable("REDKITE_SEED"), NumberStyles.AllowLeadingSign, CultureInfo.InvariantCulture, out int seed) ? seed : null;

    /// <summary>The number of steps, rounds or elements for this run.</summary>
    public static int Of(int gate, int full) => IsLong ? full : gate;
}
