using System.Globalization;
using RedKite.Server.Replication;

namespace RedKite.Server.Tests.Following;

/// <summary>
/// A primary and a replica whose clocks differ or are set while they run: what expires is the primary's matter, and a replica only hides by its own clock. So the data is the same, whatever
/// the clocks say.
/// </summary>
public sealed class ClockStepTests : IAsyncLifetime
{
    private const int PatienceMs = 60_000;
    private const long HourMs = 3_600_000;

    private readonly ManualClock _here = new();
    private readonly ManualClock _there = new();
    private RedKiteServer _primary = null!;
    private RedKiteServer _replica = null!;

    public async ValueTask InitializeAsync()
    {
        _primary = await StartAsync(_here);
        _replica = await StartAsync(_there);
    }

    public async ValueTask DisposeAsync()
    {
        await _replica.DisposeAsync();
        await _primary.DisposeAsync();
    }

    [Theory]
    [InlineData(HourMs)]
    [InlineData(-HourMs)]
    public void Replica_whose_clock_differs_has_the_same_data(long aheadMs)
    {
        _there.Jump(aheadMs);
        foreach (string command in (string[])["SET before a PX 60000", "SET lasting a", "HSET hash f v g v", "HPEXPIRE hash 60000 FIELDS 1 f", "SADD set a b", "SPEXPIRE set 60000 MEMBERS 1 a"]) Primary(command);
        Follow(); // all data: nothing is left out because of this clock
        Assert.Equal(Keys(_primary), Keys(_replica));
        foreach (string command in (string[])["SET after a PX 60000", "EXPIRE lasting 60", "APPEND before b", "APPEND after b", "HSET hash h v", "SADD set c", "HINCRBY counts f 1", "HPEXPIRE counts 60000 FIELDS 1 f", "HINCRBY counts f 1", "INCR number", "PEXPIRE number 60000", "INCR number"]) Primary(command);
        AssertSame();
        bool isHidden = aheadMs > 0;
        foreach (string key in (string[])["before", "after"]) Assert.Equal(isHidden ? null : "ab", _replica.Execute("GET", key).Text);
        Assert.Equal(isHidden ? 2 : 3, _replica.Execute("HLEN", "hash").Integer);

        // Absolute times are the same, and so is what is no longer about to expire.
        if (!isHidden) Assert.Equal(_primary.Execute("PEXPIRETIME", "after").Integer, _replica.Execute("PEXPIRETIME", "after").Integer);
        foreach (string command in (string[])["PERSIST before", "PERSIST after", "PERSIST lasting", "PERSIST number", "HPERSIST hash FIELDS 1 f", "HPERSIST counts FIELDS 1 f", "SPERSIST set MEMBERS 1 a"]) Primary(command);
        AssertSame();
        Assert.Equal(("ab", "ab", "2", "2"), (_replica.Execute("GET", "before").Text, _replica.Execute("GET", "after").Text, _replica.Execute("GET", "number").Text, _replica.Execute("HGET", "counts", "f").Text));
        Assert.Equal(3, _replica.Execute("HLEN", "hash").Integer);
    }

    [Fact]
    public void Clock_of_the_primary_that_is_set_expires_keys_on_both()
    {
        Follow();
        foreach (string command in (string[])["SET key a PX 60000", "SET other a", "HSET hash f v g v", "HPEXPIRE hash 60000 FIELDS 1 f", "SET late a PX 90000000"]) Primary(command);
        AssertSame();
        Assert.Equal("a", _replica.Execute("GET", "key").Text);
        _here.Jump(HourMs);
        WaitPassing(() => Keys(_primary) == 3 && Keys(_replica) == 3, "the expiry");
        Assert.Equal((null, 1L), (_replica.Execute("GET", "key").Text, _replica.Execute("EXISTS", "late").Integer));
        WaitPassing(() => _primary.Execute("HLEN", "hash").Integer == 1 && _replica.Execute("HLEN", "hash").Integer == 1, "the field's expiry");
        AssertSame();

        // Back by two hours: what is set now expires before what was set earlier.
        _here.Jump(-2 * HourMs);
        Primary("SET key b PX 60000");
        AssertSame();
        Assert.Equal(1, _primary.Execute("EXISTS", "key").Integer);
        Assert.Null(_replica.Execute("GET", "key").Text); // its clock is an hour later
        _here.Jump(HourMs);
        WaitPassing(() => Keys(_primary) == 3 && Keys(_replica) == 3, "the expiry");
        AssertSame();
    }

