using RedKite.Store.Keyspace;

namespace RedKite.Store.Tests.Keyspace;

/// <summary>Faults of the protocol, each of which the checker must find.</summary>
public enum LockProtocolFault
{
    None,

    /// <summary>Some threads lock stripes in descending order.</summary>
    DescendingOrder,

    /// <summary>A scope that grows waits for the further stripes while it holds its own.</summary>
    WaitsWhileGrowing,

    /// <summary>A script waits for a further stripe without raising the flag.</summary>
    ClaimsWithoutFlag,

    /// <summary>A script raises the flag, and does not wake the threads that cannot see it.</summary>
    ClaimsWithoutWaking,

    /// <summary>A script that claims several stripes wakes the threads at its own stripes only once.</summary>
    WakesOnlyForFirstStripe,

    /// <summary>A thread that gives way keeps what it holds while it waits for the busy stripe.</summary>
    GivesWayHolding,

    /// <summary>Several scripts run at a time.</summary>
    NoMutex,
}

/// <summary>
/// The steps of <see cref="LockScope"/> and <see cref="ScriptMutex"/> over locks that work: a thread that waits for a stripe
/// goes on when it is free (<see cref="StripeLockModel"/>).
/// </summary>
internal sealed class LockProtocolModel : ThreadModel
{
    private const int Free = -1;

    private readonly LockProtocolFault _fault;
    private readonly int[] _owner;
    private readonly HashSet<int>[] _asleep; // the threads that sleep at a stripe and would give way
    private readonly int[][] _held;
    private int _running = Free; // the script mutex
    private bool _claiming;

    internal LockProtocolModel(Schedule schedule, LockProtocolFault fault, int stripes, int threads)
        : base(schedule)
    {
        _fault = fault;
        _owner = new int[stripes];
        Array.Fill(_owner, Free);
        _asleep = [.. Enumerable.Range(0, stripes).Select(_ => new HashSet<int>())];
        _held = new int[threads][];
        Array.Fill(_held, []);
    }

    /// <summary>A command that locks its stripes before it executes: one key, several, or all.</summary>
    internal LockProtocolModel Command(params int[] stripes)
    {
        int me = Threads.Count;
        return Add(Run());

        IEnumerable<Step> Run()
        {
            foreach (Step step in Acquire(me, stripes)) yield return step;
            foreach (Step step in Execute(me)) yield return step;
            Release(me);
        }
    }

    /// <summary>A command that serves a blocked client, which needs further stripes.</summary>
    internal LockProtocolModel Server(int[] stripes, int[] further)
    {
        int me = Threads.Count;
        return Add(Run());

        IEnumerable<Step> Run()
        {
            foreach (Step step in Acquire(me, stripes)) yield return step;
            foreach (Step step in Execute(me)) yield return step;
            foreach (Step step in Grow(me, further)) yield return step;
            foreach (Step step in Execute(me)) yield return step;
            Release(me);
        }
    }

    /// <summary>A walker: SCAN, the sweep. It locks one stripe after the other.</summary>
    internal LockProtocolModel Walker()
    {
        int me = Threads.Count;
        return Add(Run());

        IEnumerable<Step> Run()
        {
            for (int stripe = 0; stripe < _owner.Length; stripe++)
            {
                foreach (Step step in Acquire(me, [stripe])) yield return step;
                foreach (Step step in Execute(me)) yield return step;
                Release(me);
            }
        }
    }

    /// <summary>A script with keys that it declares, and with others that it does not.</summary>
    internal LockProtocolModel Script(int[] declared, params int[][] undeclared)
    {
        int me = Threads.Count;
        return Add(Run());

        IEnumerable<Step> Run()
        {
            if (_fault != LockProtocolFault.NoMutex)
            {
                yield return When(() => _running == Free);
                _running = me;
            }

            foreach (Step step in Acquire(me, declared)) yield return step;
            foreach (int[] needed in undeclared)
            {
                foreach (Step step in Execute(me)) yield return step;
                foreach (Step step in Claim(me, needed)) yield return step;
            }

            foreach (Step step in Execute(me)) yield return step;
            Release(me);
            yield return Now;
            if (_running == me) _running = Free;
        }
    }

