using RedKite.Differential.Tests.Streams;

namespace RedKite.Differential.Tests.Generators;

/// <summary>
/// Sets, with small limits so that every encoding occurs often. Random members come from sets of one member, or the set is
/// deleted at once, because two servers choose differently.
/// </summary>
internal static class SetGenerator
{
    public static readonly CommandFamily Family = new("set",
    [
        new("SADD", 40, random => Episode.Of(["SADD", Key(random), .. random.Several(8, () => Member(random))])),
        new("SADD of integers", 20, random => Episode.Of(["SADD", Key(random), .. random.Several(10, () => (Argument)Integer(random))])),
        new("SREM", 16, random => Episode.Of(["SREM", Key(random), .. random.Several(6, () => Member(random))])),
        new("SISMEMBER", 10, random => Episode.Of("SISMEMBER", Key(random), Member(random))),
        new("SMISMEMBER", 8, random => Episode.Of(["SMISMEMBER", Key(random), .. random.Several(6, () => Member(random))])),
        new("SCARD", 8, random => Episode.Of("SCARD", Key(random))),
        new("SMEMBERS", 10, random => Episode.Of("SMEMBERS", Key(random))),
        new("SMOVE", 14, random => Episode.Of("SMOVE", Key(random), Key(random), Member(random))),
        new("SINTER", 12, random => Episode.Of(["SINTER", .. random.Several(4, () => Key(random))])),
        new("SUNION", 12, random => Episode.Of(["SUNION", .. random.Several(7, () => Key(random))])),
        new("SDIFF", 12, random => Episode.Of(["SDIFF", .. random.Several(4, () => Key(random))])),
        new("SINTERCARD", 12, InterCard),
        new("stores", 24, random => Episode.Of([random.Word("SINTERSTORE", "SUNIONSTORE", "SDIFFSTORE"), Result(random), .. random.Several(5, () => Key(random))])),
        new("SPOP of all", 3, random => Episode.Of("SPOP", Key(random), random.Pick<Argument>("10000", "9223372036854775807", "0", "-1", "abc", "1.5", "9223372036854775808")).Then("PING")),
        new("SPOP with too much", 1, random => Episode.Of("SPOP", Key(random), "0", random.Junk()).Then("SRANDMEMBER", Key(random), "1", random.Junk())),
        new("SPOP", 4, SampleOfOne),
        new("SPOP of a member", 3, random => RandomSample.Of("SPOP", Key(random))),
        new("SPOP of some", 6, random => RandomSample.Of("SPOP", Key(random), random.Below(12))),
        new("SRANDMEMBER", 4, random => RandomSample.Of("SRANDMEMBER", Key(random))),
        new("SRANDMEMBER of some", 8, random => RandomSample.Of("SRANDMEMBER", Key(random), random.Chance(85) ? random.Below(40) - 20 : random.Pick<Argument>("-9223372036854775808", "9223372036854775807", "abc", ""))),
        new("SSCAN", 8, Scan),
        new("SORT", 6, Sort),
        new("ZUNION", 4, random => Episode.Of(random.Word("ZUNION", "ZINTER", "ZDIFF"), 3, Key(random), Key(random), Key(random), "WITHSCORES")),
        new("ZUNIONSTORE", 4, random => Episode.Of(random.Word("ZUNIONSTORE", "ZINTERSTORE"), "set:scored", 2, Key(random), "set:scored", "WEIGHTS", random.Below(5), 2)),
        new("EXPIRE", 4, random => Episode.Of("EXPIRE", Key(random), random.FarSeconds())),
        new("COPY", 4, random => Episode.Of("COPY", Given(random), Given(random), "REPLACE")),
        new("RENAME", 4, random => Episode.Of("RENAME", Given(random), Given(random))),
        new("OBJECT ENCODING", 8, random => Episode.Of("OBJECT", "ENCODING", Key(random))),
        new("TYPE", 2, random => Episode.Of("TYPE", Key(random))),
        new("SET", 3, random => Episode.Of("SET", Key(random), random.Value())),
        new("DEL", 4, random => Episode.Of("DEL", Key(random))),
        new("CONFIG SET", 2, random => Episode.Of("CONFIG", "SET", "set-max-intset-entries", random.Pick<Argument>("0", "4", "16", "512"))),
        new("CONFIG SET of packed sets", 2, random => random.Chance(60)
            ? Episode.Of("CONFIG", "SET", "set-max-listpack-entries", random.Pick<Argument>("0", "4", "12", "128"))
            : Episode.Of("CONFIG", "SET", "set-max-listpack-value", random.Pick<Argument>("0", "3", "8", "64"))),
        new("COMMAND GETKEYS", 2, random => Episode.Of(["COMMAND", "GETKEYS", .. InterCard(random).Commands[0].Select(word => (Argument)word)])),
    ]);

