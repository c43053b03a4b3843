using System.Diagnostics;
using System.Globalization;

namespace RedKite.Fuzz.Tests;

/// <summary>
/// Runs rounds of one fuzz test for a given time. Every round has its own seed, which a failure reports; with
/// REDKITE_SEED the first round has that seed. REDKITE_FUZZ_SECONDS is the time per test.
/// </summary>
internal static class FuzzRun
{
    // Four tests: about a minute together.
    private const int DefaultSeconds = 20;

    internal static async Task RunForAsync(Func<int, Task> round)
    {
        TimeSpan limit = TimeSpan.FromSeconds(Number("REDKITE_FUZZ_SECONDS") ?? DefaultSeconds);
        int seed = Number("REDKITE_SEED") ?? Random.Shared.Next();
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
        while (clock.Elapsed < limit);
    }

    private static int? Number(string variable) =>
        int.TryParse(Environment.GetEnvironmentVariable(variable), CultureInfo.InvariantCulture, out int number) ? number : null;
}

/// <summary>A failed round, with the seed that reproduces it.</summary>
public sealed class FuzzFailureException(string message, Exception? failure = null) : Exception(message, failure);
