using RedKite.Store.Keyspace;
using KeyStore = RedKite.Store.Keyspace.Keyspace;

namespace RedKite.Store.Tests.Keyspace;

public sealed class LockScopeTests : IDisposable
{
    private readonly KeyStore _store = new(8, 1);

    public void Dispose() => _store.Dispose();

    [Fact]
    public void Scope_holds_its_stripes_until_disposal()
    {
        using (LockScope locked = _store.Lock(StripeSet.Of(2).With(5)))
        {
            Assert.Equal("2, 5", locked.Held.ToString());
            Assert.Equal("2, 5", Locked());
        }

        Assert.Equal("", Locked());
    }

    [Fact]
    public void All_stripes_are_locked_at_once()
    {
        using (_store.LockAll()) Assert.Equal("0, 1, 2, 3, 4, 5, 6, 7", Locked());
        Assert.Equal("", Locked());
    }

    [Fact]
    public void Second_disposal_of_a_scope_does_nothing()
    {
        LockScope first = _store.Lock(StripeSet.Of(1));
        first.Dispose();
        using LockScope second = _store.Lock(StripeSet.Of(1));
        first.Dispose();
        Assert.Equal("1", Locked());
    }

    [Fact]
    public void Scope_adopts_stripes_entered_without_one()
    {
        _store.Stripes[3].Enter();
        using (var locked = LockScope.Adopt(_store, StripeSet.Of(3))) Assert.Equal("3", locked.Held.ToString());
        Assert.Equal("", Locked());
    }

    [Fact]
    public void Scope_grows_to_lower_and_higher_stripes()
    {
        using LockScope locked = _store.Lock(StripeSet.Of(4));
        Assert.True(locked.TryGrow(StripeSet.Of(1).With(4).With(7)));
        Assert.Equal("1, 4, 7", locked.Held.ToString());
        Assert.Equal("1, 4, 7", Locked());
    }

    [Fact]
    public void Scope_grows_by_all_stripes_or_none()
    {
        _store.Stripes[7].Enter();
        using (LockScope locked = _store.Lock(StripeSet.Of(4)))
        {
            Assert.False(locked.TryGrow(StripeSet.Of(1).With(7)));
            Assert.Equal("4", locked.Held.ToString());
            Assert.Equal("4, 7", Locked());
        }

        _store.Stripes[7].Exit();
    }

    [Fact]
    public void Releasing_some_stripes_keeps_the_others()
    {
        using LockScope locked = _store.Lock(StripeSet.Of(1).With(2).With(3));
        locked.Release(StripeSet.Of(2));
        Assert.Equal("1, 3", locked.Held.ToString());
        Assert.Equal("1, 3", Locked());
    }

    [Fact]
    public void Growing_without_contention_keeps_the_stripes()
    {
        using LockScope locked = _store.Lock(StripeSet.Of(4));
        Assert.True(locked.Grow(StripeSet.Of(2)));
        Assert.Equal("2, 4", Locked());
    }

    [Fact]
    public void Growing_into_a_contended_stripe_releases_everything_and_reports_it()
    {
        using var entered = new ManualResetEventSlim();
        bool cameIn = false;
        var other = new Thread(() =>
        {
            _store.Stripes[2].Enter();
            entered.Set();
            _store.Stripes[4].Enter(); // in descending order: only a scope that backs off prevents a deadlock
            cameIn = true;
            _store.Stripes[4].Exit();
            _store.Stripes[2].Exit();
        });
        using (LockScope locked = _store.Lock(StripeSet.Of(4)))
        {
            other.Start();
            entered.Wait(TestContext.Current.CancellationToken);
            Assert.False(locked.Grow(StripeSet.Of(2)));
            Assert.True(cameIn);
            Assert.Equal("2, 4", locked.Held.ToString());
            Assert.Equal("2, 4", Locked());
        }

        other.Join();
        Assert.Equal("", Locked());
    }

    [Fact]
    public void One_script_runs_at_a_time_while_commands_on_other_stripes_continue()
    {
        bool second = false;
        var other = new Thread(() =>
        {
            using ScriptScope script = ScriptScope.Lock(_store, StripeSet.Of(6));
            Volatile.Write(ref second, true);
        });
        using (ScriptScope script = ScriptScope.Lock(_store, StripeSet.Of(1)))
        {
            other.Start();
            using (LockScope command = _store.Lock(StripeSet.Of(6))) Assert.Equal("6", command.Held.ToString());
            Thread.Sleep(30);
            Assert.False(Volatile.Read(ref second));
        }

        other.Join();
        Assert.True(second);
    }

    [Fact]
    public void A_script_keeps_its_stripes_when_it_grows()
    {
        using ScriptScope script = ScriptScope.Lock(_store, StripeSet.Of(4));
        Assert.True(script.Grow(StripeSet.Of(1).With(6)));
        Assert.Equal("1, 4, 6", script.Held.ToString());
        Assert.Equal("1, 4, 6", Locked());
    }

    // The command holds 2 and waits for 4, which the script holds: without giving way they would wait for each other.
    [Theory]
    [InlineData(0)] // it still spins
    [InlineData(100)] // it sleeps
    public void A_command_that_still_waits_gives_way_to_a_script(int milliseconds)
    {
        bool executed = false;
        var command = new Thread(() =>
        {
            using LockScope locked = _store.Lock(StripeSet.Of(2).With(4));
            Volatile.Write(ref executed, true);
        });
        using (ScriptScope script = ScriptScope.Lock(_store, StripeSet.Of(4)))
        {
            command.Start();
            while (!_store.Stripes[2].IsLocked) Thread.Yield();
            Thread.Sleep(milliseconds);
            Assert.True(script.Grow(StripeSet.Of(2)));
            Assert.Equal("2, 4", Locked());
            Assert.False(Volatile.Read(ref executed));
            Assert.False(_store.Scripts.Claiming.IsUp);
        }

        command.Join();
        Assert.True(executed);
        Assert.Equal("", Locked());
    }

    private string Locked()
    {
        StripeSet locked = StripeSet.Empty;
        for (int i = 0; i < _store.Stripes.Length; i++)
        {
            if (_store.Stripes[i].IsLocked) locked = locked.With(i);
        }

        return locked.ToString();
    }
}
