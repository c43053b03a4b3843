using RedKite.Differential.Tests.Streams;

namespace RedKite.Differential.Tests.Generators;

/// <summary>
/// Sorted set commands, on few keys with few members and small limits for packed sets, so that sets change their encoding
/// all the time. Lexicographic ranges have keys of their own, whose scores are all 0: elsewhere their result is not defined.
/// </summary>
internal static class SortedSetGenerator
{
    private const string MembersMax = "zset-max-listpack-entries";

    private static readonly Argument[] KeyPool = ["z1", "z2", "z3", "z4", "z5"];
    private static readonly Argument[] LexKeyPool = ["zl1", "zl2"];

    private static readonly Argument[] MemberPool =
    [
        "a", "b", "c", "d", "e", "f", "g", "h", "aa", "ab", "b1", "0", "1", "2", "10", "-1", "007", "4096", "9223372036854775807", "-9223372036854775808",
        "", "one", "two", "three", "a member of more than twenty bytes", new byte[] { 0 }, new byte[] { 0xff }, new byte[] { (byte)'a', 0xff }, "naïve", "3.5", "inf",
    ];

    private static readonly Argument[] ScorePool =
    [
        "0", "1", "2", "3", "5", "10", "-1", "-5", "100", "1.5", "0.1", "0.2", "0.3", "3.0", "1e3", "1e-7", "1e20", "1e21", "1e100", "17.000000000000004", "-0", "-0.0",
        "inf", "-inf", "+inf", "Infinity", "9007199254740993", "9223372036854775807", "4503599627370497.5", "0x10", "0x1.8p1", "-0x.4p-3", "5e-324", "1.7976931348623157e308", ".5", "5.",
        "123456789012345678", "0.30000000000000004", "1234567.891", "-12345678901234567890",
    ];

    private static readonly Argument[] NotScorePool = ["nan", "-nan", "abc", "", " 1", "1 ", "1e400", "-1e400", "1e-400", "0x", "0x.p1", "1e", "--1", "(1", "1.2.3", new byte[] { (byte)'1', 0 }];

    private static readonly Argument[] LexPool =
    [
        "-", "+", "[a", "(a", "[b", "(b", "[c", "(e", "[aa", "[", "(", "[0", "[10", "[z", "(naïve", new byte[] { (byte)'[', 0xff }, "a", "", "--", "+1", "1",
    ];

