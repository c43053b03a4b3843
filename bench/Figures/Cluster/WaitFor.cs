namespace RedKite.Figures.Cluster;

/// <summary>Waits of bounded length, so that each part ends whatever a server does.</summary>
internal static class WaitFor
{
    /// <exception cref="CannotMeasureException">It did not come true in time.</exception>
    internal static void Until(Func<bool> holds, string what, int msMax, int pollMs = 5)
    {
        long endMs = Environment.TickCount64 + msMax;
        while (!holds())
        {
            if (Environment.TickCount64 > endMs) throw new CannotMeasureException($"timed out waiting for {what}");
            Thread.Sleep(pollMs);
        }
    }
}
