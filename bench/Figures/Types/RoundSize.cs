namespace RedKite.Figures.Types;

/// <summary>The number of operations in a round, whether an operation takes a microsecond or a millisecond.</summary>
internal static class RoundSize
{
    internal const int Clients = 50;
    internal const int Pipeline = 16;

    /// <summary>One batch from every client; a round is a multiple of it.</summary>
    internal const int Smallest = Clients * Pipeline;

    internal const int Largest = 2_000_000;

    /// <summary>The operations that take this CPU time at this cost each.</summary>
    internal static int For(double cpuSeconds, double nsPerOperation)
    {
        double operations = Math.Clamp(cpuSeconds * 1e9 / Math.Max(nsPerOperation, 1), Smallest, Largest);
        return (int)Math.Ceiling(operations / Smallest) * Smallest;
    }
}
