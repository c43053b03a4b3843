using RedKite.Bench;

namespace RedKite.Ladder;

/// <summary>
/// The load: <c>redkite bench</c>'s run with one difference. redkite bench waits half a minute for a hanging server and then
/// fails; here a server that hangs or is too slow is a result, and its replies until then are counted.
/// </summary>
internal static class LoadRun
{
    // All connections silent for this long. A server that waits for the thread pool to grow may be silent for seconds.
    private static readonly TimeSpan SilenceMax = TimeSpan.FromSeconds(6);

    /// <exception cref="BenchException">The server cannot be reached, or the connection is lost.</exception>
    internal static LoadFigures Execute(LoadOptions options)
    {
        using var run = new BenchRun(BenchArguments.Parse(options.ToBenchArguments()));
        TimeSpan limit = TimeSpan.FromSeconds(options.SecondsMax);
        long repliesBefore = 0;
        TimeSpan lastReplies = TimeSpan.Zero;
        try
        {
            return LoadFigures.Of(run.Execute(EndIfUnfinished));
        }
        catch (UnfinishedException unfinished)
        {
            return unfinished.Figures;
        }

        void EndIfUnfinished(TimeSpan elapsed)
        {
            long replies = run.Replies;
            if (replies > repliesBefore) (repliesBefore, lastReplies) = (replies, elapsed);
            bool isSilent = elapsed - lastReplies >= SilenceMax;
            if (elapsed >= limit || isSilent) throw new UnfinishedException(LoadFigures.OfUnfinished(isSilent ? LoadOutcome.Hung : LoadOutcome.TooSlow, replies, elapsed));
        }
    }

    private sealed class UnfinishedException(LoadFigures figures) : Exception
    {
        internal LoadFigures Figures { get; } = figures;
    }
}
