namespace RedKite.Traces;

/// <summary>One thread's activity during a profile.</summary>
/// <param name="Thread">Its name and id.</param>
/// <param name="Samples">How often it was sampled.</param>
/// <param name="Running">Of these, how often it ran managed code.</param>
/// <param name="InCall">How often it was in a call of the system or other native code that works.</param>
/// <param name="CommonStack">The stack that was seen most often, innermost first.</param>
/// <param name="CommonSamples">How often.</param>
internal sealed record ThreadSummary(string Thread, int Samples, int Running, int InCall, IReadOnlyList<string> CommonStack, int CommonSamples)
{
    internal int Waiting => Samples - Running - InCall;

    /// <summary>One summary a thread, those that worked most first.</summary>
    internal static IReadOnlyList<ThreadSummary> Of(IEnumerable<StackSample> stacks) =>
        [.. stacks.GroupBy(stack => stack.Thread, StringComparer.Ordinal).Select(Summary).OrderBy(thread => thread.Waiting - thread.Samples).ThenBy(thread => thread.Thread, StringComparer.Ordinal)];

    private static ThreadSummary Summary(IGrouping<string, StackSample> thread)
    {
        StackSample[] samples = [.. thread];
        IGrouping<string, StackSample> common = samples.GroupBy(sample => string.Join('\n', sample.Frames), StringComparer.Ordinal).MaxBy(same => same.Count())!;
        return new ThreadSummary(
            thread.Key,
            samples.Length,
            samples.Count(sample => sample.State == SampledState.Running),
            samples.Count(sample => sample.State == SampledState.InCall),
            [.. common.First().Frames.Reverse()],
            common.Count());
    }
}
