using RedKite.Store.Keyspace;

namespace RedKite.Store.Tests.Keyspace;

/// <summary>Faults of a lock, each of which the checker must find.</summary>
public enum StripeLockFault
{
    None,

    /// <summary>The parking thread issues no barrier in the other threads.</summary>
    NoBarrier,

    /// <summary>Leaving looks for parked threads before it releases the lock.</summary>
    LooksBeforeRelease,

    /// <summary>A thread sleeps without looking at the lock again.</summary>
    SleepsWithoutLook,

    /// <summary>The mark that a thread is being woken is never cleared.</summary>
    WakingIsNeverCleared,

    /// <summary>The mark that a thread is being woken is cleared only after the look at the lock.</summary>
    WakingIsClearedAfterLook,

    /// <summary>The lock is handed over though no thread sleeps.</summary>
    HandsOverWithoutWaiter,

    /// <summary>A thread that gives way to a script does not check whether the lock was handed over to it.</summary>
    GivesWayBeforeLook,
}

/// <summary>
/// The atomic operations of <see cref="StripeLock"/> on a machine with store buffers: a plain store becomes visible to other
/// threads some time later, an atomic operation only after all stores before it (x86; weaker machines order a volatile
/// store before a volatile load, or are asked to by the process-wide barrier in the same way).
/// </summary>
internal sealed class StripeLockModel : ThreadModel
{
    private readonly StripeLockFault _fault;
    private readonly int _threads;
    private readonly Queue<(int Word, int Value)>[] _buffers;
    private readonly int[] _memory = new int[3];
    private readonly bool[] _awake;
    private readonly List<int> _waiting = []; // in the gate's queue
    private int _gateOwner = -1;
    private int _sleeping;
    private bool _wantsHandOver;
    private bool _handedOver;
    private bool _claiming;
    private int _inside = -1;

    private const int ClaimStepsMax = 24;
    private const int Held = 0;
    private const int Parked = 1;
    private const int Waking = 2;

    internal StripeLockModel(Schedule schedule, StripeLockFault fault, int threads, int turns, int givingWay = 0, bool claims = false)
        : base(schedule)
    {
        _fault = fault;
        _threads = threads + (claims ? 1 : 0);
        _buffers = [.. Enumerable.Range(0, _threads).Select(_ => new Queue<(int, int)>())];
        _awake = new bool[_threads];
        for (int i = 0; i < threads; i++) Threads.Add(User(i, turns, givesWay: i < givingWay).GetEnumerator());
        if (claims) Threads.Add(Claim(threads).GetEnumerator());
        for (int i = 0; i < _threads; i++) Background.Add(StoresBecomeVisible(i).GetEnumerator());
    }

    internal override void CheckEnd()
    {
        foreach (Queue<(int, int)> buffer in _buffers) Drain(buffer);
        Check(_memory[Held] == 0, "The lock is held by no thread.");
        Check(_memory[Parked] == 0, "A thread counts as parked that is gone.");
    }

