namespace RedKite.Figures;

/// <summary>
/// The CPU that another process has used up to now, of all its threads, exact while they run: what it shows of a request is the
/// server's own work, whatever else had the core meanwhile.
/// </summary>
internal sealed class ProcessCpuClock(int processId)
{
    // What clock_getcpuclockid makes of a process id on Linux: the id's complement, and 2 for the scheduler's own count.
    private readonly int _clock = (~processId << 3) | 2;

    internal long ReadNs() => ThreadCpuClock.ReadNs(_clock);
}
