using RedKite.Differential.Tests.Streams;

namespace RedKite.Differential.Tests.Generators;

/// <summary>String commands.</summary>
internal static class StringGenerator
{
    public static readonly CommandFamily Family = new("string",
    [
        new("SET", 60, Set),
        new("SET", 8, random => Episode.Of("SET", RandomSource.LongKey, random.LongValue())),
        new("SET in the past", 3, SetInThePast),
        new("SETNX", 6, random => Episode.Of("SETNX", random.Key(), random.Value())),
        new("SETEX", 5, random => Episode.Of("SETEX", random.Key(), random.Expiry(1000), random.Value())),
        new("PSETEX", 5, random => Episode.Of("PSETEX", random.Key(), random.Expiry(1), random.Value())),
        new("GET", 30, random => Episode.Of("GET", random.Key())),
        new("GET", 3, random => Episode.Of("GET", RandomSource.LongKey)),
        new("GETEX", 10, GetEx),
        new("GETDEL", 5, random => Episode.Of("GETDEL", random.Key())),
        new("GETSET", 6, random => Episode.Of("GETSET", random.Key(), random.Value())),
        new("MGET", 6, random => Episode.Of(["MGET", .. random.Several(6, random.Key)])),
        new("MSET", 6, random => Episode.Of(["MSET", .. Pairs(random)])),
        new("MSETNX", 5, random => Episode.Of(["MSETNX", .. Pairs(random)])),
        new("APPEND", 12, random => Episode.Of("APPEND", random.Key(), random.Value())),
        new("APPEND", 2, random => Episode.Of("APPEND", RandomSource.LongKey, random.Value())),
        new("STRLEN", 8, random => Episode.Of("STRLEN", random.Chance(90) ? random.Key() : RandomSource.LongKey)),
        new("SETRANGE", 12, random => Episode.Of("SETRANGE", random.Key(), Offset(random), random.Value())),
        new("GETRANGE", 12, random => Episode.Of("GETRANGE", random.Chance(90) ? random.Key() : RandomSource.LongKey, random.Index(), random.Index())),
        new("SUBSTR", 4, random => Episode.Of("SUBSTR", random.Key(), random.Index(), random.Index())),
        new("INCR", 10, random => Episode.Of("INCR", random.Key())),
        new("DECR", 8, random => Episode.Of("DECR", random.Key())),
        new("INCRBY", 10, random => Episode.Of("INCRBY", random.Key(), random.Integer())),
        new("DECRBY", 10, random => Episode.Of("DECRBY", random.Key(), random.Integer())),
        new("INCR of a number", 12, random => Episode.Of("SET", random.Key(), random.Integer()).Then(random.Chance(50) ? "INCR" : "DECR", random.Key())),
        new("INCRBYFLOAT", 14, random => Episode.Of("INCRBYFLOAT", random.Key(), random.Float())),
        new("INCRBYFLOAT of a number", 10, SetAndIncrementFloat),
        new("LCS", 10, Lcs),
    ]);

    private static Episode Set(RandomSource random)
    {
        List<Argument> words = [random.Word("SET"), random.Key(), random.Value()];
        int options = random.Chance(55) ? 0 : 1 + random.Below(3);
        for (int i = 0; i < options; i++)
        {
            switch (random.Below(9))
            {
                case 0: words.Add(random.Word("NX")); break;
                case 1: words.Add(random.Word("XX")); break;
                case 2: words.Add(random.Word("GET")); break;
                case 3: words.Add(random.Word("KEEPTTL")); break;
                case 4: words.AddRange([random.Word("EX"), random.Expiry(1000)]); break;
                case 5: words.AddRange([random.Word("PX"), random.Expiry(1)]); break;
                case 6: words.AddRange([random.Word("EXAT"), random.UnixExpiry(1000)]); break;
                case 7: words.AddRange([random.Word("PXAT"), random.UnixExpiry(1)]); break;
                default: words.Add(random.Chance(50) ? random.Word("EX", "PX", "EXAT", "PXAT") : random.Junk()); break;
            }
        }

        return Episode.Of([.. words]);
    }

    // Writes the key with an expiry in the past. The access afterwards removes it on both servers before a command counts
    // keys: Redis keeps it until then.
    private static Episode SetInThePast(RandomSource random)
    {
        Argument key = random.Key();
        return (random.Below(3) switch
        {
            0 => Episode.Of("SET", key, random.Value(), "PXAT", 1 + random.Below(1_000_000)),
            1 => Episode.Of("SET", key, random.Value(), "EXAT", 1 + random.Below(1_000_000)),
            _ => Episode.Of("GETEX", key, random.Word("EXAT", "PXAT"), 1 + random.Below(1_000_000)),
        }).Then("EXISTS", key);
    }

    private static Episode GetEx(RandomSource random)
    {
        List<Argument> words = [random.Word("GETEX"), random.Key()];
        int options = random.Chance(85) ? 1 : random.Below(3);
        for (int i = 0; i < options; i++)
        {
            switch (random.Below(6))
            {
                case 0: words.Add(random.Word("PERSIST")); break;
                case 1: words.AddRange([random.Word("EX"), random.Expiry(1000)]); break;
                case 2: words.AddRange([random.Word("PX"), random.Expiry(1)]); break;
                case 3: words.AddRange([random.Word("EXAT"), random.UnixExpiry(1000)]); break;
                case 4: words.AddRange([random.Word("PXAT"), random.UnixExpiry(1)]); break;
                default: words.Add(random.Chance(50) ? random.Word("EX", "PX", "KEEPTTL", "NX") : random.Junk()); break;
            }
        }

        return Episode.Of([.. words]);
    }

    private static Argument[] Pairs(RandomSource random)
    {
        List<Argument> words = [];
        for (int i = random.Below(4); i >= 0; i--) words.AddRange([random.Key(), random.Value()]);
        return [.. words];
    }

    // No offsets that make long strings: half a gigabyte proves nothing.
    private static Argument Offset(RandomSource random) => random.Chance(80)
        ? random.Below(60)
        : random.Pick<Argument>("0", "-1", "1000", "536870912", "4294967296", "9223372036854775807", "-9223372036854775808", "9223372036854775808", "abc", "", "1.5", " 1");

    private static Episode SetAndIncrementFloat(RandomSource random)
    {
        Argument key = random.Key();
        Episode episode = Episode.Of("SET", key, random.Float()).Then("INCRBYFLOAT", key, random.Float());
        return random.Chance(30) ? episode.Then("OBJECT", "ENCODING", key) : episode;
    }

    private static Episode Lcs(RandomSource random)
    {
        List<Argument> words = [random.Word("LCS"), random.Key(), random.Key()];
        int options = random.Below(4);
        for (int i = 0; i < options; i++)
        {
            switch (random.Below(6))
            {
                case 0: words.Add(random.Word("LEN")); break;
                case 1 or 2: words.Add(random.Word("IDX")); break;
                case 3: words.AddRange([random.Word("MINMATCHLEN"), random.Chance(80) ? random.Below(5) : random.Integer()]); break;
                case 4: words.Add(random.Word("WITHMATCHLEN")); break;
                default: words.Add(random.Chance(50) ? random.Word("MINMATCHLEN") : random.Junk()); break;
            }
        }

        return Episode.Of([.. words]);
    }
}