    public static readonly CommandFamily Family = new("sorted-set",
    [
        new("ZADD", 70, ZAdd),
        new("ZADD", 15, d => Episode.Of("ZADD", LexKey(d), "0", Member(d), "0", Member(d), "0", Member(d))),
        new("ZINCRBY", 12, d => Episode.Of("ZINCRBY", Key(d), Score(d), Member(d))),
        new("ZREM", 16, d => Episode.Of(["ZREM", AnyKey(d), .. d.Several(4, () => Member(d))])),
        new("ZCARD", 5, d => Episode.Of("ZCARD", AnyKey(d))),
        new("ZSCORE", 10, d => Episode.Of("ZSCORE", Key(d), Member(d))),
        new("ZMSCORE", 5, d => Episode.Of(["ZMSCORE", Key(d), .. d.Several(5, () => Member(d))])),
        new("ZRANK", 8, d => Episode.Of("ZRANK", Key(d), Member(d))),
        new("ZREVRANK", 6, d => Episode.Of("ZREVRANK", Key(d), Member(d))),
        new("ZRANGE", 40, d => Episode.Of(Range(d, "ZRANGE", Key(d), stores: false))),
        new("ZRANGE by member", 10, d => Episode.Of([d.Word("ZRANGE"), LexKey(d), Lex(d), Lex(d), d.Word("BYLEX"), .. LexOptions(d)])),
        new("ZREVRANGE", 8, d => Episode.Of(["ZREVRANGE", Key(d), d.Index(), d.Index(), .. WithScores(d)])),
        new("ZRANGEBYSCORE", 10, d => Episode.Of(["ZRANGEBYSCORE", Key(d), ScoreEnd(d), ScoreEnd(d), .. WithScores(d), .. Limit(d)])),
        new("ZREVRANGEBYSCORE", 8, d => Episode.Of(["ZREVRANGEBYSCORE", Key(d), ScoreEnd(d), ScoreEnd(d), .. Limit(d), .. WithScores(d)])),
        new("ZRANGEBYLEX", 8, d => Episode.Of(["ZRANGEBYLEX", LexKey(d), Lex(d), Lex(d), .. Limit(d)])),
        new("ZREVRANGEBYLEX", 8, d => Episode.Of(["ZREVRANGEBYLEX", LexKey(d), Lex(d), Lex(d), .. Limit(d)])),
        new("ZLEXCOUNT", 6, d => Episode.Of("ZLEXCOUNT", LexKey(d), Lex(d), Lex(d))),
        new("ZCOUNT", 8, d => Episode.Of("ZCOUNT", Key(d), ScoreEnd(d), ScoreEnd(d))),
        new("ZRANGESTORE", 8, d => Episode.Of(Range(d, "ZRANGESTORE", Key(d), stores: true))),
        new("ZREMRANGEBYRANK", 3, d => Episode.Of("ZREMRANGEBYRANK", AnyKey(d), d.Index(), d.Index())),
        new("ZREMRANGEBYSCORE", 3, d => Episode.Of("ZREMRANGEBYSCORE", Key(d), ScoreEnd(d), ScoreEnd(d))),
        new("ZREMRANGEBYLEX", 3, d => Episode.Of("ZREMRANGEBYLEX", LexKey(d), Lex(d), Lex(d))),
        new("ZPOPMIN", 4, d => Episode.Of(["ZPOPMIN", Key(d), .. PopCount(d)])),
        new("ZPOPMAX", 4, d => Episode.Of(["ZPOPMAX", Key(d), .. PopCount(d)])),
        new("ZMPOP", 6, ZMPop),
        new("ZUNION", 8, d => Episode.Of(["ZUNION", .. Inputs(d, weighs: true), .. WithScores(d)])),
        new("ZINTER", 8, d => Episode.Of(["ZINTER", .. Inputs(d, weighs: true), .. WithScores(d)])),
        new("ZDIFF", 6, d => Episode.Of(["ZDIFF", .. Inputs(d, weighs: d.Chance(5)), .. WithScores(d)])),
        new("ZINTERCARD", 6, ZInterCard),
        new("ZUNIONSTORE", 5, d => Episode.Of(["ZUNIONSTORE", Key(d), .. Inputs(d, weighs: true), .. d.Chance(5) ? WithScores(d) : []])),
        new("ZINTERSTORE", 5, d => Episode.Of(["ZINTERSTORE", Key(d), .. Inputs(d, weighs: true)])),
        new("ZDIFFSTORE", 4, d => Episode.Of(["ZDIFFSTORE", Key(d), .. Inputs(d, weighs: false)])),
        new("ZRANDMEMBER", 6, ZRandMember),
        new("ZSCAN", 8, ZScan),
        new("CONFIG", 2, d => Episode.Of("CONFIG", "SET", MembersMax, d.Pick<Argument>("0", "4", "8", "8", "128"))),
        new("OBJECT", 8, d => Episode.Of("OBJECT", "ENCODING", AnyKey(d))),
        new("COPY", 3, d => Episode.Of("COPY", Key(d), Key(d), "REPLACE")),
        new("RENAME", 2, d => Episode.Of("RENAME", Key(d), Key(d))),
        new("DEL", 2, d => Episode.Of("DEL", AnyKey(d))),
        new("EXPIRE", 2, d => Episode.Of("EXPIRE", Key(d), d.FarSeconds())),
        new("TYPE", 2, d => Episode.Of("TYPE", AnyKey(d))),
        new("SET", 1, d => Episode.Of("SET", Key(d), d.Value())),
        new("HELLO", 2, d => Episode.Of("HELLO", d.Pick<Argument>("2", "3"))),
    ]);

    /// <summary>The parameters that a stream begins with.</summary>
    public static readonly string[] Restore = [$"CONFIG SET {MembersMax} 8", "CONFIG SET zset-max-listpack-value 20"];

    /// <summary>Whether the first key of a command is one of those with equal scores.</summary>
    public static bool IsLexicographic(byte[][] command) => command.Length > 1 && LexKeyPool.Any(key => key.Bytes.AsSpan().SequenceEqual(command[1]));

    private static Argument Key(Draw d) => d.Chance(92) ? d.Pick(KeyPool) : d.Chance(50) ? "nosuchset" : d.Key();

    private static Argument LexKey(Draw d) => d.Pick(LexKeyPool);

    private static Argument AnyKey(Draw d) => d.Chance(80) ? Key(d) : LexKey(d);

    private static Argument Member(Draw d) => d.Chance(60) ? d.Pick(MemberPool[..12]) : d.Pick(MemberPool);

    private static Argument Score(Draw d) => d.Chance(50) ? d.Pick(ScorePool[..10]) : d.Chance(92) ? d.Pick(ScorePool) : d.Pick(NotScorePool);

    // Also what strtod takes and a score does not: blanks, nothing, numbers that overflow.
    private static Argument ScoreEnd(Draw d)
    {
        Argument score = d.Chance(30) ? d.Pick<Argument>("-inf", "+inf", "inf") : Score(d);
        return d.Chance(25) ? new Argument([(byte)'(', .. score.Bytes]) : score;
    }

    private static Argument Lex(Draw d) => d.Pick(LexPool);

    private static Argument[] WithScores(Draw d) => d.Chance(60) ? [d.Word("WITHSCORES")] : d.Chance(5) ? [d.Junk()] : [];

