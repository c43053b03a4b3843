using RedKite.Differential.Tests.Streams;

namespace RedKite.Differential.Tests.Generators;

/// <summary>
/// Commands whose result is not determined by their arguments: they depend on chance, on the clock or on how a value is
/// kept. Two servers that execute them differ afterwards, so they are only for tests that replay effects.
/// </summary>
internal static class EffectGenerator
{
    public static readonly CommandFamily Family = new("effect",
    [
        new("SADD", 20, random => Episode.Of(["SADD", Set(random), .. random.Several(8, () => (Argument)("m" + random.Below(30)))])),
        new("SPOP", 16, random => Episode.Of("SPOP", Set(random))),
        new("SPOP of some", 16, random => Episode.Of("SPOP", Set(random), random.Below(6))),
        new("SPOP of most", 4, random => Episode.Of("SPOP", Set(random), 8 + random.Below(20))),
        new("INCRBYFLOAT", 10, random => Episode.Of("INCRBYFLOAT", "float:" + random.Below(3), random.Pick("0.1", "3.3333", "-1e10", "1e-7"))),
        new("HINCRBYFLOAT", 10, random => Episode.Of("HINCRBYFLOAT", Hash(random), "f" + random.Below(4), random.Pick("0.1", "3.3333", "-1e10", "1e-7"))),
        new("ZINCRBY", 6, random => Episode.Of("ZINCRBY", "zset:" + random.Below(2), random.Pick("0.1", "3.3333", "-1e10"), "m" + random.Below(4))),
        new("XADD", 40, random => Episode.Of(["XADD", Stream(random), .. Trimming(random), random.Chance(80) ? "*" : "1-*", "a", random.Value()])),
        new("XTRIM", 8, random => Episode.Of(["XTRIM", Stream(random), .. Trimming(random, always: true)])),
        new("XGROUP", 6, random => Episode.Of("XGROUP", "CREATE", Stream(random), "g", random.Pick("0", "$"), "MKSTREAM")),
        new("XREADGROUP", 16, random => Episode.Of(["XREADGROUP", "GROUP", "g", Consumer(random), "COUNT", 1 + random.Below(4), .. random.Chance(20) ? ["NOACK"] : (Argument[])[], "STREAMS", Stream(random), ">"])),
        new("XREADGROUP of two", 4, random => Episode.Of("XREADGROUP", "GROUP", "g", Consumer(random), "STREAMS", "stream:0", "stream:1", ">", ">")),
        new("XAUTOCLAIM", 10, random => Episode.Of(["XAUTOCLAIM", Stream(random), "g", Consumer(random), "0", "-", "COUNT", 1 + random.Below(3), .. random.Chance(30) ? ["JUSTID"] : (Argument[])[]])),
        new("XCLAIM", 8, Claim),
        new("XDEL of what is pending", 4, DeletePending),
        new("XACK", 4, random => Episode.Of("XAUTOCLAIM", Stream(random), "g", Consumer(random), "0", "-", "COUNT", 1)),
        new("XGROUP DELCONSUMER", 2, random => Episode.Of("XGROUP", "DELCONSUMER", Stream(random), "g", Consumer(random))),
        new("EXPIRE", 12, random => Episode.Of(random.Pick("EXPIRE", "PEXPIRE"), Any(random), random.Below(3_000))),
        new("SET with expiry", 12, random => Episode.Of("SET", "string:" + random.Below(4), random.Value(), random.Pick("EX", "PX"), 1 + random.Below(3_000))),
        new("SETEX", 6, random => Episode.Of(random.Pick("SETEX", "PSETEX"), "string:" + random.Below(4), 1 + random.Below(3_000), random.Value())),
        new("GETEX", 6, random => Episode.Of("GETEX", "string:" + random.Below(4), random.Pick("EX", "PX"), 1 + random.Below(3_000))),
        new("HSETEX", 8, random => Episode.Of("HSETEX", Hash(random), random.Pick("EX", "PX"), 1 + random.Below(3_000), "FIELDS", 1, "f" + random.Below(8), random.Value())),
        new("HEXPIRE", 10, random => Episode.Of(random.Pick("HEXPIRE", "HPEXPIRE"), Hash(random), random.Below(3_000), "FIELDS", 2, "f" + random.Below(8), "f" + random.Below(8))),
        new("HGETEX", 6, random => Episode.Of("HGETEX", Hash(random), random.Pick("EX", "PX"), 1 + random.Below(3_000), "FIELDS", 1, "f" + random.Below(8))),
        new("RESTORE", 4, random => Episode.Of("RESTORE", "string:" + random.Below(4), random.Below(3_000), TestSupport.RedisDumps.OfRedis70["string"], "REPLACE")),
        new("COPY", 6, random => Episode.Of("COPY", Any(random), Any(random), "REPLACE")),
        new("COPY elsewhere", 3, random => Episode.Of("COPY", Any(random), Any(random), "DB", random.Below(3), "REPLACE")),
        new("MOVE", 4, random => Episode.Of("MOVE", Any(random), random.Below(3))),
        new("RENAME", 4, random => Episode.Of("RENAME", Any(random), Any(random))),
        new("SORT", 4, random => Episode.Of("SORT", Set(random), "ALPHA", "STORE", "list:0")),
        new("GEORADIUS", 4, random => Episode.Of("GEOADD", "geo", "13.3", "38.1", "a" + random.Below(9), "15.0", "37.5", "b" + random.Below(9)).Then("GEORADIUS", "geo", 15, 37, 200, "km", "COUNT", 3, "ANY", random.Pick("STORE", "STOREDIST"), "geo:found")),
        new("time passes", 20, random => Episode.Of("PING").ThenWaitAndRun(random.Pick(1, 10, 500, 2_000), random.Pick<Argument>("GET", "HGETALL", "SCARD", "XLEN", "TTL", "HLEN"), Any(random))),
        new("DEL", 2, random => Episode.Of("DEL", Any(random))),
        new("PFCOUNT", 4, random => Episode.Of("PFADD", "hll", random.Value()).Then("PFCOUNT", "hll")),
    ]);