    /// <summary>Restores the settings that streams change.</summary>
    public static readonly string[] Restore = ["CONFIG SET set-max-intset-entries 512", "CONFIG SET set-max-listpack-entries 128", "CONFIG SET set-max-listpack-value 64"];

    private static Argument Key(RandomSource random) => random.Chance(75) ? Given(random) : Result(random);

    private static Argument Given(RandomSource random) => "set:" + random.Below(8);

    // Separate keys, so that an allowed difference of a stored set's encoding cannot hide one of another set.
    private static Argument Result(RandomSource random) => "set:result:" + random.Below(3);

    private static Argument Member(RandomSource random) => random.Below(10) switch
    {
        < 4 => "m" + random.Below(40),
        < 8 => Integer(random),
        8 => random.Value(),
        _ => random.Float(),
    };

    private static string Integer(RandomSource random) => (random.Below(12) switch
    {
        0 => random.Pick(32_767, 32_768, -32_768, -32_769, 2_147_483_647, 2_147_483_648, -2_147_483_648, -2_147_483_649, long.MaxValue, long.MinValue),
        1 => random.Below(2_000_000),
        _ => random.Below(60) - 20,
    }).ToString(System.Globalization.CultureInfo.InvariantCulture);

    private static Episode InterCard(RandomSource random)
    {
        Argument[] keys = random.Several(4, () => Key(random));
        Argument count = random.Chance(85) ? keys.Length : random.Pick<Argument>("0", "-1", "1", "5", "abc", "", "9223372036854775807");
        List<Argument> words = [random.Word("SINTERCARD"), count, .. keys];
        if (random.Chance(40)) words.AddRange([random.Word("LIMIT"), random.Chance(80) ? random.Below(6) : random.Integer()]);
        if (random.Chance(5)) words.Add(random.Junk());
        return Episode.Of([.. words]);
    }

    // As text without zero bytes, which end it in Redis; and with distinct members, so that there is only one order.
    private static Episode Sort(RandomSource random)
    {
        Argument[] members = random.Several(20, () => (Argument)(random.Chance(50) ? "m" + random.Below(40) : Integer(random)));
        Argument[] limit = random.Chance(40) ? ["LIMIT", random.Below(6), random.Below(8)] : [];
        Episode episode = Episode.Of("DEL", "set:made").Then(["SADD", "set:made", .. members]);
        return episode
            .Then(["SORT", "set:made", "ALPHA", .. random.Chance(50) ? (Argument[])["DESC"] : [], .. limit])
            .Then(["SORT", "set:made", "BY", "nosort", .. limit, "STORE", "set:sorted"])
            .Then("LRANGE", "set:sorted", 0, -1);
    }

    // With one member the choice is determined.
    private static Episode SampleOfOne(RandomSource random)
    {
        Argument key = Key(random);
        Episode episode = Episode.Of("DEL", key).Then("SADD", key, Member(random)).Then("SRANDMEMBER", key).Then("SRANDMEMBER", key, -3);
        return episode.Then("SPOP", key).Then("EXISTS", key).Then("SPOP", key);
    }

    private static Episode Scan(RandomSource random)
    {
        List<Argument> words = [random.Word("SSCAN"), Key(random), random.Chance(85) ? "0" : random.Integer()];
        for (int i = random.Below(3); i > 0; i--)
        {
            if (random.Chance(45)) words.AddRange([random.Word("MATCH"), random.Chance(50) ? "m*" : random.Pattern()]);
            else words.AddRange([random.Word("COUNT"), random.Chance(85) ? 100_000 : random.Pick<Argument>("0", "-1", "abc", "1")]);
        }

        return Episode.Of([.. words]);
    }
}