    [Fact]
    public void Clock_of_the_replica_that_is_set_hides_and_shows_again_and_the_link_stays()
    {
        Follow();
        Primary("SET key a PX 60000");
        AssertSame();
        for (int i = 0; i < 3; i++)
        {
            _there.Jump(HourMs);
            Assert.Null(_replica.Execute("GET", "key").Text);
            _there.Jump(-HourMs);
            Assert.Equal("a", _replica.Execute("GET", "key").Text);
        }

        _here.Jump(-100 * HourMs);
        Primary("SET further a");
        AssertSame();
        Assert.Equal((1L, 0L), (_primary.Parts.Replicas.Counts.Full, _primary.Parts.Replicas.Overflows));
        Assert.Contains(",lag=0\r\n", _primary.Execute("INFO", "replication").Text!, StringComparison.Ordinal);
        Assert.Equal(0, _replica.Engine.Replication.LinkCounts.Breaks);
    }

    [Fact]
    public void Promoted_replica_removes_what_has_expired_by_its_own_clock()
    {
        Follow();
        Primary("SET key a PX 60000");
        Primary("SET other a");
        AssertSame();
        _there.Jump(HourMs);
        Assert.Equal(2, Keys(_replica));
        Assert.Equal("OK", _replica.Execute("REPLICAOF", "NO", "ONE").Text);
        WaitPassing(() => Keys(_replica) == 1, "the expiry");
        Assert.Equal(2, Keys(_primary));
    }

    private void Follow()
    {
        Assert.Equal("OK", _replica.Execute("REPLICAOF", "127.0.0.1", _primary.Port.ToString(CultureInfo.InvariantCulture)).Text);
        Wait(() => _replica.Engine.Replication.LinkStatus is { State: ReplicaLinkState.Connected }, "the link");
    }

    private void Primary(string command)
    {
        RedKiteReply reply = _primary.Execute(command.Split(' '));
        Assert.False(reply.IsError, $"{command}: {reply}");
    }

    private void AssertSame()
    {
        Wait(() => _primary.Parts.ReplicaStream.Offset == _replica.Parts.ReplicaStream.Offset, "the stream");
        Assert.Equal(_primary.Execute("DEBUG", "DIGEST").Text, _replica.Execute("DEBUG", "DIGEST").Text);
        Assert.Equal(0, _replica.Engine.Metrics.Server.StreamErrors);
    }

    private static long Keys(RedKiteServer server) => server.Engine.Keyspace.Databases[0].Count;

    // Active expiry goes by the steady clock.
    private void WaitPassing(Func<bool> condition, string what)
    {
        for (int i = 0; !condition(); i++)
        {
            Assert.True(i < 300, $"timed out waiting for {what}");
            _here.Advance(100);
            _there.Advance(100);
            SpinWait.SpinUntil(condition, 200);
        }
    }

    private static void Wait(Func<bool> condition, string what) => Assert.True(SpinWait.SpinUntil(condition, PatienceMs), $"timed out waiting for {what}");

    private static Task<RedKiteServer> StartAsync(ManualClock clock)
    {
        var options = new RedKiteOptions { Port = 0, TimeProvider = clock };
        foreach ((string name, string value) in (ReadOnlySpan<(string, string)>)[("loops", "1"), ("diagnostics", "no"), ("enable-debug-command", "yes"), ("repl-diskless-sync-delay", "0"), ("save", "")]) options.Settings[name] = value;
        return RedKiteServer.StartAsync(options);
    }
}
