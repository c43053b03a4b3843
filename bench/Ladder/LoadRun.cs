using RedKite.Bench;

namespace RedKite.Ladder;

/// <summary>
/// The load: <c>redkite bench</c>'s run with one difference. redkite bench waits half a minute for a hanging server and then
/// fails; here a hang is a result, and the replies before it are counted.
/// </summary>
internal static class LoadRun
{
    // All connections silent for this long: three of the run's one-second steps.
    private static readonly TimeSpan SilenceMax = TimeSpan.FromSeconds(3);

    /// <exception cref="BenchException">The server cannot be reached, or the connection is lost.</exception>
    internal static LoadFigures Execute(LoadOptions options)
    {
        using var run = new BenchRun(BenchArguments.Parse(options.ToBenchArguments()));
        TimeSpan limit = TimeSpan.FromSeconds(options.SecondsMax);
        long repliesBefore = 0;
        TimeSpan lastReplies = TimeSpan.Zero;
        try
        {
            return LoadFigures.Of(run.Execute(EndIfItHangs));
        }
        catch (ServerHangsException hangs)
        {
            return hangs.Figures;
        }

        void EndIfItHangs(TimeSpan elapsed)
        {
            long replies = run.Replies;
            if (replies > repliesBefore) (repliesBefore, lastReplies) = (replies, elapsed);
            if (elapsed >= limit || elapsed - lastReplies >= SilenceMax) throw new ServerHangsException(LoadFigures.OfHung(replies, elapsed));
        }
    }

    private sealed class ServerHangsException(LoadFigures figures) : Exception
    {
        internal LoadFigures Figures { get; } = figures;
    }
}
