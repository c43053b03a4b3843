using RedKite.Store.Memory;
using RedKite.Store.Tests.Keyspace;

namespace RedKite.Store.Tests.Memory;

/// <summary>Faults of the task, each of which the checker must find.</summary>
public enum PoolTaskFault
{
    None,

    /// <summary>The end does not look whether work runs.</summary>
    EndsWithoutWaiting,

    /// <summary>The end waits first, and then says in a second step that it has ended.</summary>
    WaitsBeforeEnd,

    /// <summary>Queued work that was cancelled runs nevertheless.</summary>
    RunsCancelled,

    /// <summary>The end waits for work that is only queued, though no thread of the pool may be free.</summary>
    WaitsForQueued,
}

/// <summary>The atomic operations of <see cref="PoolTask"/>: threads that begin work, the pool, and the thread that ends the task and unmaps the memory.</summary>
internal sealed class PoolTaskModel : ThreadModel
{
    private enum State
    {
        Idle,
        Queued,
        Running,
        Ended,
    }

    private readonly PoolTaskFault _fault;
    private readonly bool _poolIsBusy; // until the task has ended
    private State _state;
    private int _queued;
    private int _running;
    private bool _hasEnded;
    private bool _isUnmapped;
    private int _beginning;

    internal PoolTaskModel(Schedule schedule, PoolTaskFault fault, int beginners, int turns, bool poolIsBusy)
        : base(schedule)
    {
        _fault = fault;
        _poolIsBusy = poolIsBusy;
        _beginning = beginners;
        for (int i = 0; i < beginners; i++) Threads.Add(Begin(turns).GetEnumerator());
        Threads.Add(Pool().GetEnumerator());
        Threads.Add(End().GetEnumerator());
    }

    internal override void CheckEnd() => Check(_state == State.Ended && _queued == 0, "Work is left.");

    private IEnumerable<Step> Begin(int turns)
    {
        for (int i = 0; i < turns; i++)
        {
            yield return Now;
            if (_state != State.Idle) continue;
            _state = State.Queued;
            yield return Now;
            _queued++;
        }

        _beginning--;
    }

    private IEnumerable<Step> Pool()
    {
        while (true)
        {
            yield return When(() => (_queued > 0 && (!_poolIsBusy || _hasEnded)) || (_queued == 0 && _beginning == 0 && _hasEnded));
            if (_queued == 0) yield break;
            _queued--;
            yield return Now;
            if (_state != State.Queued && _fault != PoolTaskFault.RunsCancelled) continue;
            _state = State.Running;
            Check(++_running == 1, "Work runs twice at a time.");
            Check(!_isUnmapped, "Work begins on unmapped memory.");
            yield return Now;
            Check(!_isUnmapped, "Work uses unmapped memory.");
            _running--;
            if (_state == State.Running) _state = State.Idle;
        }
    }

    private IEnumerable<Step> End()
    {
        yield return Now;
        while (_fault != PoolTaskFault.EndsWithoutWaiting)
        {
            yield return When(() => _state is not State.Running && (_fault != PoolTaskFault.WaitsForQueued || _state != State.Queued));
            State seen = _state;
            yield return Now;
            if (_fault == PoolTaskFault.WaitsBeforeEnd || _state == seen) break; // the compare-and-swap
        }

        _state = State.Ended;
        _hasEnded = true;
        yield return Now;
        _isUnmapped = true;
    }
}
