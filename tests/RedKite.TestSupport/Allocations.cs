namespace RedKite.TestSupport;

/// <summary>Counts what the current thread allocates on the managed heap.</summary>
public static class Allocations
{
    private const int RoundsMax = 10;

    /// <summary>
    /// The least bytes of several rounds. What the action allocates it allocates in each of them; a collection, which another test may
    /// cause, counts the rest of the thread's allocation buffer in one.
    /// </summary>
    public static long LeastBytes(Action action)
    {
        long least = long.MaxValue;
        for (int round = 0; round < RoundsMax && least > 0; round++)
        {
            long before = GC.GetAllocatedBytesForCurrentThread();
            action();
            least = Math.Min(least, GC.GetAllocatedBytesForCurrentThread() - before);
        }

        return least;
    }
}
