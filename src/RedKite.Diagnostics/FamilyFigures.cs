using RedKite.Server.Metrics;
using RedKite.Server.Model;

namespace RedKite.Server.Diagnostics;

/// <summary>The work of one family's commands.</summary>
/// <param name="Errors">Calls that failed or were refused.</param>
/// <param name="Milliseconds">The time that calls executed.</param>
/// <param name="Latency">Quantiles of that time since the last observation.</param>
internal readonly record struct FamilyFigures(long Calls, long Errors, double Milliseconds, LatencyFigures Latency);

/// <summary>Reads the figures of each of <see cref="CommandFamily.Groups"/>. On one thread.</summary>
internal sealed class FamilyReader(IReadOnlyList<Command> commands)
{
    private readonly Family[] _families = FamiliesOf(commands, new LatencyInterval.Scratch());

    internal FamilyFigures[] Read(ExecutorMetrics[] executors) => [.. _families.Select(family => family.Read(executors))];

    private static Family[] FamiliesOf(IReadOnlyList<Command> commands, LatencyInterval.Scratch scratch) =>
        [.. CommandFamily.Groups.Select(group => new Family([.. commands.Where(command => command.Group == group).Select(command => command.Index)], scratch))];

    private sealed class Family(int[] commands, LatencyInterval.Scratch scratch)
    {
        private readonly LatencyInterval _latency = new(scratch);
        private long _calls;

        internal FamilyFigures Read(ExecutorMetrics[] executors)
        {
            long calls = 0, errors = 0, ns = 0;
            foreach (CommandMetrics metrics in Metrics(executors))
            {
                calls += metrics.Calls;
                errors += metrics.Failed + metrics.Rejected;
                ns += metrics.TotalNs;
            }

            // Most families are idle: their histograms are not added up.
            bool isIdle = calls == _calls;
            _calls = calls;
            LatencyFigures latency = isIdle ? LatencyFigures.None : _latency.Read(sum =>
            {
                foreach (CommandMetrics metrics in Metrics(executors)) metrics.Latency.AddTo(sum);
            });
            return new FamilyFigures(calls, errors, ns / 1e6, latency);
        }

        private IEnumerable<CommandMetrics> Metrics(ExecutorMetrics[] executors)
        {
            foreach (ExecutorMetrics executor in executors)
            {
                foreach (int command in commands)
                {
                    if (executor.Peek(command) is { } metrics) yield return metrics;
                }
            }
        }
    }
}
