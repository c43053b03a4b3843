using RedKite.Differential.Tests.Streams;

namespace RedKite.Differential.Tests.Generators;

/// <summary>
/// Commands of the stream data type. Ids mostly ascend over all keys, because the clocks of two servers generate different
/// ones; a consumer is created before its use, because Redis 7.0 creates it only when it receives an entry.
/// </summary>
internal static class EntryStreamGenerator
{
    private static readonly string[] Groups = ["g", "h"];
    private static readonly string[] Consumers = ["c1", "c2", "c3"];

    // No pending entry reaches this age within a test, and XCLAIM sets far higher ones.
    private const string MuchIdle = "50000000";
    private const string ClaimedIdle = "100000000";

    public static readonly CommandFamily Family = new("stream",
    [
        new("XADD", 90, Add),
        new("XADD *", 2, AddNow),
        new("XLEN", 4, random => Episode.Of("XLEN", random.Key())),
        new("XRANGE", 14, random => Episode.Of(["XRANGE", random.Key(), Low(random), High(random), .. Count(random)])),
        new("XREVRANGE", 14, random => Episode.Of(["XREVRANGE", random.Key(), High(random), Low(random), .. Count(random)])),
        new("XDEL", 24, random => Episode.Of(["XDEL", random.Key(), .. random.Several(3, () => Id(random))])),
        new("XTRIM", 12, random => Episode.Of(["XTRIM", random.Key(), .. Trim(random)])),
        new("XREAD", 14, Read),
        new("XREADGROUP", 30, ReadGroup),
        new("XGROUP CREATE", 12, GroupCreate),
        new("XGROUP SETID", 5, random => Episode.Of(["XGROUP", random.Word("SETID"), random.Key(), Group(random), GroupId(random), .. EntriesRead(random)])),
        new("XGROUP DESTROY", 2, random => Episode.Of("XGROUP", random.Word("DESTROY"), random.Key(), Group(random))),
        new("XGROUP CREATECONSUMER", 4, random => Episode.Of("XGROUP", "CREATECONSUMER", random.Key(), Group(random), Consumer(random))),
        new("XGROUP DELCONSUMER", 3, random => Episode.Of("XGROUP", "DELCONSUMER", random.Key(), Group(random), Consumer(random))),
        new("XGROUP other", 1, random => random.Chance(50) ? Episode.Of("XGROUP", "HELP") : Episode.Of("XGROUP", random.Junk(), random.Key())),
        new("XACK", 12, random => Episode.Of(["XACK", random.Key(), Group(random), .. random.Several(4, () => Id(random))])),
        new("XPENDING", 14, Pending),
        new("XCLAIM", 20, Claim),
        new("XAUTOCLAIM", 12, AutoClaim),
        new("XSETID", 5, SetId),
        new("XSETID downwards", 4, SetIdDownwards),
        new("XINFO STREAM", 14, Info),
        new("XINFO GROUPS", 8, random => Episode.Of("XINFO", random.Word("GROUPS"), random.Key())),
        new("XINFO CONSUMERS", 6, random => Episode.Of("XINFO", "CONSUMERS", random.Key(), Group(random))),
        new("XINFO other", 1, random => random.Chance(50) ? Episode.Of("XINFO", "HELP") : Episode.Of("XINFO", random.Junk(), random.Key())),
        new("SET over a stream", 2, random => random.Chance(50) ? Episode.Of("SET", random.Key(), random.Value()) : Episode.Of("DEL", random.Key())),
        new("COPY of a stream", 3, random => Episode.Of("COPY", random.Key(), random.Key(), "REPLACE")),
        new("RENAME of a stream", 2, random => Episode.Of("RENAME", random.Key(), random.Key())),
        new("OBJECT ENCODING of a stream", 2, random => Episode.Of("OBJECT", "ENCODING", random.Key())),
        new("HELLO for streams", 2, random => Episode.Of("HELLO", random.Pick<Argument>("2", "3"))),
        new("CONFIG SET of stream nodes", 3, NodeSize),
    ]);

    private static Episode Add(RandomSource random)
    {
        List<Argument> words = [random.Word("XADD"), random.Key()];
        if (random.Chance(8)) words.Add(random.Word("NOMKSTREAM"));
        if (random.Chance(20)) words.AddRange(Trim(random));
        words.Add(NewId(random));
        words.AddRange(Pairs(random));
        if (random.Chance(2)) words.Add(random.Value());
        return Episode.Of([.. words]);
    }

