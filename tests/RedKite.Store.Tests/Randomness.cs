using System.Globalization;

namespace RedKite.Store.Tests;

/// <summary>
/// A test's random numbers. The seed is new for each run and part of a failure's message; REDKITE_SEED reproduces one.
/// </summary>
internal static class Randomness
{
    private static readonly int? GivenSeed =
        int.TryParse(Environment.GetEnvironmentVariable("REDKITE_SEED"), CultureInfo.InvariantCulture, out int seed) ? seed : null;

    internal static void Run(Action<Random> test)
    {
        int seed = GivenSeed ?? Random.Shared.Next();
        try
        {
            test(new Random(seed));
        }
        catch (Exception failure)
        {
            throw new SeededFailureException($"REDKITE_SEED={seed}: {failure.Message}", failure);
        }
    }

    internal static byte[] Bytes(this Random random, int length)
    {
        byte[] bytes = new byte[length];
        random.NextBytes(bytes);
        return bytes;
    }

    internal static T Pick<T>(this Random random, params ReadOnlySpan<T> choices) => choices[random.Next(choices.Length)];
}

/// <summary>A failure with the seed that reproduces it.</summary>
public sealed class SeededFailureException(string message, Exception failure) : Exception(message, failure);
