namespace RedKite.Figures.Types;

/// <summary>How many operations make a round, when an operation may cost a microsecond or a thousand.</summary>
internal static class RoundSize
{
    internal const int Clients = 50;
    internal const int Pipeline = 16;

    /// <summary>A batch of every client: a round is a whole number of these.</summary>
    internal const int Smallest = Clients * Pipeline;

    internal const int Largest = 2_000_000;

    /// <summary>Operations that take so much CPU at this cost.</summary>
    internal static int For(double cpuSeconds, double nsPerOperation)
    {
        double operations = Math.Clamp(cpuSeconds * 1e9 / Math.Max(nsPerOperation, 1), Smallest, Largest);
        return (int)Math.Ceiling(operations / Smallest) * Smallest;
    }
}
