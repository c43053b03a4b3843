using RedKite.Differential.Tests.Streams;

namespace RedKite.Differential.Tests.Generators;

/// <summary>
/// Sets, with small limits so that every encoding is met often. What is drawn at random is drawn from sets of one member, or
/// the set is deleted at once, since two servers draw differently.
/// </summary>
internal static class SetGenerator
{
    public static readonly CommandFamily Family = new("set",
    [
        new("SADD", 40, d => Episode.Of(["SADD", Key(d), .. d.Several(8, () => Member(d))])),
        new("SADD of integers", 20, d => Episode.Of(["SADD", Key(d), .. d.Several(10, () => (Argument)Integer(d))])),
        new("SREM", 16, d => Episode.Of(["SREM", Key(d), .. d.Several(6, () => Member(d))])),
        new("SISMEMBER", 10, d => Episode.Of("SISMEMBER", Key(d), Member(d))),
        new("SMISMEMBER", 8, d => Episode.Of(["SMISMEMBER", Key(d), .. d.Several(6, () => Member(d))])),
        new("SCARD", 8, d => Episode.Of("SCARD", Key(d))),
        new("SMEMBERS", 10, d => Episode.Of("SMEMBERS", Key(d))),
        new("SMOVE", 14, d => Episode.Of("SMOVE", Key(d), Key(d), Member(d))),
        new("SINTER", 12, d => Episode.Of(["SINTER", .. d.Several(4, () => Key(d))])),
        new("SUNION", 12, d => Episode.Of(["SUNION", .. d.Several(7, () => Key(d))])),
        new("SDIFF", 12, d => Episode.Of(["SDIFF", .. d.Several(4, () => Key(d))])),
        new("SINTERCARD", 12, InterCard),
        new("stores", 24, d => Episode.Of([d.Word("SINTERSTORE", "SUNIONSTORE", "SDIFFSTORE"), Key(d), .. d.Several(5, () => Key(d))])),
        new("SPOP of all", 3, d => Episode.Of("SPOP", Key(d), d.Pick<Argument>("10000", "9223372036854775807", "0", "-1", "abc", "1.5", "9223372036854775808")).Then("PING")),
        new("SPOP with too much", 1, d => Episode.Of("SPOP", Key(d), "0", d.Junk()).Then("SRANDMEMBER", Key(d), "1", d.Junk())),
        new("SPOP", 4, DrawOfOne),
        new("SPOP of some", 3, d => DrawAndDelete(d, "SPOP")),
        new("SRANDMEMBER", 4, d => Episode.Of("SRANDMEMBER", Key(d))),
        new("SRANDMEMBER of some", 8, d => Episode.Of("SRANDMEMBER", Key(d), d.Chance(85) ? d.Below(40) - 20 : d.Pick<Argument>("-9223372036854775808", "9223372036854775807", "abc", ""))),
        new("SSCAN", 8, Scan),
        new("SORT", 5, d => Episode.Of(["SORT", Key(d), .. d.Chance(60) ? (Argument[])["ALPHA"] : [], .. d.Chance(30) ? (Argument[])["LIMIT", d.Below(6), d.Below(6)] : []])),
        new("SORT and store", 3, d => Episode.Of("SORT", Key(d), "BY", "nosort", "ALPHA", "STORE", "set:sorted").Then("LRANGE", "set:sorted", 0, -1)),
        new("ZUNION", 4, d => Episode.Of(d.Word("ZUNION", "ZINTER", "ZDIFF"), 3, Key(d), Key(d), Key(d), "WITHSCORES")),
        new("ZUNIONSTORE", 4, d => Episode.Of(d.Word("ZUNIONSTORE", "ZINTERSTORE"), "set:scored", 2, Key(d), "set:scored", "WEIGHTS", d.Below(5), 2)),
        new("EXPIRE", 4, d => Episode.Of("EXPIRE", Key(d), d.FarSeconds())),
        new("COPY", 4, d => Episode.Of("COPY", Key(d), Key(d), "REPLACE")),
        new("RENAME", 4, d => Episode.Of("RENAME", Key(d), Key(d))),
        new("OBJECT ENCODING", 8, d => Episode.Of("OBJECT", "ENCODING", Key(d))),
        new("TYPE", 2, d => Episode.Of("TYPE", Key(d))),
        new("SET", 3, d => Episode.Of("SET", Key(d), d.Value())),
        new("DEL", 4, d => Episode.Of("DEL", Key(d))),
        new("CONFIG SET", 2, d => Episode.Of("CONFIG", "SET", "set-max-intset-entries", d.Pick<Argument>("0", "4", "16", "512"))),
        new("COMMAND GETKEYS", 2, d => Episode.Of(["COMMAND", "GETKEYS", .. InterCard(d).Commands[0].Select(word => (Argument)word)])),
    ]);

    /// <summary>Puts back what streams change.</summary>
    public const string Restore = "CONFIG SET set-max-intset-entries 512";

    // Keys of their own, so that a difference that is allowed for a set's encoding cannot hide one of another type.
    private static Argument Key(Draw d) => "set:" + d.Below(8);

    private static Argument Member(Draw d) => d.Below(10) switch
    {
        < 4 => "m" + d.Below(40),
        < 8 => Integer(d),
        8 => d.Value(),
        _ => d.Float(),
    };

    private static string Integer(Draw d) => (d.Below(12) switch
    {
        0 => d.Pick(32_767, 32_768, -32_768, -32_769, 2_147_483_647, 2_147_483_648, -2_147_483_648, -2_147_483_649, long.MaxValue, long.MinValue),
        1 => d.Below(2_000_000),
        _ => d.Below(60) - 20,
    }).ToString(System.Globalization.CultureInfo.InvariantCulture);

    private static Episode InterCard(Draw d)
    {
        Argument[] keys = d.Several(4, () => Key(d));
        Argument count = d.Chance(85) ? keys.Length : d.Pick<Argument>("0", "-1", "1", "5", "abc", "", "9223372036854775807");
        List<Argument> words = [d.Word("SINTERCARD"), count, .. keys];
        if (d.Chance(40)) words.AddRange([d.Word("LIMIT"), d.Chance(80) ? d.Below(6) : d.Integer()]);
        if (d.Chance(5)) words.Add(d.Junk());
        return Episode.Of([.. words]);
    }

    // One member can only be drawn in one way.
    private static Episode DrawOfOne(Draw d)
    {
        Argument key = Key(d);
        Episode episode = Episode.Of("DEL", key).Then("SADD", key, Member(d)).Then("SRANDMEMBER", key).Then("SRANDMEMBER", key, -3);
        return episode.Then("SPOP", key).Then("EXISTS", key).Then("SPOP", key);
    }

    private static Episode DrawAndDelete(Draw d, string command)
    {
        Argument key = Key(d);
        return Episode.Of(command, key, 1 + d.Below(6)).Then("SCARD", key).Then("DEL", key);
    }

    private static Episode Scan(Draw d)
    {
        List<Argument> words = [d.Word("SSCAN"), Key(d), d.Chance(85) ? "0" : d.Integer()];
        for (int i = d.Below(3); i > 0; i--)
        {
            if (d.Chance(45)) words.AddRange([d.Word("MATCH"), d.Chance(50) ? "m*" : d.Pattern()]);
            else words.AddRange([d.Word("COUNT"), d.Chance(85) ? 100_000 : d.Pick<Argument>("0", "-1", "abc", "1")]);
        }

        return Episode.Of([.. words]);
    }
}
