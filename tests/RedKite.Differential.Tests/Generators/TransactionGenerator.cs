using RedKite.Differential.Tests.Streams;

namespace RedKite.Differential.Tests.Generators;

/// <summary>
/// Transactions of several clients over the same few keys. Inside are commands whose replies are determined to the byte, because
/// EXEC's reply is compared as a whole.
/// </summary>
internal static class TransactionGenerator
{
    public static readonly CommandFamily Family = new("transactions",
    [
        new("MULTI", 160, random => Episode.Of(random.Word("MULTI"))),
        new("EXEC", 150, random => Episode.Of(random.Word("EXEC"))),
        new("DISCARD", 20, _ => Episode.Of("DISCARD")),
        new("WATCH", 120, random => Episode.Of(["WATCH", random.Key(), .. random.Several(2, random.Key)])),
        new("UNWATCH", 15, _ => Episode.Of("UNWATCH")),
        new("SELECT", 25, random => Episode.Of("SELECT", random.Chance(90) ? "0" : "1")),
        new("SWAPDB", 6, _ => Episode.Of("SWAPDB", "0", "1")),
        new("FLUSHDB", 6, _ => Episode.Of("FLUSHDB")),
        new("DEL", 40, random => Episode.Of("DEL", random.Key())),
        new("RENAME", 15, random => Episode.Of("RENAME", random.Key(), random.Key())),
        new("BLPOP", 15, random => Episode.Of("MULTI").Then("BLPOP", "nosuch", "0").Then("EXEC")),
        new("RESET", 4, _ => Episode.Of("RESET")),
        new("HELLO", 8, random => Episode.Of("RESET").Then("HELLO", random.Chance(50) ? "2" : "3")), // inside, its reply distinguishes the servers
        new("expiry", 60, random => Expiry(random)),
        // SET and WATCH must both be executed before the key expires, on a busy machine as well.
        new("WATCH of a key that expires", 4, random => Expiring(random)),
        new("time stands still", 6, random => Episode.Of("DISCARD").Then("MULTI").Then("SET", "brief", "v", "PX", "1").Then("EVAL", ScriptGenerator.Spin, "0").Then("GET", "brief").Then("EXEC").Then("GET", "brief")),
        new("inside", 900, random => Episode.Of(DeterminedCommands.Request(random))),
    ]);

    /// <summary>The family without commands that depend on the passing of time.</summary>
    public static readonly CommandFamily WithoutClock = Family with
    {
        Templates = [.. Family.Templates.Where(template => template.Name is not ("WATCH of a key that expires" or "time stands still"))],
    };

    /// <summary>An expiry whose reply does not depend on the time.</summary>
    internal static Episode Expiry(RandomSource random) => random.Below(4) switch
    {
        0 => Episode.Of("PERSIST", random.Key()),
        1 => Episode.Of(random.Word("EXPIREAT", "PEXPIREAT"), random.Key(), random.Pick("1", "0", "-1", "4102444800000")),
        2 => Episode.Of(random.Word("EXPIRE", "PEXPIRE"), random.Key(), random.Pick("100000", "200000", "0", "-1"), random.Word("NX", "XX", "GT", "LT")),
        _ => Episode.Of(random.Word("EXPIRE", "PEXPIRE"), random.Key(), random.Pick("100000", "200000", "0", "-1")),
    };

    private static Episode Expiring(RandomSource random)
    {
        Argument key = random.Key();
        return Episode.Of("SET", key, random.Value(), "PX", "80").Then("WATCH", key) with
        {
            WaitMs = 100,
            CommandsAfterWait = Episode.Of("MULTI").Then("GET", key).Then("EXEC").Then("GET", key).Commands, // which removes it
        };
    }
}
