using RedKite.Differential.Tests.Streams;
using RedKite.Testing;

namespace RedKite.Differential.Tests.Generators;

/// <summary>DUMP, and RESTORE of what Redis dumped, which the other families go on with; WAIT where it does not wait.</summary>
internal static class DumpGenerator
{
    public static readonly CommandFamily Family = new("dump",
    [
        new("RESTORE", 40, Restore),
        new("RESTORE of a damaged dump", 4, d => Episode.Of("RESTORE", d.Key(), "0", Damaged(d), "REPLACE")),
        new("RESTORE with options", 12, RestoreWithOptions),
        new("DUMP", 10, d => Episode.Of("DUMP", d.Key())),
        new("WAIT", 4, d => Episode.Of("WAIT", d.Pick<Argument>("0", "-1", "-9223372036854775808", "abc"), d.Integer())),
        new("value of a restored key", 10, d => Episode.Of(d.Pick<Argument>("GET", "TYPE", "PTTL", "STRLEN", "LLEN", "HLEN", "ZCARD", "XLEN"), d.Key())),
        new("XINFO of a restored stream", 4, d => Episode.Of("XINFO", "STREAM", RestoredStream(d), "FULL")),
        new("XRANGE of a restored stream", 4, d => Episode.Of("XRANGE", RestoredStream(d), "-", "+")),
        new("encoding of a restored key", 10, d => Episode.Of("OBJECT", "ENCODING", d.Key())),
    ]);

    private static Episode Restore(Draw d)
    {
        string form = d.Pick<string>([.. RedisDumps.OfRedis70.Keys]);
        List<Argument> words = [d.Word("RESTORE", "RESTORE", "RESTORE", "RESTORE-ASKING"), KeyFor(form, d), d.Chance(70) ? "0" : d.Expiry(unitMs: 1), RedisDumps.OfRedis70[form]];
        if (d.Chance(60)) words.Add(d.Word("REPLACE"));
        if (d.Chance(20))
        {
            words[2] = d.UnixExpiry(unitMs: 1);
            words.Add(d.Word("ABSTTL"));
        }

        return Episode.Of([.. words]);
    }

    private static Episode RestoreWithOptions(Draw d)
    {
        string form = d.Pick<string>([.. RedisDumps.OfRedis70.Keys]);
        Argument key = KeyFor(form, d);
        List<Argument> words = ["RESTORE", key, "0", RedisDumps.OfRedis70[form], "REPLACE"];
        if (d.Chance(70)) words.AddRange([d.Word("IDLETIME"), d.Pick<Argument>("0", "10", "100000", "1000000000", "-1", "abc", "1.5", "9223372036854775808")]);
        if (d.Chance(30)) words.AddRange([d.Word("FREQ"), d.Pick<Argument>("0", "7", "255", "256", "-1", "abc")]);
        if (d.Chance(10)) words.Add(d.Pick<Argument>("IDLETIME", "FREQ", "ABSTTL", "REPLACE", "x"));
        return Episode.Of([.. words]).Then("OBJECT", "IDLETIME", key);
    }

    // A stream that is read loses its deleted entries, which count in Redis when it is full: what is added to it begins
    // another node sooner there, and XINFO tells that. So restored streams stay as they were restored.
    private static Argument KeyFor(string form, Draw d) => form switch
    {
        "stream" => RestoredStream(d),
        _ when form.StartsWith("set", StringComparison.Ordinal) => "set:" + d.Below(8),
        _ => d.Key(),
    };

    private static Argument RestoredStream(Draw d) => "restored:" + d.Below(3);

    private static byte[] Damaged(Draw d)
    {
        List<byte> dump = [.. d.Pick<byte[]>([.. RedisDumps.OfRedis70.Values])];
        if (d.Chance(50)) dump.RemoveAt(d.Below(dump.Count));
        else dump[d.Below(dump.Count)] ^= 16;
        return [.. dump];
    }
}
