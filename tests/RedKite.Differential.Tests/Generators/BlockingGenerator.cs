using RedKite.Differential.Tests.Streams;

namespace RedKite.Differential.Tests.Generators;

/// <summary>
/// Commands that may block, on one connection at a time: they reply at once or time out. Transcripts cover clients that another
/// client serves.
/// </summary>
internal static class BlockingGenerator
{
    public static readonly CommandFamily Family = new("blocking",
    [
        new("BLPOP", 12, random => Episode.Of([random.Word("BLPOP", "BRPOP"), .. random.Several(3, () => ListKey(random)), Timeout(random)])),
        new("BLMOVE", 8, random => Episode.Of("BLMOVE", ListKey(random), ListKey(random), End(random), End(random), Timeout(random))),
        new("BRPOPLPUSH", 4, random => Episode.Of("BRPOPLPUSH", ListKey(random), ListKey(random), Timeout(random))),
        new("BLMPOP", 8, random => MultiPop(random, "BLMPOP", () => ListKey(random), End(random))),
        new("BZPOPMIN", 10, random => Episode.Of([random.Word("BZPOPMIN", "BZPOPMAX"), .. random.Several(3, () => SetKey(random)), Timeout(random)])),
        new("BZMPOP", 8, random => MultiPop(random, "BZMPOP", () => SetKey(random), random.Chance(95) ? random.Word("MIN", "MAX") : random.Junk())),
        new("XREAD BLOCK", 8, random => Episode.Of("XREAD", random.Word("BLOCK"), random.Chance(90) ? "1" : random.Pick<Argument>("-1", "x", "", "1.5"), "STREAMS", StreamKey(random), random.Pick("$", "0", "+"))),
        new("XREADGROUP BLOCK", 6, random => Episode.Of("XGROUP", "CREATE", StreamKey(random), "g", "0", "MKSTREAM").Then("XREADGROUP", "GROUP", "g", "c1", "BLOCK", "1", "STREAMS", StreamKey(random), random.Pick(">", "0"))),
        new("RPUSH for BLPOP", 16, random => Episode.Of(["RPUSH", ListKey(random), .. random.Several(3, random.Value)])),
        new("ZADD for BZPOPMIN", 12, random => Episode.Of(["ZADD", SetKey(random), .. random.Several(3, () => (Argument)random.Below(9)).SelectMany(score => (Argument[])[score, "m" + random.Below(6)])])),
        new("XADD for XREAD", 6, random => Episode.Of("XADD", StreamKey(random), random.NextStreamMs(), "f", random.Value())),
        new("SET over what may block", 1, random => Episode.Of("SET", random.Chance(50) ? ListKey(random) : SetKey(random), random.Value())),
        new("DEL of what may block", 2, random => Episode.Of("DEL", ListKey(random), SetKey(random))),
    ]);

    /// <summary>Whether a command may wait without end once one of its arguments is changed.</summary>
    public static bool MayBlock(string name) => name is "BLPOP" or "BRPOP" or "BLMOVE" or "BRPOPLPUSH" or "BLMPOP" or "BZPOPMIN" or "BZPOPMAX" or "BZMPOP";

    private static Argument ListKey(RandomSource random) => "blocking:list:" + random.Below(4);

    private static Argument SetKey(RandomSource random) => "blocking:zset:" + random.Below(4);

    private static Argument StreamKey(RandomSource random) => "blocking:stream:" + random.Below(2);

    private static Argument End(RandomSource random) => random.Chance(95) ? random.Word("LEFT", "RIGHT") : random.Junk();

    // Never 0, which waits without end, and nothing between -1 and 0, which is rounded to it.
    private static Argument Timeout(RandomSource random) => random.Chance(88)
        ? random.Pick<Argument>("0.001", "0.002", "1e-3", "0.0001", "+0.001", "0.005")
        : random.Pick<Argument>("-1", "-1.5", "abc", "", " 0.001", "nan", "1e300", "1e400", "9223372036854775807", "99999999999999999999");

    private static Episode MultiPop(RandomSource random, string name, Func<Argument> key, Argument end)
    {
        Argument[] keys = random.Several(3, key);
        List<Argument> words = [random.Word(name), Timeout(random), random.Chance(92) ? keys.Length : random.Integer(), .. keys, end];
        if (random.Chance(50)) words.AddRange([random.Word("COUNT"), random.Chance(85) ? random.Below(4) : random.Integer()]);
        if (random.Chance(4)) words.Add(random.Chance(50) ? random.Word("COUNT") : random.Junk());
        return Episode.Of([.. words]);
    }
}
