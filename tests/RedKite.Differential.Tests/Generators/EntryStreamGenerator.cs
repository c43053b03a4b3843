using RedKite.Differential.Tests.Streams;

namespace RedKite.Differential.Tests.Generators;

/// <summary>
/// Commands on the data type called stream. Ids mostly ascend over all keys, because the clocks of two servers give no
/// same ones; a consumer is made before it is used, because Redis 7.0 makes it only when it gets something.
/// </summary>
internal static class EntryStreamGenerator
{
    private static readonly string[] Groups = ["g", "h"];
    private static readonly string[] Consumers = ["c1", "c2", "c3"];

    // Nothing that is pending in a test gets so old by itself, and what XCLAIM makes older is older by far.
    private const string MuchIdle = "50000000";
    private const string ClaimedIdle = "100000000";

    public static readonly CommandFamily Family = new("stream",
    [
        new("XADD", 90, Add),
        new("XADD *", 2, AddNow),
        new("XLEN", 4, d => Episode.Of("XLEN", d.Key())),
        new("XRANGE", 14, d => Episode.Of(["XRANGE", d.Key(), Low(d), High(d), .. Count(d)])),
        new("XREVRANGE", 14, d => Episode.Of(["XREVRANGE", d.Key(), High(d), Low(d), .. Count(d)])),
        new("XDEL", 24, d => Episode.Of(["XDEL", d.Key(), .. d.Several(3, () => Id(d))])),
        new("XTRIM", 12, d => Episode.Of(["XTRIM", d.Key(), .. Trim(d)])),
        new("XREAD", 14, Read),
        new("XREADGROUP", 30, ReadGroup),
        new("XGROUP CREATE", 12, GroupCreate),
        new("XGROUP SETID", 5, d => Episode.Of(["XGROUP", d.Word("SETID"), d.Key(), Group(d), GroupId(d), .. EntriesRead(d)])),
        new("XGROUP DESTROY", 2, d => Episode.Of("XGROUP", d.Word("DESTROY"), d.Key(), Group(d))),
        new("XGROUP CREATECONSUMER", 4, d => Episode.Of("XGROUP", "CREATECONSUMER", d.Key(), Group(d), Consumer(d))),
        new("XGROUP DELCONSUMER", 3, d => Episode.Of("XGROUP", "DELCONSUMER", d.Key(), Group(d), Consumer(d))),
        new("XGROUP other", 1, d => d.Chance(50) ? Episode.Of("XGROUP", "HELP") : Episode.Of("XGROUP", d.Junk(), d.Key())),
        new("XACK", 12, d => Episode.Of(["XACK", d.Key(), Group(d), .. d.Several(4, () => Id(d))])),
        new("XPENDING", 14, Pending),
        new("XCLAIM", 20, Claim),
        new("XAUTOCLAIM", 12, AutoClaim),
        new("XSETID", 5, SetId),
        new("XINFO STREAM", 14, Info),
        new("XINFO GROUPS", 8, d => Episode.Of("XINFO", d.Word("GROUPS"), d.Key())),
        new("XINFO CONSUMERS", 6, d => Episode.Of("XINFO", "CONSUMERS", d.Key(), Group(d))),
        new("XINFO other", 1, d => d.Chance(50) ? Episode.Of("XINFO", "HELP") : Episode.Of("XINFO", d.Junk(), d.Key())),
        new("SET over a stream", 2, d => d.Chance(50) ? Episode.Of("SET", d.Key(), d.Value()) : Episode.Of("DEL", d.Key())),
        new("COPY of a stream", 3, d => Episode.Of("COPY", d.Key(), d.Key(), "REPLACE")),
        new("RENAME of a stream", 2, d => Episode.Of("RENAME", d.Key(), d.Key())),
        new("OBJECT ENCODING of a stream", 2, d => Episode.Of("OBJECT", "ENCODING", d.Key())),
        new("HELLO for streams", 2, d => Episode.Of("HELLO", d.Pick<Argument>("2", "3"))),
        new("CONFIG SET of stream nodes", 3, NodeSize),
    ]);

