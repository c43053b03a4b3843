using System.Diagnostics;

namespace RedKite.Figures;

/// <summary>A server's work between its last reply and the time when it was idle.</summary>
/// <param name="CpuSeconds">CPU of all its threads.</param>
/// <param name="BecameIdle">False if it was still busy at the end of the time.</param>
internal readonly record struct LaterWork(double CpuSeconds, double Seconds, bool BecameIdle);

/// <summary>
/// Waits until a server is idle. Work that it postpones (freeing, expiry, compaction, compilation, huge pages) is then part of
/// the load that caused it, and does not disturb what is measured next.
/// </summary>
internal static class IdleWait
{
    /// <summary>The longest wait after a round; a server that is busy for longer is reported.</summary>
    internal static readonly TimeSpan AfterRound = TimeSpan.FromSeconds(2);

    // An idle server still wakes ten times a second for its timers, which takes 0.1 to 0.5 % of a core.
    private const double IdleShareMax = 0.02;
    private const int StepMs = 50;

    /// <param name="longest">The end of the wait if it is never idle.</param>
    /// <param name="quiet">The server is idle when it has used less than the share of a core over this long; at least one step.</param>
    internal static LaterWork Run(ServerUnderTest server, TimeSpan longest, TimeSpan quiet = default) =>
        Run(() => server.Cpu.TotalSeconds, longest, quiet);

    internal static LaterWork Run(Func<double> readCpuSeconds, TimeSpan longest, TimeSpan quiet = default)
    {
        int steps = Math.Max(1, (int)(quiet.TotalMilliseconds / StepMs));
        var recent = new Queue<(TimeSpan Time, double Cpu)>();
        var waiting = Stopwatch.StartNew();
        double before = readCpuSeconds();
        recent.Enqueue((TimeSpan.Zero, before));
        while (true)
        {
            Thread.Sleep(StepMs);
            double cpu = readCpuSeconds();
            TimeSpan now = waiting.Elapsed;
            (TimeSpan since, double cpuThen) = recent.Count == steps ? recent.Dequeue() : recent.Peek();
            recent.Enqueue((now, cpu));
            bool hasWatched = now - since >= quiet;
            if (hasWatched && cpu - cpuThen <= IdleShareMax * (now - since).TotalSeconds) return new LaterWork(cpu - before, since.TotalSeconds, BecameIdle: true);
            if (now >= longest) return new LaterWork(cpu - before, now.TotalSeconds, BecameIdle: false);
        }
    }
}
