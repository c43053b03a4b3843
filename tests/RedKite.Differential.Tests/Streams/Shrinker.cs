namespace RedKite.Differential.Tests.Streams;

/// <summary>
/// Shrinks a failing stream by delta debugging: removes halves, then smaller and smaller parts, and keeps what still fails,
/// until no single step can be removed. Each attempt replays the stream on emptied servers.
/// </summary>
internal static class Shrinker
{
    // Several streams may fail in one run. A stream of some hundred steps takes some dozens.
    private const int AttemptsMax = 300;

    /// <summary>Returns the smallest stream found and its difference. Steps after the failing one are dropped first.</summary>
    /// <remarks>A candidate fails if the same command differs, because removing commands can cause other differences.</remarks>
    public static (List<Step> Steps, Difference Difference) Shrink(IReadOnlyList<Step> steps, Difference difference, Func<IReadOnlyList<Step>, Difference?> run)
    {
        bool atEnd = difference.StepIndex == steps.Count;
        Difference? Fails(List<Step> candidate) =>
            run(candidate) is { } found && atEnd == (found.StepIndex == candidate.Count)
            && found.Command[0].AsSpan().SequenceEqual(difference.Command[0]) ? found : null;

        int attempts = 0;
        List<Step> smallest = [.. steps.Take(difference.StepIndex + 1)];
        List<Step> unpipelined = [.. smallest.Select(step => step with { EndsBatch = true })];
        if (Fails(unpipelined) is { } alsoFails) (smallest, difference) = (unpipelined, alsoFails);

        for (int part = Math.Max(1, smallest.Count / 2); ;)
        {
            bool removed = false;
            // From the end: the relevant steps are mostly shortly before the failure.
            for (int start = smallest.Count - part; start > -part; start -= part)
            {
                if (++attempts > AttemptsMax) return (smallest, difference);
                int from = Math.Max(0, start);
                int count = Math.Min(part, start + part - from);
                List<Step> candidate = [.. smallest.Take(from), .. smallest.Skip(from + count)];
                if (Fails(candidate) is not { } fails) continue;
                (smallest, difference, removed) = ([.. candidate.Take(fails.StepIndex + 1)], fails, true);
            }

            if (!removed && part == 1) return (smallest, difference);
            part = Math.Max(1, Math.Min(part / 2, smallest.Count / 2));
        }
    }
}