    private static Episode Add(Draw d)
    {
        List<Argument> words = [d.Word("XADD"), d.Key()];
        if (d.Chance(8)) words.Add(d.Word("NOMKSTREAM"));
        if (d.Chance(20)) words.AddRange(Trim(d));
        words.Add(NewId(d));
        words.AddRange(Pairs(d));
        if (d.Chance(2)) words.Add(d.Value());
        return Episode.Of([.. words]);
    }

    // The clock decides the id: whatever else were done with the stream would differ.
    private static Episode AddNow(Draw d) =>
        Episode.Of("DEL", "now").Then(["XADD", "now", d.Chance(70) ? "*" : "0-*", .. Pairs(d)]).Then("XLEN", "now").Then("DEL", "now");

    private static Argument[] Pairs(Draw d)
    {
        string[][] names = [["a", "b"], ["a", "b"], ["b", "a"], ["a"], ["temperature", "humidity", "7"]];
        List<Argument> words = [];
        if (d.Chance(10)) return [d.Value(), d.Chance(70) ? d.Value() : d.LongValue()];
        foreach (string name in d.Pick(names)) words.AddRange([name, d.Value()]);
        return [.. words];
    }

    private static Argument NewId(Draw d)
    {
        long ms = d.NextStreamMs();
        return d.Below(40) switch
        {
            < 16 => $"{ms}-{d.Below(3)}",
            < 24 => $"{ms}-*",
            < 30 => ms,
            < 36 => $"{ms}-{d.Pick("0", "1", "70", "127", "128", "40000", "18446744073709551615")}",
            36 => $"{ms + 100_000}-1",
            37 => Id(d),
            _ => OddId(d),
        };
    }

    // An id that some stream may have, or had, or nearly has.
    private static Argument Id(Draw d)
    {
        if (d.Chance(4)) return OddId(d);
        long ms = Math.Max(0, d.LastStreamMs - d.Below(d.Chance(70) ? 60 : 1_000));
        return d.Chance(25) ? ms : $"{ms}-{d.Pick("0", "0", "1", "2", "3")}";
    }

    // Without *, which takes the clock's time: streams that go on must not have that.
    private static Argument OddId(Draw d) => d.Pick<Argument>(
        "0-0", "0", "0-1", "0-*", "5-*", "**", "-", "+", "$", ">", "", "-1", "1-", "1-x", "x", "1-1-1", " 1-1", "007-01", "+3-+4", "3- -1", "(", "(1", "1.5",
        "18446744073709551616", "1-18446744073709551616", new byte[] { (byte)'1', 0, (byte)'x' }, new string('1', 130));

    private static Argument Low(Draw d) => d.Below(10) switch
    {
        < 4 => "-",
        < 8 => Id(d),
        8 => "(" + System.Text.Encoding.Latin1.GetString(Id(d).Bytes),
        _ => d.Pick<Argument>("+", "(-", "(18446744073709551615-18446744073709551615", OddId(d)),
    };

    private static Argument High(Draw d) => d.Below(10) switch
    {
        < 4 => "+",
        < 8 => Id(d),
        8 => "(" + System.Text.Encoding.Latin1.GetString(Id(d).Bytes),
        _ => d.Pick<Argument>("-", "(+", "(0-0", "(0", OddId(d)),
    };

    private static Argument[] Count(Draw d) => d.Below(5) switch
    {
        < 2 => [],
        < 4 => [d.Word("COUNT"), d.Below(30)],
        _ => [d.Word("COUNT", "LIMIT"), d.Chance(70) ? d.Pick<Argument>("0", "-1", "1", "9223372036854775807") : d.Integer()],
    };

    private static Argument[] Trim(Draw d)
    {
        List<Argument> words = [];
        bool byLength = d.Chance(60);
        words.Add(d.Word(byLength ? "MAXLEN" : "MINID"));
        if (d.Chance(75)) words.Add(d.Pick("=", "~", "~"));
        if (byLength) words.Add(d.Chance(92) ? d.Below(60) : d.Integer());
        else words.Add(Id(d));
        if (d.Chance(20)) words.AddRange([d.Word("LIMIT"), d.Chance(90) ? d.Below(20) : d.Integer()]);
        if (d.Chance(3)) words.AddRange([d.Word("MAXLEN", "MINID", "LIMIT", "NOMKSTREAM"), "1"]);
        return [.. words];
    }

