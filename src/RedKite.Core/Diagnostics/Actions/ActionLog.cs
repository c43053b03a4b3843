using RedKite.Server.Logging;
using RedKite.Server.Metrics;
using RedKite.Server.Model;

namespace RedKite.Server.Diagnostics.Actions;

/// <summary>An action that was taken.</summary>
/// <param name="Detail">Numbers and names of commands; no key, no value, no address.</param>
/// <param name="Unnoted">How often it was taken since the last one that was noted.</param>
/// <param name="ClientId">The client that it concerned; 0: none, or many.</param>
internal sealed record TakenAction(ServerAction Action, long UnixMs, string Detail, long Unnoted, long ClientId, string Address, string Name);

/// <summary>
/// Counts the actions that the server takes by itself, and notes them in the log, on the timeline and for the report: each action at most once a
/// second, with how often it was taken since. From any thread.
/// </summary>
internal sealed class ActionLog(Timeline timeline, ServerLog log, ServerClock clock)
{
    internal const int TakenMax = 200;

    private const int NotedEveryMs = 1000;

    private readonly Lock _lock = new();
    private readonly Queue<TakenAction> _taken = new();
    private readonly long[] _counts = new long[ActionTable.All.Count];
    private readonly long[] _unnoted = new long[ActionTable.All.Count];
    private readonly long[] _notedMs = new long[ActionTable.All.Count];

    /// <summary>The actions that are noted, the newest first; a copy.</summary>
    internal TakenAction[] Taken
    {
        get
        {
            lock (_lock) return [.. _taken.Reverse()];
        }
    }

    /// <summary>How often an action was taken since the start.</summary>
    internal long CountOf(ServerAction action) => Volatile.Read(ref _counts[action.Index]);

    /// <summary>Counts an action that was taken, and notes it.</summary>
    /// <param name="detail">What the log says: numbers and names of commands; no key, no value, no address.</param>
    /// <param name="client">The client that it concerned; null: none, or many.</param>
    internal void Note(ServerAction action, string detail, Session? client = null)
    {
        TakenAction taken;
        lock (_lock)
        {
            long nowMs = clock.NowMs;
            if (nowMs - _notedMs[action.Index] is >= 0 and < NotedEveryMs)
            {
                _unnoted[action.Index]++;
                Interlocked.Increment(ref _counts[action.Index]);
                return;
            }

            taken = new TakenAction(action, nowMs, detail, _unnoted[action.Index], client?.Id ?? 0, client?.Address ?? "", client?.Name ?? "");
            _unnoted[action.Index] = 0;
            _notedMs[action.Index] = nowMs;
            _taken.Enqueue(taken);
            if (_taken.Count > TakenMax) _taken.Dequeue();
        }

        timeline.Add(new TimelineEvent(taken.UnixMs, TimelineKind.Action, 0, taken.ClientId, taken.Address, taken.Name, action.Name));

        // Counted last: once the count has risen, the event is on the timeline.
        Interlocked.Increment(ref _counts[action.Index]);
        string who = client is null ? "" : $" (client id={taken.ClientId} addr={taken.Address})";
        string others = taken.Unnoted == 0 ? "" : $", and {QuantityText.Times(taken.Unnoted, "time")} since the last such line";
        string line = $"Action {action.Name}: {detail}{who}{others}. The setting is {action.Setting}.";
        if (action.TouchesClients) log.Warning(LogEvents.ActionTaken, line);
        else log.Notice(LogEvents.ActionTaken, line);
    }
}
