using RedKite.Differential.Tests.Streams;
using RedKite.TestSupport;

namespace RedKite.Differential.Tests.Generators;

/// <summary>DUMP, RESTORE of Redis's dumps, which other families then use, and WAIT that returns at once.</summary>
internal static class DumpGenerator
{
    public static readonly CommandFamily Family = new("dump",
    [
        new("RESTORE", 40, Restore),
        new("RESTORE of a damaged dump", 4, random => Episode.Of("RESTORE", random.Key(), "0", Damaged(random), "REPLACE")),
        new("RESTORE with options", 12, RestoreWithOptions),
        new("DUMP", 10, random => Episode.Of("DUMP", random.Key())),
        new("WAIT", 4, random => Episode.Of("WAIT", random.Pick<Argument>("0", "-1", "-9223372036854775808", "abc"), random.Integer())),
        new("value of a restored key", 10, random => Episode.Of(random.Pick<Argument>("GET", "TYPE", "PTTL", "STRLEN", "LLEN", "HLEN", "ZCARD", "XLEN"), random.Key())),
        new("XINFO of a restored stream", 4, random => Episode.Of("XINFO", "STREAM", RestoredStream(random), "FULL")),
        new("XRANGE of a restored stream", 4, random => Episode.Of("XRANGE", RestoredStream(random), "-", "+")),
        new("encoding of a restored key", 10, random => Episode.Of("OBJECT", "ENCODING", random.Key())),
    ]);

    private static Episode Restore(RandomSource random)
    {
        string form = random.Pick<string>([.. RedisDumps.OfRedis70.Keys]);
        List<Argument> words = [random.Word("RESTORE", "RESTORE", "RESTORE", "RESTORE-ASKING"), KeyFor(form, random), random.Chance(70) ? "0" : random.Expiry(unitMs: 1), RedisDumps.OfRedis70[form]];
        if (random.Chance(60)) words.Add(random.Word("REPLACE"));
        if (random.Chance(20))
        {
            words[2] = random.UnixExpiry(unitMs: 1);
            words.Add(random.Word("ABSTTL"));
        }

        return Episode.Of([.. words]);
    }

    private static Episode RestoreWithOptions(RandomSource random)
    {
        string form = random.Pick<string>([.. RedisDumps.OfRedis70.Keys]);
        Argument key = KeyFor(form, random);
        List<Argument> words = ["RESTORE", key, "0", RedisDumps.OfRedis70[form], "REPLACE"];
        if (random.Chance(70)) words.AddRange([random.Word("IDLETIME"), random.Pick<Argument>("0", "10", "100000", "1000000000", "-1", "abc", "1.5", "9223372036854775808")]);
        if (random.Chance(30)) words.AddRange([random.Word("FREQ"), random.Pick<Argument>("0", "7", "255", "256", "-1", "abc")]);
        if (random.Chance(10)) words.Add(random.Pick<Argument>("IDLETIME", "FREQ", "ABSTTL", "REPLACE", "x"));
        return Episode.Of([.. words]).Then("OBJECT", "IDLETIME", key);
    }

    // Reading a stream drops its deleted entries, which Redis counts in the node's size, so Redis starts a new node sooner
    // for later entries, and XINFO shows it. So restored streams are not modified.
    private static Argument KeyFor(string form, RandomSource random) => form switch
    {
        "stream" => RestoredStream(random),
        _ when form.StartsWith("set", StringComparison.Ordinal) => "set:" + random.Below(8),
        _ => random.Key(),
    };

    private static Argument RestoredStream(RandomSource random) => "restored:" + random.Below(3);

    private static byte[] Damaged(RandomSource random)
    {
        List<byte> dump = [.. random.Pick<byte[]>([.. RedisDumps.OfRedis70.Values])];
        if (random.Chance(50)) dump.RemoveAt(random.Below(dump.Count));
        else dump[random.Below(dump.Count)] ^= 16;
        return [.. dump];
    }
}