    private static Episode Read(Draw d)
    {
        List<Argument> words = [d.Word("XREAD")];
        if (d.Chance(50)) words.AddRange([d.Word("COUNT"), d.Chance(90) ? d.Below(10) : d.Integer()]);
        if (d.Chance(15)) words.AddRange([d.Word("BLOCK"), d.Pick("1", "1", "1", "-1", "x", "")]);
        if (d.Chance(2)) words.AddRange([d.Word("GROUP"), "g", "c1"]);
        if (d.Chance(1)) words.Add(d.Word("NOACK"));
        AddStreams(d, words, () => d.Below(10) switch { < 7 => Id(d), 7 => "$", 8 => "+", _ => d.Pick<Argument>("0", ">", "-") });
        return Episode.Of([.. words]);
    }

    private static Episode ReadGroup(Draw d)
    {
        Argument group = Group(d);
        Argument consumer = Consumer(d);
        List<Argument> words = [d.Word("XREADGROUP")];
        if (d.Chance(97)) words.AddRange([d.Word("GROUP"), group, consumer]);
        if (d.Chance(60)) words.AddRange([d.Word("COUNT"), d.Chance(95) ? d.Below(8) : d.Integer()]);
        if (d.Chance(6)) words.AddRange([d.Word("BLOCK"), d.Pick("1", "-1", "x")]);
        if (d.Chance(15)) words.Add(d.Word("NOACK"));
        Argument[] keys = AddStreams(d, words, () => d.Below(10) switch { < 6 => ">", < 8 => "0", 8 => Id(d), _ => d.Pick<Argument>("$", "+", "-", ">") });
        Episode made = Episode.Of("XGROUP", "CREATECONSUMER", keys[0], group, consumer);
        foreach (Argument key in keys[1..]) made = made.Then("XGROUP", "CREATECONSUMER", key, group, consumer);
        return made.Then([.. words]);
    }

    private static Argument[] AddStreams(Draw d, List<Argument> words, Func<Argument> drawId)
    {
        Argument[] keys = d.Chance(70) ? [d.Key()] : d.Several(3, d.Key);
        words.Add(d.Word("STREAMS"));
        words.AddRange(keys);
        foreach (Argument _ in keys) words.Add(drawId());
        if (d.Chance(2)) words.Add(Id(d));
        return keys;
    }

    private static Episode GroupCreate(Draw d)
    {
        List<Argument> words = ["XGROUP", d.Word("CREATE"), d.Key(), Group(d), GroupId(d)];
        if (d.Chance(50)) words.Add(d.Word("MKSTREAM"));
        words.AddRange(EntriesRead(d));
        if (d.Chance(3)) words.Add(d.Junk());
        return Episode.Of([.. words]);
    }

    private static Argument GroupId(Draw d) => d.Below(10) switch { < 4 => "0", < 6 => "$", _ => Id(d) };

    private static Argument[] EntriesRead(Draw d) =>
        d.Chance(85) ? [] : [d.Word("ENTRIESREAD"), d.Chance(80) ? d.Below(30) : d.Pick<Argument>("-1", "-2", "x", "")];

    private static Argument Group(Draw d) => d.Chance(97) ? d.Pick(Groups) : d.Pick<Argument>("nosuch", "", new byte[] { 0, (byte)'g' });

    private static Argument Consumer(Draw d) => d.Pick(Consumers);

    private static Episode Pending(Draw d)
    {
        List<Argument> words = [d.Word("XPENDING"), d.Key(), Group(d)];
        if (d.Chance(30)) return Episode.Of([.. words]);
        if (d.Chance(30)) words.AddRange([d.Word("IDLE"), d.Chance(90) ? d.Pick("0", MuchIdle) : d.Pick<Argument>("x", "-1")]);
        words.AddRange([Low(d), High(d), d.Chance(92) ? d.Below(20) : d.Integer()]);
        if (d.Chance(40)) words.Add(d.Chance(90) ? Consumer(d) : "nosuch");
        if (d.Chance(3)) words.RemoveAt(words.Count - 1);
        return Episode.Of([.. words]);
    }

