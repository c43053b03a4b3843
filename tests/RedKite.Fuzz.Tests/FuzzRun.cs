using System.Diagnostics;
using System.Globalization;
using RedKite.TestSupport;

namespace RedKite.Fuzz.Tests;

/// <summary>
/// Runs rounds of one fuzz test: a fixed number in the gate, for a given time in a long run. Every round has its own seed, which a failure
/// reports; with REDKITE_SEED the first round has that seed. REDKITE_FUZZ_SECONDS is the time per test.
/// </summary>
internal static class FuzzRun
{
    private const int LongSeconds = 20;

    private static readonly int? Seconds =
        int.TryParse(Environment.GetEnvironmentVariable("REDKITE_FUZZ_SECONDS"), CultureInfo.InvariantCulture, out int number) ? number : TestScale.IsLong ? LongSeconds : null;

    internal static async Task RunAsync(int gateRounds, Func<int, Task> round)
    {
        int seed = TestScale.GivenSeed ?? Random.Shared.Next();
        int rounds = 0;
        var clock = Stopwatch.StartNew();
        do
        {
            try
            {
                await round(seed);
            }
            catch (Exception failure)
            {
                throw new FuzzFailureException($"REDKITE_SEED={seed}: {failure.Message}", failure);
            }

            seed = unchecked((seed * 31) + 17) & int.MaxValue;
        }
        while (Seconds is { } seconds ? clock.Elapsed < TimeSpan.FromSeconds(seconds) : ++rounds < gateRounds);
    }
}

/// <summary>A failed round, with the seed that reproduces it.</summary>
public sealed class FuzzFailureException(string message, Exception? failure = null) : Exception(message, failure);