    private static Argument[] Limit(Draw d) => d.Chance(60)
        ? []
        : [d.Word("LIMIT"), d.Chance(90) ? d.Below(8) - 1 : d.Integer(), d.Chance(90) ? d.Below(8) - 2 : d.Integer()];

    private static Argument[] LexOptions(Draw d)
    {
        Argument[] limit = Limit(d);
        return d.Chance(40) ? [d.Word("REV"), .. limit] : limit;
    }

    private static Argument[] PopCount(Draw d) => d.Chance(50) ? [] : [d.Chance(85) ? d.Below(5) : d.Integer()];

    private static Episode ZAdd(Draw d)
    {
        List<Argument> words = [d.Word("ZADD"), Key(d)];
        int options = d.Chance(55) ? 0 : 1 + d.Below(3);
        for (int i = 0; i < options; i++) words.Add(d.Word("NX", "XX", "GT", "LT", "CH", "INCR", "CH"));
        for (int i = d.Chance(50) ? 0 : d.Below(6); i >= 0; i--) words.AddRange([Score(d), Member(d)]);
        return Episode.Of([.. words]);
    }

    // By rank or score, with all options there are in any order.
    private static Argument[] Range(Draw d, string command, Argument key, bool stores)
    {
        bool byScore = d.Chance(50);
        List<Argument> words = [d.Word(command)];
        if (stores) words.Add(Key(d));
        words.Add(key);
        words.AddRange(byScore ? [ScoreEnd(d), ScoreEnd(d)] : [d.Index(), d.Index()]);
        List<Argument[]> options = [];
        if (byScore) options.Add([d.Word("BYSCORE")]);
        if (d.Chance(40)) options.Add([d.Word("REV")]);
        if (d.Chance(byScore ? 40 : 4)) options.Add(Limit(d));
        if (d.Chance(stores ? 3 : 60)) options.Add([d.Word("WITHSCORES")]);
        if (d.Chance(3)) options.Add([d.Chance(50) ? d.Word("REV", "BYSCORE", "LIMIT") : d.Junk()]);
        while (options.Count > 0)
        {
            int next = d.Below(options.Count);
            words.AddRange(options[next]);
            options.RemoveAt(next);
        }

        return [.. words];
    }

    private static Argument[] Inputs(Draw d, bool weighs)
    {
        int count = 1 + d.Below(3);
        List<Argument> words = [d.Chance(95) ? count : d.Integer()];
        for (int i = 0; i < count; i++) words.Add(Key(d));
        if (weighs && d.Chance(40))
        {
            words.Add(d.Word("WEIGHTS"));
            for (int i = 0; i < count; i++) words.Add(Score(d));
        }

        if (weighs && d.Chance(40)) words.AddRange([d.Word("AGGREGATE"), d.Word("SUM", "MIN", "MAX", "MIN", "MAX", "AVG")]);
        return [.. words];
    }

    private static Episode ZMPop(Draw d)
    {
        int count = 1 + d.Below(3);
        List<Argument> words = [d.Word("ZMPOP"), d.Chance(93) ? count : d.Integer()];
        for (int i = 0; i < count; i++) words.Add(Key(d));
        words.Add(d.Word("MIN", "MAX"));
        if (d.Chance(50)) words.AddRange([d.Word("COUNT"), d.Chance(85) ? d.Below(4) : d.Integer()]);
        if (d.Chance(4)) words.AddRange([d.Word("COUNT", "MIN"), "2"]);
        return Episode.Of([.. words]);
    }

    private static Episode ZInterCard(Draw d)
    {
        Argument[] inputs = Inputs(d, weighs: d.Chance(3));
        return d.Chance(50) ? Episode.Of(["ZINTERCARD", .. inputs]) : Episode.Of(["ZINTERCARD", .. inputs, d.Word("LIMIT"), d.Chance(85) ? d.Below(4) : d.Integer()]);
    }

    // Large negative counts ask for as many members: they stay away.
    private static Episode ZRandMember(Draw d)
    {
        Argument key = Key(d);
        if (d.Chance(30)) return Episode.Of("ZRANDMEMBER", key);
        Argument count = d.Chance(85) ? d.Below(40) - 15 : d.Pick<Argument>("9223372036854775807", "-9223372036854775808", "9223372036854775808", "abc", "", "1.5");
        return Episode.Of(["ZRANDMEMBER", key, count, .. WithScores(d)]);
    }

    private static Episode ZScan(Draw d)
    {
        List<Argument> words = [d.Word("ZSCAN"), AnyKey(d), d.Chance(90) ? "0" : d.Pick<Argument>("1", "abc", "18446744073709551615", "18446744073709551616")];
        if (d.Chance(40)) words.AddRange([d.Word("MATCH"), d.Chance(50) ? d.Pattern() : d.Pick<Argument>("a*", "[a-c]", "?")]);
        words.AddRange(d.Chance(80) ? [d.Word("COUNT"), "1000"] : d.Chance(70) ? [] : [d.Word("COUNT"), d.Integer()]);
        return Episode.Of([.. words]);
    }
}