    private static Episode Claim(Draw d)
    {
        (Argument key, Argument group, Argument consumer) = (d.Key(), Group(d), Consumer(d));
        List<Argument> words = [d.Word("XCLAIM"), key, group, consumer, MinIdle(d), .. d.Several(5, () => Id(d))];
        int options = d.Below(4);
        for (int i = 0; i < options; i++)
        {
            words.AddRange(d.Below(8) switch
            {
                0 => [d.Word("IDLE"), d.Pick("0", ClaimedIdle, "-5", "x")],
                1 => [d.Word("TIME"), d.Pick("0", "1000", "99999999999999", "-1", "")],
                2 => [d.Word("RETRYCOUNT"), d.Chance(80) ? d.Below(300) : d.Integer()],
                3 or 4 => [d.Word("FORCE")],
                5 => [d.Word("JUSTID")],
                6 => [d.Word("LASTID"), Id(d)],
                _ => d.Chance(50) ? [d.Junk()] : (Argument[])[d.Word("FORCE"), d.Word("JUSTID")],
            });
        }

        return Episode.Of("XGROUP", "CREATECONSUMER", key, group, consumer).Then([.. words]);
    }

    private static Episode AutoClaim(Draw d)
    {
        (Argument key, Argument group, Argument consumer) = (d.Key(), Group(d), Consumer(d));
        List<Argument> words = [d.Word("XAUTOCLAIM"), key, group, consumer, MinIdle(d), Low(d)];
        if (d.Chance(60)) words.AddRange([d.Word("COUNT"), d.Chance(90) ? d.Below(8) : d.Pick<Argument>("-1", "x", "1000000", "9223372036854775807")]);
        if (d.Chance(30)) words.Add(d.Word("JUSTID"));
        if (d.Chance(2)) words.Add(d.Junk());
        return Episode.Of("XGROUP", "CREATECONSUMER", key, group, consumer).Then([.. words]);
    }

    private static Argument MinIdle(Draw d) => d.Below(20) switch { < 14 => "0", < 18 => MuchIdle, 18 => "-1", _ => d.Pick<Argument>("x", "", "1.5") };

    // Upwards only: a lower id makes RedKite remove the nodes that trimming left empty, which Redis keeps. Transcripts lower it.
    private static Episode SetId(Draw d)
    {
        List<Argument> words = [d.Word("XSETID"), d.Key(), d.Chance(95) ? d.NextStreamMs() : d.Pick<Argument>("x", "-", "$", "")];
        if (d.Chance(40)) words.AddRange([d.Word("ENTRIESADDED"), d.Chance(80) ? d.Below(2_000) : d.Integer()]);
        if (d.Chance(30)) words.AddRange([d.Word("MAXDELETEDID"), Id(d)]);
        if (d.Chance(2)) words.Add(d.Junk());
        return Episode.Of([.. words]);
    }

    private static Episode Info(Draw d)
    {
        List<Argument> words = ["XINFO", d.Word("STREAM"), d.Key()];
        if (d.Chance(50)) words.Add(d.Word("FULL"));
        if (d.Chance(30)) words.AddRange([d.Word("COUNT"), d.Chance(90) ? d.Below(20) : d.Integer()]);
        if (d.Chance(2)) words.Add(d.Junk());
        return Episode.Of([.. words]);
    }

    // Not below the usual 4096 bytes: Redis 7.0 reserves no more than that for a node then, can spoil what it writes there,
    // and stops when it reads that (60 bytes, an entry, 1 byte, an entry, XRANGE).
    private static Episode NodeSize(Draw d) => d.Chance(70)
        ? Episode.Of("CONFIG", "SET", "stream-node-max-entries", d.Pick("1", "2", "3", "4", "5", "10", "100", "0"))
        : Episode.Of("CONFIG", "SET", "stream-node-max-bytes", d.Pick("4096", "6000", "20000"));
}