    // The clock determines the id, so any later use of the stream would differ.
    private static Episode AddNow(RandomSource random) =>
        Episode.Of("DEL", "now").Then(["XADD", "now", random.Chance(70) ? "*" : "0-*", .. Pairs(random)]).Then("XLEN", "now").Then("DEL", "now");

    private static Argument[] Pairs(RandomSource random)
    {
        string[][] names = [["a", "b"], ["a", "b"], ["b", "a"], ["a"], ["temperature", "humidity", "7"]];
        List<Argument> words = [];
        if (random.Chance(10)) return [random.Value(), random.Chance(70) ? random.Value() : random.LongValue()];
        foreach (string name in random.Pick(names)) words.AddRange([name, random.Value()]);
        return [.. words];
    }

    private static Argument NewId(RandomSource random)
    {
        long ms = random.NextStreamMs();
        return random.Below(40) switch
        {
            < 16 => $"{ms}-{random.Below(3)}",
            < 24 => $"{ms}-*",
            < 30 => ms,
            < 36 => $"{ms}-{random.Pick("0", "1", "70", "127", "128", "40000", "18446744073709551615")}",
            36 => $"{ms + 100_000}-1",
            37 => Id(random),
            _ => OddId(random),
        };
    }

    // An id that a stream may have, or had, or nearly has.
    private static Argument Id(RandomSource random)
    {
        if (random.Chance(4)) return OddId(random);
        long ms = Math.Max(0, random.LastStreamMs - random.Below(random.Chance(70) ? 60 : 1_000));
        return random.Chance(25) ? ms : $"{ms}-{random.Pick("0", "0", "1", "2", "3")}";
    }

    // Without *, which uses the clock: streams with later commands must not have such ids.
    private static Argument OddId(RandomSource random) => random.Pick<Argument>(
        "0-0", "0", "0-1", "0-*", "5-*", "**", "-", "+", "$", ">", "", "-1", "1-", "1-x", "x", "1-1-1", " 1-1", "007-01", "+3-+4", "3- -1", "(", "(1", "1.5",
        "18446744073709551616", "1-18446744073709551616", new byte[] { (byte)'1', 0, (byte)'x' }, new string('1', 130));

    private static Argument Low(RandomSource random) => random.Below(10) switch
    {
        < 4 => "-",
        < 8 => Id(random),
        8 => "(" + System.Text.Encoding.Latin1.GetString(Id(random).Bytes),
        _ => random.Pick<Argument>("+", "(-", "(18446744073709551615-18446744073709551615", OddId(random)),
    };

    private static Argument High(RandomSource random) => random.Below(10) switch
    {
        < 4 => "+",
        < 8 => Id(random),
        8 => "(" + System.Text.Encoding.Latin1.GetString(Id(random).Bytes),
        _ => random.Pick<Argument>("-", "(+", "(0-0", "(0", OddId(random)),
    };

    private static Argument[] Count(RandomSource random) => random.Below(5) switch
    {
        < 2 => [],
        < 4 => [random.Word("COUNT"), random.Below(30)],
        _ => [random.Word("COUNT", "LIMIT"), random.Chance(70) ? random.Pick<Argument>("0", "-1", "1", "9223372036854775807") : random.Integer()],
    };

    private static Argument[] Trim(RandomSource random)
    {
        List<Argument> words = [];
        bool byLength = random.Chance(60);
        words.Add(random.Word(byLength ? "MAXLEN" : "MINID"));
        if (random.Chance(75)) words.Add(random.Pick("=", "~", "~"));
        if (byLength) words.Add(random.Chance(92) ? random.Below(60) : random.Integer());
        else words.Add(Id(random));
        if (random.Chance(20)) words.AddRange([random.Word("LIMIT"), random.Chance(90) ? random.Below(20) : random.Integer()]);
        if (random.Chance(3)) words.AddRange([random.Word("MAXLEN", "MINID", "LIMIT", "NOMKSTREAM"), "1"]);
        return [.. words];
    }

    private static Episode Read(RandomSource random)
    {
        List<Argument> words = [random.Word("XREAD")];
        if (random.Chance(50)) words.AddRange([random.Word("COUNT"), random.Chance(90) ? random.Below(10) : random.Integer()]);
        if (random.Chance(15)) words.AddRange([random.Word("BLOCK"), random.Pick("1", "1", "1", "-1", "x", "")]);
        if (random.Chance(2)) words.AddRange([random.Word("GROUP"), "g", "c1"]);
        if (random.Chance(1)) words.Add(random.Word("NOACK"));
        AddStreams(random, words, () => random.Below(10) switch { < 7 => Id(random), 7 => "$", 8 => "+", _ => random.Pick<Argument>("0", ">", "-") });
        return Episode.Of([.. words]);
    }

