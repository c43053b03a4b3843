using System.Diagnostics;
using System.Runtime.CompilerServices;
using System.Runtime.InteropServices;

namespace RedKite.Store.Keyspace;

/// <summary>
/// A stripe's lock: one word on a cache line of its own, taken by compare-and-swap. A thread that finds it held spins for
/// about 20 microseconds and then parks, so that it burns no processor time while another command holds the stripe for long.
/// Not reentrant.
/// </summary>
/// <remarks>
/// <para>
/// Entering is one compare-and-swap; leaving is a store and a load. Most locks that park leave with an atomic exchange, so
/// that the store is visible before the load of the waiters. That is a second locked instruction for every command: an
/// uncontended pair takes 5.2 ns that way, 2.6 ns this way, and 2.5 ns with a lock that cannot park (x86). Here the rare
/// side pays: a thread that is about to park announces itself in <see cref="_parked"/> and then issues a barrier in every
/// thread of the process. A thread that leaves either did its store before that barrier, so that the parking thread sees the
/// lock free when it looks again, or loads the announcement after it. This requires the load to follow the store in the
/// machine code; the compiler does not reorder volatile accesses.
/// </para>
/// <para>
/// A thread that arrives may take the lock before one that is being woken. A parked thread that finds the lock taken again,
/// after more than a millisecond of waiting, requests a hand-over: the next thread that leaves takes the lock back on its
/// behalf.
/// </para>
/// <para>
/// docs/locking.md gives the argument that no wake-up is lost; StripeLockModelTests explores the interleavings.
/// </para>
/// </remarks>
[StructLayout(LayoutKind.Explicit, Size = 256)]
internal struct StripeLock
{
    // Parking and waking cost about this much, so spinning is cheaper if the lock is held for less.
    private const long SpinMicroseconds = 20;

    // One round of spinning: about a quarter of a microsecond between two reads of a contended line.
    private const int SpinIterations = 8;

    // A command holds a stripe for about a microsecond. A thread that waits this long is being overtaken by others.
    private const long HandOverAfterMicroseconds = 1_000;

    private static readonly long SpinTicks = SpinMicroseconds * Stopwatch.Frequency / 1_000_000;
    private static readonly long HandOverAfterTicks = HandOverAfterMicroseconds * Stopwatch.Frequency / 1_000_000;

    [FieldOffset(64)]
    private int _held;

    // Threads that sleep or are about to. A thread that leaves reads it: it shares the line that leaving has just written.
    [FieldOffset(68)]
    private int _parked;

    // 1 from the moment at which a thread undertakes to wake a parked thread until one looks at the lock again.
    [FieldOffset(128)]
    private int _waking;

    // The rest is used with the gate held.
    [FieldOffset(132)]
    private int _sleeping;

    [FieldOffset(136)]
    private bool _wantsHandOver;

    [FieldOffset(137)]
    private bool _handedOver;

    [FieldOffset(144)]
    private readonly object _gate;

    // Written with the lock held.
    [FieldOffset(192)]
    private long _contended;

    [FieldOffset(200)]
    private long _parks;

    [FieldOffset(208)]
    private long _waitTicks;

    public StripeLock() => _gate = new object();

    /// <summary>How often a thread had to wait.</summary>
    internal readonly long Contended => _contended;

    /// <summary>How often a thread waited so long that it slept.</summary>
    internal readonly long Parks => _parks;

    /// <summary>How many threads sleep, or are about to.</summary>
    internal int Parked => Volatile.Read(ref _parked);

    /// <summary>How long threads waited altogether.</summary>
    internal readonly TimeSpan Waited => Stopwatch.GetElapsedTime(0, _waitTicks);

    /// <summary>Whether a thread holds the lock now.</summary>
    internal bool IsHeld => Volatile.Read(ref _held) != 0;

    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    internal void Enter()
    {
        if (Interlocked.CompareExchange(ref _held, 1, 0) != 0) Wait(givesWayTo: null);
    }

    /// <summary>Enters, unless the flag is raised meanwhile.</summary>
    internal bool EnterOrGiveWay(WaitFlag? flag) => Interlocked.CompareExchange(ref _held, 1, 0) == 0 || Wait(flag);

    /// <summary>Enters a lock that is held for long, unless the flag is up: a thread that finds it held does not spin, but sleeps at once.</summary>
    internal bool EnterBySleeping(WaitFlag flag) => TryEnter() || Wait(flag, spins: false);

