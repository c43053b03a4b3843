using System.Globalization;

namespace RedKite.Bench;

/// <summary>The progress of a run: rewritten each second on a terminal, otherwise printed once at the end.</summary>
internal sealed class ProgressLine(TextWriter output, bool isTerminal, int run)
{
    private long _repliesBefore;
    private TimeSpan _before;

    internal void Show(double done, long replies, TimeSpan elapsed, int threads, bool isLast)
    {
        double seconds = Math.Max((elapsed - _before).TotalSeconds, 1e-9);
        string line = string.Create(
            CultureInfo.InvariantCulture,
            $"[RUN #{run} {done,4:P0}, {elapsed.TotalSeconds,4:F0} secs] {(isLast ? 0 : threads)} threads: {replies,12} ops, {(replies - _repliesBefore) / seconds,9:F0} (avg: {replies / Math.Max(elapsed.TotalSeconds, 1e-9),9:F0}) ops/sec");
        (_repliesBefore, _before) = (replies, elapsed);
        if (isTerminal) output.Write("\r" + line + (isLast ? Environment.NewLine : ""));
        else if (isLast) output.WriteLine(line);
    }
}
