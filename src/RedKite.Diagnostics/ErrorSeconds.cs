using RedKite.Server.Metrics;

namespace RedKite.Server.Diagnostics;

/// <summary>The errors of each of the last observed seconds by their class, so that a finding about errors names those of its own seconds. On the diagnostics thread.</summary>
internal sealed class ErrorSeconds
{
    private const int SecondsMax = 10;

    private readonly Queue<Dictionary<string, long>> _seconds = new();
    private Dictionary<string, long> _before = [];
    private long _errorsBefore;

    /// <summary>Adds what was replied since the second before.</summary>
    internal void Add(IEnumerable<ExecutorMetrics> executors)
    {
        Dictionary<string, long> second = [];
        long errors = executors.Sum(executor => executor.ErrorReplies);
        if (errors != _errorsBefore)
        {
            Dictionary<string, long> now = [];
            foreach (ExecutorMetrics executor in executors)
            {
                lock (executor.ErrorsByClass)
                {
                    foreach ((string errorClass, long count) in executor.ErrorsByClass) now[errorClass] = now.GetValueOrDefault(errorClass) + count;
                }
            }

            foreach ((string errorClass, long count) in now)
            {
                if (count - _before.GetValueOrDefault(errorClass) is > 0 and var growth) second[errorClass] = growth;
            }

            (_before, _errorsBefore) = (now, errors);
        }

        _seconds.Enqueue(second);
        if (_seconds.Count > SecondsMax) _seconds.Dequeue();
    }

    /// <summary>The errors of the last ten observed seconds, the most frequent first.</summary>
    internal List<(string Class, long Count)> Most() =>
        [.. _seconds.SelectMany(second => second).GroupBy(error => error.Key).Select(errors => (errors.Key, errors.Sum(error => error.Value))).OrderByDescending(error => error.Item2)];
}