    private static Episode ReadGroup(RandomSource random)
    {
        Argument group = Group(random);
        Argument consumer = Consumer(random);
        List<Argument> words = [random.Word("XREADGROUP")];
        if (random.Chance(97)) words.AddRange([random.Word("GROUP"), group, consumer]);
        if (random.Chance(60)) words.AddRange([random.Word("COUNT"), random.Chance(95) ? random.Below(8) : random.Integer()]);
        if (random.Chance(6)) words.AddRange([random.Word("BLOCK"), random.Pick("1", "-1", "x")]);
        if (random.Chance(15)) words.Add(random.Word("NOACK"));
        Argument[] keys = AddStreams(random, words, () => random.Below(10) switch { < 6 => ">", < 8 => "0", 8 => Id(random), _ => random.Pick<Argument>("$", "+", "-", ">") });
        Episode made = Episode.Of("XGROUP", "CREATECONSUMER", keys[0], group, consumer);
        foreach (Argument key in keys[1..]) made = made.Then("XGROUP", "CREATECONSUMER", key, group, consumer);
        return made.Then([.. words]);
    }

    private static Argument[] AddStreams(RandomSource random, List<Argument> words, Func<Argument> drawId)
    {
        Argument[] keys = random.Chance(70) ? [random.Key()] : random.Several(3, random.Key);
        words.Add(random.Word("STREAMS"));
        words.AddRange(keys);
        foreach (Argument _ in keys) words.Add(drawId());
        if (random.Chance(2)) words.Add(Id(random));
        return keys;
    }

    private static Episode GroupCreate(RandomSource random)
    {
        List<Argument> words = ["XGROUP", random.Word("CREATE"), random.Key(), Group(random), GroupId(random)];
        if (random.Chance(50)) words.Add(random.Word("MKSTREAM"));
        words.AddRange(EntriesRead(random));
        if (random.Chance(3)) words.Add(random.Junk());
        return Episode.Of([.. words]);
    }

    private static Argument GroupId(RandomSource random) => random.Below(10) switch { < 4 => "0", < 6 => "$", _ => Id(random) };

    private static Argument[] EntriesRead(RandomSource random) =>
        random.Chance(85) ? [] : [random.Word("ENTRIESREAD"), random.Chance(80) ? random.Below(30) : random.Pick<Argument>("-1", "-2", "x", "")];

    private static Argument Group(RandomSource random) => random.Chance(97) ? random.Pick(Groups) : random.Pick<Argument>("nosuch", "", new byte[] { 0, (byte)'g' });

    private static Argument Consumer(RandomSource random) => random.Pick(Consumers);

    private static Episode Pending(RandomSource random)
    {
        List<Argument> words = [random.Word("XPENDING"), random.Key(), Group(random)];
        if (random.Chance(30)) return Episode.Of([.. words]);
        if (random.Chance(30)) words.AddRange([random.Word("IDLE"), random.Chance(90) ? random.Pick("0", MuchIdle) : random.Pick<Argument>("x", "-1")]);
        words.AddRange([Low(random), High(random), random.Chance(92) ? random.Below(20) : random.Integer()]);
        if (random.Chance(40)) words.Add(random.Chance(90) ? Consumer(random) : "nosuch");
        if (random.Chance(3)) words.RemoveAt(words.Count - 1);
        return Episode.Of([.. words]);
    }

    private static Episode Claim(RandomSource random)
    {
        (Argument key, Argument group, Argument consumer) = (random.Key(), Group(random), Consumer(random));
        List<Argument> words = [random.Word("XCLAIM"), key, group, consumer, MinIdle(random), .. random.Several(5, () => Id(random))];
        int options = random.Below(4);
        for (int i = 0; i < options; i++)
        {
            words.AddRange(random.Below(8) switch
            {
                0 => [random.Word("IDLE"), random.Pick("0", ClaimedIdle, "-5", "x")],
                1 => [random.Word("TIME"), random.Pick("0", "1000", "99999999999999", "-1", "")],
                2 => [random.Word("RETRYCOUNT"), random.Chance(80) ? random.Below(300) : random.Integer()],
                3 or 4 => [random.Word("FORCE")],
                5 => [random.Word("JUSTID")],
                6 => [random.Word("LASTID"), Id(random)],
                _ => random.Chance(50) ? [random.Junk()] : (Argument[])[random.Word("FORCE"), random.Word("JUSTID")],
            });
        }

        return Episode.Of("XGROUP", "CREATECONSUMER", key, group, consumer).Then([.. words]);
    }