    /// <summary>Enters if no other thread is in.</summary>
    internal bool TryEnter() => Volatile.Read(ref _held) == 0 && Interlocked.CompareExchange(ref _held, 1, 0) == 0;

    /// <summary>Enters if the lock gets free within about the time of a short command. It does not sleep.</summary>
    internal bool TryEnterSoon() => TryEnter() || Spin(Stopwatch.GetTimestamp(), givesWayTo: null);

    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    internal void Exit()
    {
        // In this order: see the remarks.
        Volatile.Write(ref _held, 0);
        if (Volatile.Read(ref _parked) != 0) WakeOne();
    }

    /// <summary>Wakes every parked thread, so that it checks the flag that it gives way to.</summary>
    internal void WakeAll()
    {
        bool interrupted = false;
        EnterGate(ref interrupted);
        Monitor.PulseAll(_gate);
        Monitor.Exit(_gate);
        if (interrupted) Thread.CurrentThread.Interrupt();
    }

    // Each of the three returns whether the lock was entered.
    [MethodImpl(MethodImplOptions.NoInlining)]
    private bool Wait(WaitFlag? givesWayTo, bool spins = true)
    {
        long start = Stopwatch.GetTimestamp();
        bool parks = !spins || !Spin(start, givesWayTo);
        bool entered = !parks || Park(start, givesWayTo);
        long ticks = Stopwatch.GetTimestamp() - start;
        ThreadWaits.Note(start, ticks);
        if (!entered) return false;
        _contended++;
        if (parks) _parks++;
        _waitTicks += ticks;
        return true;
    }

    private bool Spin(long start, WaitFlag? givesWayTo)
    {
        // The only processor is better left to the thread that holds the lock.
        if (Environment.ProcessorCount == 1) return false;
        do
        {
            Thread.SpinWait(SpinIterations);
            if (TryEnter()) return true;
            if (givesWayTo is { IsUp: true }) return false;
        }
        while (Stopwatch.GetTimestamp() - start < SpinTicks);
        return false;
    }

    // Sleeps until the lock is entered. An interrupt, which a host may send to its own threads, is put off until then.
    private bool Park(long start, WaitFlag? givesWayTo)
    {
        bool interrupted = false;
        bool entered;
        Interlocked.Increment(ref _parked);
        Interlocked.MemoryBarrierProcessWide();
        EnterGate(ref interrupted);

        // The lock comes first: a thread that gives way must neither lose a lock that was handed over to it, nor use up a wake-up
        // while others sleep and the lock is free.
        while (!(entered = TryTake()) && givesWayTo is not { IsUp: true })
        {
            if (Stopwatch.GetTimestamp() - start > HandOverAfterTicks) _wantsHandOver = true;
            _sleeping++;
            try
            {
                Monitor.Wait(_gate);
            }
            catch (ThreadInterruptedException)
            {
                interrupted = true;
            }

            _sleeping--;
        }

        Monitor.Exit(_gate);
        Interlocked.Decrement(ref _parked);
        if (interrupted) Thread.CurrentThread.Interrupt();
        return entered;
    }

    private bool TryTake()
    {
        // Cleared before the look at the lock: a thread that leaves after that look wakes a thread again. The swap is a full fence.
        Volatile.Write(ref _waking, 0);
        if (!_handedOver) return Interlocked.CompareExchange(ref _held, 1, 0) == 0;
        _handedOver = false;
        return true;
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    private void WakeOne()
    {
        // A thread that is being woken looks at the lock after it has cleared this; one is enough. The exchange is a full fence,
        // so it sees the lock as it was left here.
        if (Interlocked.Exchange(ref _waking, 1) != 0) return;
        bool interrupted = false;
        EnterGate(ref interrupted);
        if (_wantsHandOver && _sleeping > 0 && Interlocked.CompareExchange(ref _held, 1, 0) == 0)
        {
            _wantsHandOver = false;
            _handedOver = true;
        }

        Monitor.Pulse(_gate);
        Monitor.Exit(_gate);
        if (interrupted) Thread.CurrentThread.Interrupt();
    }

    private readonly void EnterGate(ref bool interrupted)
    {
        while (true)
        {
            try
            {
                Monitor.Enter(_gate);
                return;
            }
            catch (ThreadInterruptedException)
            {
                interrupted = true;
            }
        }
    }
}
