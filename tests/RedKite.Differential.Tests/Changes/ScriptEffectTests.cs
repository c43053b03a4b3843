namespace RedKite.Differential.Tests.Changes;

/// <summary>A script has the effects of the commands that it called, once each, in a transaction as well.</summary>
public sealed class ScriptEffectTests(ScriptEffectTests.Servers servers) : IClassFixture<ScriptEffectTests.Servers>
{
    private const string Increment = "EVAL \"redis.call('INCR', KEYS[1]) return redis.call('INCR', KEYS[1])\" 1 n";

    [Fact]
    public void Commands_of_a_script_are_one_unit() =>
        AssertEffects([Increment], ["0: MULTI", "0: INCR n", "0: INCR n", "0: EXEC"]);

    [Fact]
    public void Commands_of_a_queued_script_belong_to_the_transaction() =>
        AssertEffects(["MULTI", "SET n 5", Increment, "INCR n", Increment, "EXEC"], ["0: MULTI", "0: SET n 5", "0: INCR n", "0: INCR n", "0: INCR n", "0: INCR n", "0: INCR n", "0: EXEC"]);

    private void AssertEffects(string[] commands, string[] effects)
    {
        servers.Primary.Control.Run("FLUSHALL");
        servers.Primary.TakeEffects();
        foreach (string command in commands) servers.Primary.Control.Run(command);
        Assert.Equal(effects, servers.Primary.TakeEffects().Select(effect => effect.ToString()));
    }

    public sealed class Servers : IDisposable
    {
        internal WatchedRedKite Primary { get; } = new();

        public void Dispose() => Primary.Dispose();
    }
}