    private static Episode AutoClaim(RandomSource random)
    {
        (Argument key, Argument group, Argument consumer) = (random.Key(), Group(random), Consumer(random));
        List<Argument> words = [random.Word("XAUTOCLAIM"), key, group, consumer, MinIdle(random), Low(random)];
        if (random.Chance(60)) words.AddRange([random.Word("COUNT"), random.Chance(90) ? random.Below(8) : random.Pick<Argument>("-1", "x", "1000000", "9223372036854775807")]);
        if (random.Chance(30)) words.Add(random.Word("JUSTID"));
        if (random.Chance(2)) words.Add(random.Junk());
        return Episode.Of("XGROUP", "CREATECONSUMER", key, group, consumer).Then([.. words]);
    }

    private static Argument MinIdle(RandomSource random) => random.Below(20) switch { < 14 => "0", < 18 => MuchIdle, 18 => "-1", _ => random.Pick<Argument>("x", "", "1.5") };

    // Upwards only: Redis keeps nodes that trimming has emptied, may add an entry with a lower id to one, and does not find it again.
    private static Episode SetId(RandomSource random)
    {
        List<Argument> words = [random.Word("XSETID"), random.Key(), random.Chance(95) ? random.NextStreamMs() : random.Pick<Argument>("x", "-", "$", "")];
        if (random.Chance(40)) words.AddRange([random.Word("ENTRIESADDED"), random.Chance(80) ? random.Below(2_000) : random.Integer()]);
        if (random.Chance(30)) words.AddRange([random.Word("MAXDELETEDID"), Id(random)]);
        if (random.Chance(2)) words.Add(random.Junk());
        return Episode.Of([.. words]);
    }

    // On a stream that was never trimmed.
    private static Episode SetIdDownwards(RandomSource random)
    {
        int count = 2 + random.Below(8), deleted = 1 + random.Below(count);
        Episode episode = Episode.Of("DEL", "down");
        for (int i = 1; i <= count; i++) episode = episode.Then("XADD", "down", i * 10, "a", random.Value());
        if (random.Chance(50)) episode = episode.Then("XGROUP", "CREATE", "down", "g", random.Pick("0", "$", "15"));
        for (int i = count; i > count - deleted; i--) episode = episode.Then("XDEL", "down", i * 10);
        int lowered = random.Below((count * 10) + 2);
        episode = episode.Then([random.Word("XSETID"), "down", lowered, .. random.Chance(30) ? [random.Word("ENTRIESADDED"), random.Below(20)] : (Argument[])[], .. random.Chance(30) ? [random.Word("MAXDELETEDID"), random.Below(count * 12)] : (Argument[])[]]);
        episode = episode.Then("XADD", "down", $"{lowered}-{random.Below(3)}", "a", "1").Then("XADD", "down", lowered + 1 + random.Below(12), "b", "2");
        if (random.Chance(50)) episode = episode.Then("XREADGROUP", "GROUP", "g", "c1", "COUNT", random.Below(4), "STREAMS", "down", ">").Then("XINFO", "GROUPS", "down");
        return episode.Then("XRANGE", "down", "-", "+").Then("XREVRANGE", "down", "+", random.Below(count * 10)).Then("XREAD", "STREAMS", "down", lowered).Then("XINFO", "STREAM", "down");
    }

    private static Episode Info(RandomSource random)
    {
        List<Argument> words = ["XINFO", random.Word("STREAM"), random.Key()];
        if (random.Chance(50)) words.Add(random.Word("FULL"));
        if (random.Chance(30)) words.AddRange([random.Word("COUNT"), random.Chance(90) ? random.Below(20) : random.Integer()]);
        if (random.Chance(2)) words.Add(random.Junk());
        return Episode.Of([.. words]);
    }

    private static Episode NodeSize(RandomSource random) => random.Chance(70)
        ? Episode.Of("CONFIG", "SET", "stream-node-max-entries", random.Pick("1", "2", "3", "4", "5", "10", "100", "0"))
        : Episode.Of("CONFIG", "SET", "stream-node-max-bytes", random.Pick("60", "200", "1000", "4096", "20000")); // without a limit Redis's nodes are larger than RedKite's ever are
}
