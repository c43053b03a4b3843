namespace RedKite.Net;

/// <summary>
/// Until when replies may leave: those of commands that were executed by a right which passes to another process behind it. It may be extended until it has been ended, and once ended it stays so:
/// what was executed before does not leave by a right that was given anew. From any thread.
/// </summary>
internal sealed class OutputDeadline(TimeProvider time, Action? missed = null)
{
    private long _timestamp; // 0: it has ended

    /// <summary>Whether nothing leaves by it now. Reads the clock.</summary>
    internal bool HasPassed => time.GetTimestamp() >= Volatile.Read(ref _timestamp);

    /// <summary>When it passes; 0: it has ended.</summary>
    internal long Timestamp => Volatile.Read(ref _timestamp);

    /// <summary>That of the right which is given anew when this one has ended; null: none may be.</summary>
    internal OutputDeadline? Next { get; private set; }

    /// <summary>Begins it; only before others know it.</summary>
    internal OutputDeadline Until(long timestamp)
    {
        _timestamp = timestamp;
        return this;
    }

    /// <summary>Names the next one; before this one is extended for the first time.</summary>
    internal OutputDeadline Before(OutputDeadline next)
    {
        Next = next;
        return this;
    }

    /// <summary>Sets it to another time, unless it has ended.</summary>
    internal bool TryExtend(long timestamp)
    {
        for (long now = Timestamp; now != 0;)
        {
            long seen = Interlocked.CompareExchange(ref _timestamp, timestamp, now);
            if (seen == now) return true;
            now = seen;
        }

        return false;
    }

    /// <summary>Ends it if it has passed. Reads the clock.</summary>
    /// <returns>Whether it has ended.</returns>
    internal bool EndIfPassed()
    {
        while (true)
        {
            long now = Timestamp;
            if (time.GetTimestamp() < now) return false;
            if (now == 0 || Interlocked.CompareExchange(ref _timestamp, 0, now) == now) return true;
        }
    }

    internal void End() => Interlocked.Exchange(ref _timestamp, 0);

    /// <summary>Notes that replies did not leave in time.</summary>
    internal void NoteMissed() => missed?.Invoke();
}