    internal override void CheckEnd() => Check(_owner.All(owner => owner == Free) && !_claiming, "Something is still locked.");

    private LockProtocolModel Add(IEnumerable<Step> thread)
    {
        Threads.Add(thread.GetEnumerator());
        return this;
    }

    private IEnumerable<Step> Execute(int me)
    {
        for (int i = 0; i < 2; i++)
        {
            yield return Now;
            foreach (int stripe in _held[me]) Check(_owner[stripe] == me, "A stripe is lost while it is used.");
        }
    }

    // LockScope.Acquire
    private IEnumerable<Step> Acquire(int me, int[] stripes)
    {
        int[] order = [.. stripes.Distinct().Order()];
        if (_fault == LockProtocolFault.DescendingOrder && me % 2 == 1) Array.Reverse(order);
        while (true)
        {
            int busy = Free;
            foreach (int stripe in order)
            {
                // Enter where nothing is held, EnterOrGiveWay otherwise.
                bool givesWay = _held[me].Length > 0;
                yield return Now;
                while (_owner[stripe] != Free)
                {
                    if (givesWay && _claiming)
                    {
                        busy = stripe;
                        break;
                    }

                    if (givesWay) _asleep[stripe].Add(me);
                    yield return When(() => _owner[stripe] == Free || (givesWay && !_asleep[stripe].Contains(me)));
                    _asleep[stripe].Remove(me);
                }

                if (busy != Free) break;
                Take(me, stripe);
            }

            if (busy == Free) yield break;
            if (_fault != LockProtocolFault.GivesWayHolding) Release(me);
            yield return When(() => _owner[busy] == Free);
            if (_fault == LockProtocolFault.GivesWayHolding) Release(me);
        }
    }

    // LockScope.Grow
    private IEnumerable<Step> Grow(int me, int[] stripes)
    {
        int[] missing = [.. stripes.Except(_held[me]).Order()];
        int[] before = _held[me];
        foreach (int stripe in missing)
        {
            yield return Now;
            if (_fault == LockProtocolFault.WaitsWhileGrowing) yield return When(() => _owner[stripe] == Free);
            if (_owner[stripe] == Free)
            {
                Take(me, stripe);
                continue;
            }

            int[] all = [.. before, .. missing];
            Release(me);
            foreach (Step step in Acquire(me, all)) yield return step;
            yield break;
        }
    }

    // ScriptMutex.Claim
    private IEnumerable<Step> Claim(int me, int[] stripes)
    {
        bool first = true;
        foreach (int stripe in stripes.Except(_held[me]))
        {
            yield return Now;
            if (_owner[stripe] != Free)
            {
                yield return Now;
                if (_fault != LockProtocolFault.ClaimsWithoutFlag) _claiming = true;
                if (_fault != LockProtocolFault.ClaimsWithoutWaking && (first || _fault != LockProtocolFault.WakesOnlyForFirstStripe))
                {
                    foreach (int owned in _held[me])
                    {
                        yield return Now;
                        _asleep[owned].Clear();
                    }
                }

                first = false;
                yield return When(() => _owner[stripe] == Free);
                Take(me, stripe);
                yield return Now;
                _claiming = false;
            }
            else
            {
                Take(me, stripe);
            }
        }
    }

    private void Take(int me, int stripe)
    {
        Check(_owner[stripe] == Free, "Two threads hold a stripe.");
        _owner[stripe] = me;
        _held[me] = [.. _held[me], stripe];
    }

    private void Release(int me)
    {
        foreach (int stripe in _held[me]) _owner[stripe] = Free;
        _held[me] = [];
    }
}
