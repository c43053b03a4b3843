namespace RedKite.Compare.Tests;

/// <summary>Makes measurements whose true cost and noise are known, the same ones for the same seed.</summary>
internal sealed class NoisyClock(int seed)
{
#pragma warning disable CA5394 // Samples, not secrets.
    private readonly Random _random = new(seed);

    /// <param name="noise">The standard deviation of one measurement, as a share of the cost.</param>
    /// <param name="launchNoise">And of what all measurements of a launch have in common.</param>
    internal Measurements Measure(double ns, double noise, int launches = 3, int perLaunch = 10, double launchNoise = 0, long? bytes = 0)
    {
        double[][] measured = new double[launches][];
        for (int launch = 0; launch < launches; launch++)
        {
            double launchNs = ns * (1 + launchNoise * NextNormal());
            measured[launch] = [.. Enumerable.Range(0, perLaunch).Select(_ => launchNs * (1 + noise * NextNormal()))];
        }

        return new Measurements(measured, bytes);
    }

    // Box and Muller's way from two even numbers to a normal one.
    private double NextNormal() => Math.Sqrt(-2 * Math.Log(1 - _random.NextDouble())) * Math.Cos(2 * Math.PI * _random.NextDouble());
}
