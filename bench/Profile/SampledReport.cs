using System.Globalization;
using System.Text;
using RedKite.Figures;
using RedKite.Traces;

namespace RedKite.Profile;

/// <summary>
/// The text report of a sampled profile. The sampler takes every thread's stack whether it runs or not, so the report first
/// lists each thread's activity, with the kernel's CPU time, and sums up only running samples.
/// </summary>
internal static class SampledReport
{
    internal static string Write(ProfileOptions options, SampledProfile profile, IReadOnlyDictionary<string, double> onCpuSeconds, double perSecond)
    {
        ILookup<bool, StackSample> byWaiting = profile.Stacks.ToLookup(stack => stack.State == SampledState.Waiting);
        var text = new StringBuilder();
        text.AppendLine(CultureInfo.InvariantCulture, $"{options.Scenario.Name} ({options.Scenario.Purpose}), {options.Keys:N0} keys, {options.Loops} loop(s), {perSecond:N0} operations/s meanwhile");
        text.AppendLine(Machine.Description);
        text.AppendLine(CultureInfo.InvariantCulture, $"The runtime's sampler, {options.Seconds} s; {profile.MethodsCompiled} methods were compiled meanwhile.");
        text.AppendLine("It samples every thread, running or not, and where a method can be stopped: neighbours may be charged for each other.");
        text.AppendLine("'in calls' is native code or the kernel at work (send, recv), 'waiting' a call that waits (epoll_wait, locks, timers), both");
        text.AppendLine("judged by the innermost managed method; 'on a core' is the kernel's count. The tables of methods leave waiting out.");
        text.AppendLine();
        text.Append(Threads(profile.Stacks, options.Seconds, onCpuSeconds).ToText());
        text.AppendLine();
        text.Append(MethodTable.Write("running and in calls", HotMethods.Of(byWaiting[false].Select(SeparateCall))));
        text.AppendLine();
        text.Append(Waits(byWaiting[true]).ToText());
        return text.ToString();
    }

    // A method's time in managed code and in native calls are listed separately.
    private static StackSample SeparateCall(StackSample stack) =>
        stack.State == SampledState.InCall ? stack with { Frames = [.. stack.Frames, $"{stack.Frames[^1]} [in calls]"] } : stack;

    private static Table Threads(IReadOnlyList<StackSample> stacks, int seconds, IReadOnlyDictionary<string, double> onCpuSeconds)
    {
        var table = new Table(
            "threads", new Column("thread"), new Column("samples"), new Column("managed %", "F1"), new Column("in calls %", "F1"),
            new Column("waiting %", "F1"), new Column("on a core %", "F1"));
        foreach (IGrouping<string, StackSample> thread in stacks.GroupBy(stack => stack.Thread).OrderByDescending(thread => onCpuSeconds.GetValueOrDefault(thread.Key)))
        {
            int samples = thread.Count();
            double Share(SampledState state) => 100.0 * thread.Count(stack => stack.State == state) / samples;
            double? onCore = onCpuSeconds.TryGetValue(thread.Key, out double used) ? 100 * used / seconds : null;
            table.Add(thread.Key, samples, Share(SampledState.Running), Share(SampledState.InCall), Share(SampledState.Waiting), onCore);
        }

        return table;
    }

    private static Table Waits(IEnumerable<StackSample> waiting)
    {
        var table = new Table("waiting", new Column("samples"), new Column("method"), new Column("thread"));
        foreach (IGrouping<(string, string), StackSample> wait in waiting.GroupBy(stack => (stack.Frames[^1], stack.Thread)).OrderByDescending(wait => wait.Count()))
        {
            table.Add(wait.Count(), wait.Key.Item1, wait.Key.Item2);
        }

        return table;
    }
}
