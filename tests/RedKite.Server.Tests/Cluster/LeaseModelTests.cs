using RedKite.Net;
using RedKite.Server.Cluster;
using RedKite.Store.Tests.Keyspace;

namespace RedKite.Server.Tests.Cluster;

/// <summary>No order of a lease's renewals, its end, the clock and another node's takeover lets a reply leave behind one; and the checker would see it.</summary>
public sealed class LeaseModelTests
{
    private const int Schedules = 3000;

    [Fact]
    public void A_reply_that_leaves_was_executed_while_no_other_node_could_serve()
    {
        (int left, int late) = Explore(looksAtTerm: true);
        Assert.True(left > 100 && late > 100, $"{left} replies left, {late} did not");
    }

    // The lease of now, not the one by which the command was executed.
    [Fact]
    public void The_checker_finds_a_look_that_forgets_the_term() => Assert.Throws<ModelViolationException>(() => Explore(looksAtTerm: false));

    private static (int Left, int Late) Explore(bool looksAtTerm)
    {
        int left = 0, late = 0;
        LeaseModel? last = null;
        Interleavings.ExploreRandomly(Schedules, (schedule, _) =>
        {
            left += last?.Left ?? 0;
            late += last?.Late ?? 0;
            return last = new LeaseModel(schedule, looksAtTerm);
        });
        return (left, late);
    }
}

/// <summary>
/// The real <see cref="LeaseDeadline"/> between an agent that renews it, loses it and gets it anew, time that passes, a node that takes over as soon as the store allows it, and a client. Whenever the
/// clock is read, the others may get on before and behind that.
/// </summary>
internal sealed class LeaseModel : ThreadModel
{
    private const int Lease = 4;
    private const int Registrations = 2;
    private const int Renewals = 2;
    private const int Commands = 3;

    private readonly LeaseDeadline _lease;
    private readonly bool _looksAtTerm;
    private readonly IEnumerator<Step> _agent;
    private long _now = 1;
    private long _storeUntil; // of the lease in the store; 0: there is none
    private int _takeovers;
    private int _seen; // takeovers when the clock was read last
    private bool _isNested;
    private bool _clientEnded;

    internal LeaseModel(Schedule schedule, bool looksAtTerm)
        : base(schedule)
    {
        _looksAtTerm = looksAtTerm;
        _lease = new LeaseDeadline(new Clock(this));
        _agent = Agent();
        Threads.Add(_agent);
        Threads.Add(Client());
        Background.Add(Time());
        Background.Add(Other());
    }

    internal int Left { get; private set; }

    internal int Late { get; private set; }

    private IEnumerator<Step> Agent()
    {
        for (int registration = 0; registration < Registrations && !_clientEnded; registration++)
        {
            for (int renewal = 0; renewal <= Renewals; renewal++)
            {
                yield return Now;
                long sent = _now;
                yield return Now;
                if (renewal > 0 && _now >= _storeUntil) break; // the store says that it has ended
                _storeUntil = _now + Lease;
                yield return Now;
                _lease.Extend(sent, TimeSpan.FromSeconds(Lease));
            }

            yield return Now;
            _lease.End();
            yield return Now;
            _storeUntil = 0; // given back
        }
    }

    private IEnumerator<Step> Client()
    {
        for (int i = 0; i < Commands; i++)
        {
            yield return Now;
            OutputDeadline? term = _lease.Current;
            int before = _seen;
            if (term is null) continue; // CLUSTERDOWN
            yield return Now;
            int executed = _takeovers;
            yield return Now;
            bool leaves = _looksAtTerm ? !term.HasPassed : !_lease.HasEnded;
            if (leaves) Left++;
            else Late++;
            Check(!leaves || (_seen == before && executed == before), "a reply leaves although another node has taken over");
        }

        _clientEnded = true;
    }

    private IEnumerator<Step> Time()
    {
        while (true)
        {
            yield return When(() => _now < 40);
            _now++;
        }
    }

    private IEnumerator<Step> Other()
    {
        while (true)
        {
            yield return When(() => _now >= _storeUntil && _takeovers < 40);
            _takeovers++;
        }
    }

    private long Look()
    {
        Others();
        long now = _now;
        _seen = _takeovers;
        Others();
        return now;
    }

    private void Others()
    {
        if (_isNested) return;
        _isNested = true;
        while (Maybe())
        {
            if (Maybe()) _now += Choose(Lease);
            if (Maybe()) _agent.MoveNext(); // its steps read no clock
            if (_now >= _storeUntil && Maybe()) _takeovers++;
        }

        _isNested = false;
    }

    private sealed class Clock(LeaseModel model) : TimeProvider
    {
        public override long TimestampFrequency => 1;

        public override long GetTimestamp() => model.Look();
    }
}
