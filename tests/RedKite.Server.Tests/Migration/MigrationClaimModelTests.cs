using RedKite.Server.Config;
using RedKite.Server.Logging;
using RedKite.Server.Migration;
using RedKite.Server.Model;
using RedKite.Server.Sessions;
using RedKite.Store.Tests.Keyspace;

namespace RedKite.Server.Tests.Migration;

/// <summary>
/// Commands of MIGRATE that want the same keys in different orders, with two tickets for all, waits that time out and clients that go, on the real service: in no order of
/// their steps do two of them send one key, wait for each other, or leave a claim or a ticket behind; and the checker would see it.
/// </summary>
public sealed class MigrationClaimModelTests
{
    private const int Schedules = 2000;

    [Theory]
    [InlineData(false)]
    [InlineData(true)]
    public void Each_key_is_sent_by_one_command_and_all_commands_end(bool stops) =>
        Interleavings.ExploreRandomly(Schedules, (schedule, _) => new MigrationClaimModel(schedule, stops, forgets: false));

    [Fact]
    public void The_checker_finds_a_command_that_leaves_its_claims() =>
        Assert.Throws<ModelViolationException>(() => Interleavings.ExploreRandomly(Schedules, static (schedule, _) => new MigrationClaimModel(schedule, stops: false, forgets: true)));
}

/// <summary>The model: a step is a call of the service, which does it under its lock.</summary>
internal sealed class MigrationClaimModel : ThreadModel
{
    private static readonly ulong[][] Keys = [[1, 2, 3], [3, 1], [2, 3, 1], [1]];

    private readonly Clock _clock = new();
    private readonly MigrationService _service;
    private readonly MigrationTicket?[] _sends = new MigrationTicket?[4]; // by key
    private readonly List<MigrationTicket> _others = [];
    private readonly bool _forgets;

    internal MigrationClaimModel(Schedule schedule, bool stops, bool forgets)
        : base(schedule)
    {
        _forgets = forgets;
        _service = new MigrationService(new ServerClock(_clock), new WriteGate(new AttentionWord()), new ServerLog(new Settings(), static _ => { }));
        for (int i = 0; i < MigrationService.RunningMax - 2; i++)
        {
            _others.Add(new MigrationTicket());
            Check(_service.TryBegin(_others[^1]), "a ticket is free");
        }

        foreach (ulong[] keys in Keys) Threads.Add(Command(keys));
        Threads.Add(Time());
        if (stops) Threads.Add(Stop());
    }

    internal override void CheckEnd()
    {
        foreach (MigrationTicket other in _others) _service.End(other);
        Check(_service.ClaimedKeys == 0, "a claim is left");
        Check(_service.Running == 0, $"{_service.Running} tickets are left");
    }

    // As MigrateCommands does it: what it has waited for is its own then, and the keys before it are claimed anew.
    private IEnumerator<Step> Command(ulong[] keys)
    {
        var ticket = new MigrationTicket();
        yield return Now;
        if (!_service.TryBegin(ticket)) yield return When(() => ticket.Come.IsCompleted);
        int claimed = 0;
        while (claimed < keys.Length && !ticket.HasExpired)
        {
            yield return Now;
            if (_service.TryClaim(ticket, keys[claimed], waits: true, TimeSpan.FromSeconds(1)))
            {
                claimed++;
                continue;
            }

            if (Choose(4) == 0) // its client goes
            {
                yield return Now;
                ticket.Abandon();
                claimed = 0;
                break;
            }

            yield return When(() => ticket.Come.IsCompleted);
            claimed = 0;
        }

        if (claimed == keys.Length)
        {
            foreach (ulong key in keys)
            {
                Check(_sends[key] is null, "two commands send one key");
                _sends[key] = ticket;
            }

            yield return Now;
            ulong[] kept = Maybe() ? [keys[0]] : keys; // it sends some again
            foreach (ulong key in keys.Except(kept)) _sends[key] = null;
            _service.Release(ticket, kept);
            yield return Now;
            foreach (ulong key in kept) _sends[key] = null;
        }

        yield return Now;
        if (!_forgets || claimed == keys.Length) _service.End(ticket); // a faulty one thinks that it has nothing
    }

    private IEnumerator<Step> Time()
    {
        for (int i = 0; i < 3; i++)
        {
            yield return Now;
            if (_clock.Timers.Count > 0) _clock.Timers[Choose(_clock.Timers.Count)].Fire(); // perhaps one whose wait has ended just before
        }
    }

    private IEnumerator<Step> Stop()
    {
        yield return Now;
        _service.Stop();
    }

    private sealed class Clock : TimeProvider
    {
        internal List<Timer> Timers { get; } = [];

        public override ITimer CreateTimer(TimerCallback callback, object? state, TimeSpan dueTime, TimeSpan period)
        {
            Timers.Add(new Timer(() => callback(state)));
            return Timers[^1];
        }
    }

    private sealed class Timer(Action fire) : ITimer
    {
        internal void Fire() => fire();

        public bool Change(TimeSpan dueTime, TimeSpan period) => true;

        public void Dispose()
        {
        }

        public ValueTask DisposeAsync() => ValueTask.CompletedTask;
    }
}
