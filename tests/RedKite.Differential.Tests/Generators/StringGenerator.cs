using RedKite.Differential.Tests.Streams;

namespace RedKite.Differential.Tests.Generators;

/// <summary>String commands.</summary>
internal static class StringGenerator
{
    public static readonly CommandFamily Family = new("string",
    [
        new("SET", 60, Set),
        new("SET", 8, d => Episode.Of("SET", Draw.LongKey, d.LongValue())),
        new("SET in the past", 3, SetInThePast),
        new("SETNX", 6, d => Episode.Of("SETNX", d.Key(), d.Value())),
        new("SETEX", 5, d => Episode.Of("SETEX", d.Key(), d.Expiry(1000), d.Value())),
        new("PSETEX", 5, d => Episode.Of("PSETEX", d.Key(), d.Expiry(1), d.Value())),
        new("GET", 30, d => Episode.Of("GET", d.Key())),
        new("GET", 3, d => Episode.Of("GET", Draw.LongKey)),
        new("GETEX", 10, GetEx),
        new("GETDEL", 5, d => Episode.Of("GETDEL", d.Key())),
        new("GETSET", 6, d => Episode.Of("GETSET", d.Key(), d.Value())),
        new("MGET", 6, d => Episode.Of(["MGET", .. d.Several(6, d.Key)])),
        new("MSET", 6, d => Episode.Of(["MSET", .. Pairs(d)])),
        new("MSETNX", 5, d => Episode.Of(["MSETNX", .. Pairs(d)])),
        new("APPEND", 12, d => Episode.Of("APPEND", d.Key(), d.Value())),
        new("APPEND", 2, d => Episode.Of("APPEND", Draw.LongKey, d.Value())),
        new("STRLEN", 8, d => Episode.Of("STRLEN", d.Chance(90) ? d.Key() : Draw.LongKey)),
        new("SETRANGE", 12, d => Episode.Of("SETRANGE", d.Key(), Offset(d), d.Value())),
        new("GETRANGE", 12, d => Episode.Of("GETRANGE", d.Chance(90) ? d.Key() : Draw.LongKey, d.Index(), d.Index())),
        new("SUBSTR", 4, d => Episode.Of("SUBSTR", d.Key(), d.Index(), d.Index())),
        new("INCR", 10, d => Episode.Of("INCR", d.Key())),
        new("DECR", 8, d => Episode.Of("DECR", d.Key())),
        new("INCRBY", 10, d => Episode.Of("INCRBY", d.Key(), d.Integer())),
        new("DECRBY", 10, d => Episode.Of("DECRBY", d.Key(), d.Integer())),
        new("INCR of a number", 12, d => Episode.Of("SET", d.Key(), d.Integer()).Then(d.Chance(50) ? "INCR" : "DECR", d.Key())),
        new("INCRBYFLOAT", 14, d => Episode.Of("INCRBYFLOAT", d.Key(), d.Float())),
        new("INCRBYFLOAT of a number", 10, SetAndIncrementFloat),
        new("LCS", 10, Lcs),
    ]);

    private static Episode Set(Draw d)
    {
        List<Argument> words = [d.Word("SET"), d.Key(), d.Value()];
        int options = d.Chance(55) ? 0 : 1 + d.Below(3);
        for (int i = 0; i < options; i++)
        {
            switch (d.Below(9))
            {
                case 0: words.Add(d.Word("NX")); break;
                case 1: words.Add(d.Word("XX")); break;
                case 2: words.Add(d.Word("GET")); break;
                case 3: words.Add(d.Word("KEEPTTL")); break;
                case 4: words.AddRange([d.Word("EX"), d.Expiry(1000)]); break;
                case 5: words.AddRange([d.Word("PX"), d.Expiry(1)]); break;
                case 6: words.AddRange([d.Word("EXAT"), d.UnixExpiry(1000)]); break;
                case 7: words.AddRange([d.Word("PXAT"), d.UnixExpiry(1)]); break;
                default: words.Add(d.Chance(50) ? d.Word("EX", "PX", "EXAT", "PXAT") : d.Junk()); break;
            }
        }

        return Episode.Of([.. words]);
    }

    // The key is written with an expiry that has passed. Looking at it afterwards makes sure that it is gone on both sides
    // before anything counts keys: Redis keeps it until then.
    private static Episode SetInThePast(Draw d)
    {
        Argument key = d.Key();
        return (d.Below(3) switch
        {
            0 => Episode.Of("SET", key, d.Value(), "PXAT", 1 + d.Below(1_000_000)),
            1 => Episode.Of("SET", key, d.Value(), "EXAT", 1 + d.Below(1_000_000)),
            _ => Episode.Of("GETEX", key, d.Word("EXAT", "PXAT"), 1 + d.Below(1_000_000)),
        }).Then("EXISTS", key);
    }

    private static Episode GetEx(Draw d)
    {
        List<Argument> words = [d.Word("GETEX"), d.Key()];
        int options = d.Chance(85) ? 1 : d.Below(3);
        for (int i = 0; i < options; i++)
        {
            switch (d.Below(6))
            {
                case 0: words.Add(d.Word("PERSIST")); break;
                case 1: words.AddRange([d.Word("EX"), d.Expiry(1000)]); break;
                case 2: words.AddRange([d.Word("PX"), d.Expiry(1)]); break;
                case 3: words.AddRange([d.Word("EXAT"), d.UnixExpiry(1000)]); break;
                case 4: words.AddRange([d.Word("PXAT"), d.UnixExpiry(1)]); break;
                default: words.Add(d.Chance(50) ? d.Word("EX", "PX", "KEEPTTL", "NX") : d.Junk()); break;
            }
        }

        return Episode.Of([.. words]);
    }

    private static Argument[] Pairs(Draw d)
    {
        List<Argument> words = [];
        for (int i = d.Below(4); i >= 0; i--) words.AddRange([d.Key(), d.Value()]);
        return [.. words];
    }

    // Offsets that make long strings stay away: half a gigabyte on each side proves nothing.
    private static Argument Offset(Draw d) => d.Chance(80)
        ? d.Below(60)
        : d.Pick<Argument>("0", "-1", "1000", "536870912", "4294967296", "9223372036854775807", "-9223372036854775808", "9223372036854775808", "abc", "", "1.5", " 1");

    private static Episode SetAndIncrementFloat(Draw d)
    {
        Argument key = d.Key();
        Episode episode = Episode.Of("SET", key, d.Float()).Then("INCRBYFLOAT", key, d.Float());
        return d.Chance(30) ? episode.Then("OBJECT", "ENCODING", key) : episode;
    }

    private static Episode Lcs(Draw d)
    {
        List<Argument> words = [d.Word("LCS"), d.Key(), d.Key()];
        int options = d.Below(4);
        for (int i = 0; i < options; i++)
        {
            switch (d.Below(6))
            {
                case 0: words.Add(d.Word("LEN")); break;
                case 1 or 2: words.Add(d.Word("IDX")); break;
                case 3: words.AddRange([d.Word("MINMATCHLEN"), d.Chance(80) ? d.Below(5) : d.Integer()]); break;
                case 4: words.Add(d.Word("WITHMATCHLEN")); break;
                default: words.Add(d.Chance(50) ? d.Word("MINMATCHLEN") : d.Junk()); break;
            }
        }

        return Episode.Of([.. words]);
    }
}
