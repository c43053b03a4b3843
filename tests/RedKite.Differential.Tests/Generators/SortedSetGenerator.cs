using RedKite.Differential.Tests.Streams;

namespace RedKite.Differential.Tests.Generators;

/// <summary>
/// Sorted set commands on few keys with few members and small limits for packed sets, so that sets change their encoding
/// often. Lexicographic ranges have their own keys with all scores 0, because elsewhere their result is undefined.
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
        new("ZADD", 15, random => Episode.Of("ZADD", LexKey(random), "0", Member(random), "0", Member(random), "0", Member(random))),
        new("ZINCRBY", 12, random => Episode.Of("ZINCRBY", Key(random), Score(random), Member(random))),
        new("ZREM", 16, random => Episode.Of(["ZREM", AnyKey(random), .. random.Several(4, () => Member(random))])),
        new("ZCARD", 5, random => Episode.Of("ZCARD", AnyKey(random))),
        new("ZSCORE", 10, random => Episode.Of("ZSCORE", Key(random), Member(random))),
        new("ZMSCORE", 5, random => Episode.Of(["ZMSCORE", Key(random), .. random.Several(5, () => Member(random))])),
        new("ZRANK", 8, random => Episode.Of(["ZRANK", Key(random), Member(random), .. WithScore(random)])),
        new("ZREVRANK", 6, random => Episode.Of(["ZREVRANK", Key(random), Member(random), .. WithScore(random)])),
        new("ZRANGE", 40, random => Episode.Of(Range(random, "ZRANGE", Key(random), stores: false))),
        new("ZRANGE by member", 10, random => Episode.Of([random.Word("ZRANGE"), LexKey(random), Lex(random), Lex(random), random.Word("BYLEX"), .. LexOptions(random)])),
        new("ZREVRANGE", 8, random => Episode.Of(["ZREVRANGE", Key(random), random.Index(), random.Index(), .. WithScores(random)])),
        new("ZRANGEBYSCORE", 10, random => Episode.Of(["ZRANGEBYSCORE", Key(random), ScoreEnd(random), ScoreEnd(random), .. WithScores(random), .. Limit(random)])),
        new("ZREVRANGEBYSCORE", 8, random => Episode.Of(["ZREVRANGEBYSCORE", Key(random), ScoreEnd(random), ScoreEnd(random), .. Limit(random), .. WithScores(random)])),
        new("ZRANGEBYLEX", 8, random => Episode.Of(["ZRANGEBYLEX", LexKey(random), Lex(random), Lex(random), .. Limit(random)])),
        new("ZREVRANGEBYLEX", 8, random => Episode.Of(["ZREVRANGEBYLEX", LexKey(random), Lex(random), Lex(random), .. Limit(random)])),
        new("ZLEXCOUNT", 6, random => Episode.Of("ZLEXCOUNT", LexKey(random), Lex(random), Lex(random))),
        new("ZCOUNT", 8, random => Episode.Of("ZCOUNT", Key(random), ScoreEnd(random), ScoreEnd(random))),
        new("ZRANGESTORE", 8, random => Episode.Of(Range(random, "ZRANGESTORE", Key(random), stores: true))),
        new("ZREMRANGEBYRANK", 3, random => Episode.Of("ZREMRANGEBYRANK", AnyKey(random), random.Index(), random.Index())),
        new("ZREMRANGEBYSCORE", 3, random => Episode.Of("ZREMRANGEBYSCORE", Key(random), ScoreEnd(random), ScoreEnd(random))),
        new("ZREMRANGEBYLEX", 3, random => Episode.Of("ZREMRANGEBYLEX", LexKey(random), Lex(random), Lex(random))),
        new("ZPOPMIN", 4, random => Episode.Of(["ZPOPMIN", Key(random), .. PopCount(random)])),
        new("ZPOPMAX", 4, random => Episode.Of(["ZPOPMAX", Key(random), .. PopCount(random)])),
        new("ZMPOP", 6, ZMPop),
        new("ZUNION", 8, random => Episode.Of(["ZUNION", .. Inputs(random, weighs: true), .. WithScores(random)])),
        new("ZINTER", 8, random => Episode.Of(["ZINTER", .. Inputs(random, weighs: true), .. WithScores(random)])),
        new("ZDIFF", 6, random => Episode.Of(["ZDIFF", .. Inputs(random, weighs: random.Chance(5)), .. WithScores(random)])),
        new("ZINTERCARD", 6, ZInterCard),
        new("ZUNIONSTORE", 5, random => Episode.Of(["ZUNIONSTORE", Key(random), .. Inputs(random, weighs: true), .. random.Chance(5) ? WithScores(random) : []])),
        new("ZINTERSTORE", 5, random => Episode.Of(["ZINTERSTORE", Key(random), .. Inputs(random, weighs: true)])),
        new("ZDIFFSTORE", 4, random => Episode.Of(["ZDIFFSTORE", Key(random), .. Inputs(random, weighs: false)])),
        new("ZRANDMEMBER", 6, ZRandMember),
        new("ZSCAN", 8, ZScan),
        new("CONFIG", 2, random => Episode.Of("CONFIG", "SET", MembersMax, random.Pick<Argument>("0", "4", "8", "8", "128"))),
        new("OBJECT", 8, random => Episode.Of("OBJECT", "ENCODING", AnyKey(random))),
        new("COPY", 3, random => Episode.Of("COPY", Key(random), Key(random), "REPLACE")),
        new("RENAME", 2, random => Episode.Of("RENAME", Key(random), Key(random))),
        new("DEL", 2, random => Episode.Of("DEL", AnyKey(random))),
        new("EXPIRE", 2, random => Episode.Of("EXPIRE", Key(random), random.FarSeconds())),
        new("TYPE", 2, random => Episode.Of("TYPE", AnyKey(random))),
        new("SET", 1, random => Episode.Of("SET", Key(random), random.Value())),
        new("HELLO", 2, random => Episode.Of("HELLO", random.Pick<Argument>("2", "3"))),
    ]);

    /// <summary>The parameters at the start of a stream.</summary>
    public static readonly string[] Restore = [$"CONFIG SET {MembersMax} 8", "CONFIG SET zset-max-listpack-value 20"];

    /// <summary>Whether the first key of a command is one of those with equal scores.</summary>
    public static bool IsLexicographic(byte[][] command) => command.Length > 1 && LexKeyPool.Any(key => key.Bytes.AsSpan().SequenceEqual(command[1]));

    private static Argument Key(RandomSource random) => random.Chance(92) ? random.Pick(KeyPool) : random.Chance(50) ? "nosuchset" : random.Key();

    private static Argument LexKey(RandomSource random) => random.Pick(LexKeyPool);

    private static Argument AnyKey(RandomSource random) => random.Chance(80) ? Key(random) : LexKey(random);

    private static Argument Member(RandomSource random) => random.Chance(60) ? random.Pick(MemberPool[..12]) : random.Pick(MemberPool);

    private static Argument Score(RandomSource random) => random.Chance(50) ? random.Pick(ScorePool[..10]) : random.Chance(92) ? random.Pick(ScorePool) : random.Pick(NotScorePool);

    // Includes text that strtod accepts and a score does not: blanks, the empty string, overflowing numbers.
    private static Argument ScoreEnd(RandomSource random)
    {
        Argument score = random.Chance(30) ? random.Pick<Argument>("-inf", "+inf", "inf") : Score(random);
        return random.Chance(25) ? new Argument([(byte)'(', .. score.Bytes]) : score;
    }

    private static Argument Lex(RandomSource random) => random.Pick(LexPool);

    private static Argument[] WithScores(RandomSource random) => random.Chance(60) ? [random.Word("WITHSCORES")] : random.Chance(5) ? [random.Junk()] : [];

    private static Argument[] WithScore(RandomSource random) => random.Chance(30) ? [random.Word("WITHSCORE"), .. random.Chance(10) ? [random.Junk()] : (Argument[])[]] : [];

    private static Argument[] Limit(RandomSource random) => random.Chance(60)
        ? []
        : [random.Word("LIMIT"), random.Chance(90) ? random.Below(8) - 1 : random.Integer(), random.Chance(90) ? random.Below(8) - 2 : random.Integer()];

    private static Argument[] LexOptions(RandomSource random)
    {
        Argument[] limit = Limit(random);
        return random.Chance(40) ? [random.Word("REV"), .. limit] : limit;
    }

    private static Argument[] PopCount(RandomSource random) => random.Chance(50) ? [] : [random.Chance(85) ? random.Below(5) : random.Integer()];

    private static Episode ZAdd(RandomSource random)
    {
        List<Argument> words = [random.Word("ZADD"), Key(random)];
        int options = random.Chance(55) ? 0 : 1 + random.Below(3);
        for (int i = 0; i < options; i++) words.Add(random.Word("NX", "XX", "GT", "LT", "CH", "INCR", "CH"));
        for (int i = random.Chance(50) ? 0 : random.Below(6); i >= 0; i--) words.AddRange([Score(random), Member(random)]);
        return Episode.Of([.. words]);
    }

    // By rank or score, with all options in any order.
    private static Argument[] Range(RandomSource random, string command, Argument key, bool stores)
    {
        bool byScore = random.Chance(50);
        List<Argument> words = [random.Word(command)];
        if (stores) words.Add(Key(random));
        words.Add(key);
        words.AddRange(byScore ? [ScoreEnd(random), ScoreEnd(random)] : [random.Index(), random.Index()]);
        List<Argument[]> options = [];
        if (byScore) options.Add([random.Word("BYSCORE")]);
        if (random.Chance(40)) options.Add([random.Word("REV")]);
        if (random.Chance(byScore ? 40 : 4)) options.Add(Limit(random));
        if (random.Chance(stores ? 3 : 60)) options.Add([random.Word("WITHSCORES")]);
        if (random.Chance(3)) options.Add([random.Chance(50) ? random.Word("REV", "BYSCORE", "LIMIT") : random.Junk()]);
        while (options.Count > 0)
        {
            int next = random.Below(options.Count);
            words.AddRange(options[next]);
            options.RemoveAt(next);
        }

        return [.. words];
    }

    private static Argument[] Inputs(RandomSource random, bool weighs)
    {
        int count = 1 + random.Below(3);
        List<Argument> words = [random.Chance(95) ? count : random.Integer()];
        for (int i = 0; i < count; i++) words.Add(Key(random));
        if (weighs && random.Chance(40))
        {
            words.Add(random.Word("WEIGHTS"));
            for (int i = 0; i < count; i++) words.Add(Score(random));
        }

        if (weighs && random.Chance(40)) words.AddRange([random.Word("AGGREGATE"), random.Word("SUM", "MIN", "MAX", "MIN", "MAX", "AVG")]);
        return [.. words];
    }

    private static Episode ZMPop(RandomSource random)
    {
        int count = 1 + random.Below(3);
        List<Argument> words = [random.Word("ZMPOP"), random.Chance(93) ? count : random.Integer()];
        for (int i = 0; i < count; i++) words.Add(Key(random));
        words.Add(random.Word("MIN", "MAX"));
        if (random.Chance(50)) words.AddRange([random.Word("COUNT"), random.Chance(85) ? random.Below(4) : random.Integer()]);
        if (random.Chance(4)) words.AddRange([random.Word("COUNT", "MIN"), "2"]);
        return Episode.Of([.. words]);
    }

    private static Episode ZInterCard(RandomSource random)
    {
        Argument[] inputs = Inputs(random, weighs: random.Chance(3));
        return random.Chance(50) ? Episode.Of(["ZINTERCARD", .. inputs]) : Episode.Of(["ZINTERCARD", .. inputs, random.Word("LIMIT"), random.Chance(85) ? random.Below(4) : random.Integer()]);
    }

    // No large negative counts, because the reply has that many members.
    private static Episode ZRandMember(RandomSource random)
    {
        Argument key = Key(random);
        if (random.Chance(30)) return RandomSample.Of("ZRANDMEMBER", key);
        Argument count = random.Chance(85) ? random.Below(40) - 15 : random.Pick<Argument>("9223372036854775807", "-9223372036854775808", "9223372036854775808", "abc", "", "1.5");
        return RandomSample.Of(["ZRANDMEMBER", key, count, .. WithScores(random)]);
    }

    private static Episode ZScan(RandomSource random)
    {
        List<Argument> words = [random.Word("ZSCAN"), AnyKey(random), random.Chance(90) ? "0" : random.Pick<Argument>("1", "abc", "18446744073709551615", "18446744073709551616")];
        if (random.Chance(40)) words.AddRange([random.Word("MATCH"), random.Chance(50) ? random.Pattern() : random.Pick<Argument>("a*", "[a-c]", "?")]);
        words.AddRange(random.Chance(80) ? [random.Word("COUNT"), "1000"] : random.Chance(70) ? [] : [random.Word("COUNT"), random.Integer()]);
        return Episode.Of([.. words]);
    }
}
