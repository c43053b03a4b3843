namespace RedKite.Compare.Tests;

/// <summary>Generates reproducible measurements whose true cost and noise are known.</summary>
internal sealed class NoisyClock(int seed)
{
#pragma warning disable CA5394 // Samples, not secrets.
    private readonly Random _random = new(seed);

    /// <param name="noise">The standard deviation of one measurement, as a share of the cost.</param>
    /// <param name="launchNoise">The same for the common deviation of a launch's measurements.</param>
    /// <param name="disturbed">The share of launches that take a quarter longer.</param>
    internal Measurements Measure(
        double ns, double noise, int launches = 10, int perLaunch = 10, double launchNoise = 0, long? bytes = 0, double disturbed = 0)
    {
        double[][] measured = new double[launches][];
        for (int launch = 0; launch < launches; launch++)
        {
            double launchNs = ns * (1 + launchNoise * NextNormal()) * (_random.NextDouble() < disturbed ? 1.25 : 1);
            measured[launch] = [.. Enumerable.Range(0, perLaunch).Select(_ => launchNs * (1 + noise * NextNormal()))];
        }

        return new Measurements(measured, bytes);
    }

    // Box-Muller: two uniform numbers give a normal one.
    private double NextNormal() => Math.Sqrt(-2 * Math.Log(1 - _random.NextDouble())) * Math.Cos(2 * Math.PI * _random.NextDouble());
}
