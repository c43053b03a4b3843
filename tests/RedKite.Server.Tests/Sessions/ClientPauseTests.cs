using RedKite.Server.Tests.Execution.Eviction;

namespace RedKite.Server.Tests.Sessions;

/// <summary>The data is frozen while CLIENT PAUSE holds: keys neither expire nor are they evicted.</summary>
public sealed class ClientPauseTests : TranscriptTests
{
    [Theory]
    [InlineData("ALL")]
    [InlineData("WRITE")]
    public async Task Expired_keys_are_missing_and_stay_until_the_pause_ends(string mode)
    {
        Run("SET k v PX 100").IsOk();
        Run("SET other v PX 100").IsOk();
        Run("SET stays v").IsOk();
        Run($"CLIENT PAUSE 60000 {mode}").IsOk();
        Clock.Advance(200);
        Assert.True(Run("GET k").IsNull);
        Run("EXISTS other").IsInteger(0);
        Run("TTL k").IsInteger(-2);
        Assert.Single(Run("KEYS *").Items);
        Assert.Single(Run("SCAN 0 COUNT 100").Items[1].Items);
        await Task.Delay(300, TestContext.Current.CancellationToken); // several slices of the sweep
        Run("DBSIZE").IsInteger(3);
        Assert.Equal(0, Server.Info("expired_keys"));

        Run("SET k new").IsOk(); // callers in the process are not held
        Run("GET k").IsText("new");
        Run("DBSIZE").IsInteger(3);
        Assert.Equal(1, Server.Info("expired_keys"));
        Run("CLIENT UNPAUSE").IsOk();
        Assert.True(Run("GET other").IsNull);
        Run("DBSIZE").IsInteger(2);
        Assert.Equal(2, Server.Info("expired_keys"));
    }

    [Fact]
    public async Task Sweep_continues_when_a_pause_times_out()
    {
        Run("SET k v PX 100").IsOk();
        Run("CLIENT PAUSE 1000 WRITE").IsOk();
        Clock.Advance(1001);
        for (int i = 0; i < 100 && Run("DBSIZE").Integer > 0; i++) await Task.Delay(50, TestContext.Current.CancellationToken);
        Run("DBSIZE").IsInteger(0);
    }

    [Fact]
    public void Random_key_may_have_expired_if_all_have()
    {
        Run("SET k v PX 100").IsOk();
        Run("CLIENT PAUSE 60000 WRITE").IsOk();
        Clock.Advance(200);
        Run("RANDOMKEY").IsText("k");
        Run("CLIENT UNPAUSE").IsOk();
        Assert.True(Run("RANDOMKEY").IsNull);
    }

    [Fact]
    public void Nothing_is_evicted_or_refused()
    {
        Run("CONFIG SET maxmemory-policy allkeys-lru").IsOk();
        for (int i = 0; i < 2000; i++) Run($"SET k{i} {new string('v', 400)}").IsOk();
        Run("CLIENT PAUSE 60000 WRITE").IsOk();
        Server.LimitMemory(-500_000);
        for (int i = 0; i < 100; i++) Run("GET k1");
        Run("DBSIZE").IsInteger(2000);
        Run("SET k2000 v").IsOk();
        Assert.Equal(0, Server.Info("evicted_keys"));
        Run("CLIENT UNPAUSE").IsOk();
        Run("GET k1");
        Assert.InRange(Server.Info("evicted_keys"), 1, 2000);
    }
}
