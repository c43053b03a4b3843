using System.Diagnostics;
using RedKite.Store.Keyspace;
using RedKite.TestSupport;
using KeyStore = RedKite.Store.Keyspace.Keyspace;

namespace RedKite.Store.Tests.Keyspace;

/// <summary>
/// Threads on the real locks, in all roles at once: what <see cref="LockProtocolModelTests"/> cannot see, such as the memory
/// model of the machine and the runtime's own waiting.
/// </summary>
public sealed class LockProtocolStressTests : IDisposable
{
    private const int Stripes = 6;
    private const int Threads = 8;
    private static readonly int Milliseconds = TestScale.Of(gate: 1_000, full: 6_000);

    private readonly KeyStore _store = new(8, 1);
    private readonly int[] _owner = new int[Stripes];
    private readonly long[] _plain = new long[Stripes]; // incremented without atomics, under the stripe's lock
    private readonly long[,] _counted = new long[Threads, Stripes];
    private readonly long[] _turns = new long[Threads];
    private int _scripts;

    public void Dispose() => _store.Dispose();

    [Fact]
    public void Threads_in_all_roles_exclude_each_other_and_all_make_progress()
    {
        var clock = Stopwatch.StartNew();
        int working = Threads;
        var watchdog = new Thread(() =>
        {
            while (Volatile.Read(ref working) > 0)
            {
                Thread.Sleep(50);
                if (clock.ElapsedMilliseconds > Milliseconds + 60_000) Environment.FailFast($"The locks are stuck: {string.Join(", ", _turns)} turns.");
            }
        });
        watchdog.Start();
        StripeLockTests.Run(Threads, me =>
        {
            try
            {
                var random = new Random(me);
                while (clock.ElapsedMilliseconds < Milliseconds)
                {
                    Turn(me, random);
                    _turns[me]++;
                }
            }
            finally
            {
                Interlocked.Decrement(ref working);
            }
        });
        watchdog.Join();
        Assert.All(_turns, turns => Assert.InRange(turns, 100, long.MaxValue));
        for (int stripe = 0; stripe < Stripes; stripe++)
        {
            Assert.Equal(Enumerable.Range(0, Threads).Sum(thread => _counted[thread, stripe]), _plain[stripe]);
            Assert.False(_store.Stripes[stripe].IsLocked);
        }
    }

    private void Turn(int me, Random random)
    {
        switch (random.Next(10))
        {
            case < 3:
                int stripe = random.Next(Stripes);
                _store.Stripes[stripe].Enter();
                Use(me, StripeSet.Of(stripe), random);
                _store.Stripes[stripe].Exit();
                break;
            case < 5:
                using (LockScope several = _store.Lock(RandomStripes(random))) Use(me, several.Held, random);
                break;
            case 5:
                using (LockScope all = _store.Lock(StripeSet.First(Stripes))) Use(me, all.Held, random);
                break;
            case < 8:
                using (LockScope growing = _store.Lock(RandomStripes(random)))
                {
                    Use(me, growing.Held, random);
                    growing.Grow(RandomStripes(random));
                    Use(me, growing.Held, random);
                    if (growing.TryGrow(RandomStripes(random))) Use(me, growing.Held, random);
                }

                break;
            case 8:
                for (int i = 0; i < Stripes; i++)
                {
                    if (!_store.Stripes[i].TryEnter()) continue;
                    Use(me, StripeSet.Of(i), random);
                    _store.Stripes[i].Exit();
                }

                break;
            default:
                using (ScriptScope script = ScriptScope.Lock(_store, RandomStripes(random)))
                {
                    if (Interlocked.Increment(ref _scripts) != 1) throw new InvalidOperationException("Two scripts run.");
                    StripeSet all = script.Held;
                    for (int i = random.Next(4); i > 0; i--)
                    {
                        Begin(me, script.Held);
                        StripeSet more = RandomStripes(random);
                        if (!script.Grow(more)) throw new InvalidOperationException("A script has lost its stripes.");
                        all = all.With(more);
                        if (!script.Held.Equals(all)) throw new InvalidOperationException("A script has not what it claimed.");
                        End(me, script.Held.Without(more), mayBeMore: true);
                        Use(me, script.Held, random);
                    }

                    Interlocked.Decrement(ref _scripts);
                }

                break;
        }
    }

    private void Use(int me, StripeSet held, Random random)
    {
        Begin(me, held);
        if (random.Next(50) == 0) Thread.SpinWait(random.Next(4_000)); // longer than others spin, now and then
        if (random.Next(300) == 0) Thread.Yield();
        End(me, held, mayBeMore: false);
    }

    private void Begin(int me, StripeSet held)
    {
        foreach (int stripe in held)
        {
            _plain[stripe]++;
            _counted[me, stripe]++;
            if (_owner[stripe] != 0) throw new InvalidOperationException($"Stripe {stripe} is used by two threads.");
            _owner[stripe] = me + 1;
        }
    }

    private void End(int me, StripeSet held, bool mayBeMore)
    {
        for (int stripe = 0; stripe < Stripes; stripe++)
        {
            bool mine = _owner[stripe] == me + 1;
            if (held.Contains(stripe) && !mine) throw new InvalidOperationException($"Stripe {stripe} was lost.");
            if (mine && (mayBeMore || held.Contains(stripe))) _owner[stripe] = 0;
        }
    }

    private static StripeSet RandomStripes(Random random)
    {
        StripeSet stripes = StripeSet.Of(random.Next(Stripes));
        for (int i = random.Next(3); i > 0; i--) stripes = stripes.With(random.Next(Stripes));
        return stripes;
    }
}