    private IEnumerable<Step> User(int me, int turns, bool givesWay)
    {
        for (int i = 0; i < turns; i++)
        {
            // Enter
            yield return When(() => _buffers[me].Count == 0);
            bool entered = CompareExchange(Held, 1, 0);
            if (!entered)
            {
                // Park
                yield return When(() => _buffers[me].Count == 0);
                _memory[Parked]++;
                if (_fault != StripeLockFault.NoBarrier)
                {
                    foreach (Queue<(int, int)> buffer in _buffers)
                    {
                        yield return Now;
                        Drain(buffer);
                    }
                }

                yield return When(() => IsGateFree(me));
                _gateOwner = me;
                bool looks = _fault != StripeLockFault.SleepsWithoutLook;
                while (true)
                {
                    if (_fault == StripeLockFault.GivesWayBeforeLook && givesWay && _claiming) break;
                    if (looks)
                    {
                        // TryTake
                        if (_fault is not (StripeLockFault.WakingIsNeverCleared or StripeLockFault.WakingIsClearedAfterLook)) Write(me, Waking, 0);
                        yield return When(() => _handedOver || _buffers[me].Count == 0);
                        if (_handedOver)
                        {
                            _handedOver = false;
                            entered = true;
                        }
                        else
                        {
                            entered = CompareExchange(Held, 1, 0);
                        }

                        yield return Now;
                        if (_fault == StripeLockFault.WakingIsClearedAfterLook) Write(me, Waking, 0);
                    }

                    looks = true;
                    yield return Now;
                    if (entered || (givesWay && _claiming)) break;
                    if (Maybe()) _wantsHandOver = true;
                    _sleeping++;

                    // Monitor.Wait
                    yield return When(() => _buffers[me].Count == 0);
                    _awake[me] = false;
                    _waiting.Add(me);
                    _gateOwner = -1;
                    yield return When(() => _awake[me] && IsGateFree(me));
                    _gateOwner = me;
                    _sleeping--;
                }

                yield return When(() => _buffers[me].Count == 0);
                _gateOwner = -1;
                yield return Now;
                _memory[Parked]--;
            }

            if (!entered) continue; // it has given way
            Check(_inside == -1, "Two threads are inside.");
            _inside = me;
            yield return Now;
            _inside = -1;

            // Exit
            bool wakes;
            if (_fault == StripeLockFault.LooksBeforeRelease)
            {
                wakes = Read(me, Parked) != 0;
                yield return Now;
                Write(me, Held, 0);
            }
            else
            {
                Write(me, Held, 0);
                yield return Now;
                wakes = Read(me, Parked) != 0;
            }

            if (!wakes) continue;

            // WakeOne
            yield return When(() => _buffers[me].Count == 0);
            if (Exchange(Waking, 1) != 0) continue;
            yield return When(() => IsGateFree(me));
            _gateOwner = me;
            bool mayHandOver = _wantsHandOver && (_sleeping > 0 || _fault == StripeLockFault.HandsOverWithoutWaiter);
            if (mayHandOver)
            {
                yield return Now;
                if (CompareExchange(Held, 1, 0))
                {
                    _wantsHandOver = false;
                    _handedOver = true;
                }
            }

            yield return Now;
            Pulse();
            _gateOwner = -1;
        }
    }

    // At some time a script raises its flag, wakes the threads that are parked here, and has its stripe at once.
    private IEnumerable<Step> Claim(int me)
    {
        for (int i = Choose(ClaimStepsMax); i >= 0; i--) yield return Now;
        _claiming = true;
        yield return When(() => IsGateFree(me));
        _gateOwner = me;
        yield return Now;
        while (_waiting.Count > 0) Pulse();
        _gateOwner = -1;
        yield return Now;
        _claiming = false;
    }

    private IEnumerable<Step> StoresBecomeVisible(int thread)
    {
        Queue<(int Word, int Value)> buffer = _buffers[thread];
        while (true)
        {
            yield return When(() => buffer.Count > 0);
            (int word, int value) = buffer.Dequeue();
            _memory[word] = value;
        }
    }

    private bool IsGateFree(int me) => _gateOwner == -1 && _buffers[me].Count == 0;

    private void Pulse()
    {
        if (_waiting.Count == 0) return;
        int index = Choose(_waiting.Count);
        _awake[_waiting[index]] = true;
        _waiting.RemoveAt(index);
    }

    private void Drain(Queue<(int Word, int Value)> buffer)
    {
        while (buffer.TryDequeue(out (int Word, int Value) store)) _memory[store.Word] = store.Value;
    }

    private void Write(int me, int word, int value) => _buffers[me].Enqueue((word, value));

    // A thread sees its own stores at once.
    private int Read(int me, int word)
    {
        int value = _memory[word];
        foreach ((int stored, int newer) in _buffers[me])
        {
            if (stored == word) value = newer;
        }

        return value;
    }

    private bool CompareExchange(int word, int value, int comparand)
    {
        if (_memory[word] != comparand) return false;
        _memory[word] = value;
        return true;
    }

    private int Exchange(int word, int value)
    {
        int old = _memory[word];
        _memory[word] = value;
        return old;
    }
}