    private static Argument Set(RandomSource random) => "set:" + random.Below(3);

    private static Argument Hash(RandomSource random) => "hash:" + random.Below(3);

    private static Argument Stream(RandomSource random) => "stream:" + random.Below(2);

    private static Argument Consumer(RandomSource random) => "c" + random.Below(3);

    private static Argument Any(RandomSource random) => random.Below(5) switch { 0 => Set(random), 1 => Hash(random), 2 => Stream(random), 3 => "float:" + random.Below(3), _ => "string:" + random.Below(4) };

    private static Argument[] Trimming(RandomSource random, bool always = false)
    {
        if (!always && random.Chance(60)) return [];
        return ["MAXLEN", random.Pick("~", "~", "="), random.Below(20)];
    }

    private static Episode Claim(RandomSource random)
    {
        long ms = random.NextStreamMs();
        Argument[] options = random.Below(5) switch { 0 => ["JUSTID"], 1 => ["IDLE", 1_000], 2 => ["RETRYCOUNT", 3], 3 => ["LASTID", $"{ms}-5"], _ => [] };
        return Episode.Of("XGROUP", "CREATE", "claimed", "g", "0", "MKSTREAM").Then("XADD", "claimed", $"{ms}-*", "a", "1")
            .Then(["XCLAIM", "claimed", "g", Consumer(random), "0", $"{ms}-0", $"{ms}-1", "FORCE", .. options]);
    }

    private static Episode DeletePending(RandomSource random)
    {
        Argument stream = Stream(random);
        return Episode.Of("XREADGROUP", "GROUP", "g", Consumer(random), "COUNT", 2, "STREAMS", stream, ">").Then("XTRIM", stream, "MAXLEN", random.Below(3))
            .Then("XAUTOCLAIM", stream, "g", Consumer(random), "0", "0");
    }
}
