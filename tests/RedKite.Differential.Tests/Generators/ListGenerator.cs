using RedKite.Differential.Tests.Streams;

namespace RedKite.Differential.Tests.Generators;

/// <summary>List commands. The limit of a packed list is mostly so small that lists cross it often.</summary>
internal static class ListGenerator
{
    public static readonly CommandFamily Family = new("list",
    [
        new("LPUSH", 26, random => Episode.Of(["LPUSH", random.Key(), .. random.Several(5, random.Value)])),
        new("RPUSH", 30, random => Episode.Of(["RPUSH", random.Key(), .. random.Several(8, () => Element(random))])),
        new("RPUSH many", 6, random => Episode.Of(["RPUSH", random.Key(), .. Enumerable.Range(0, 40 + random.Below(60)).Select(_ => Element(random))])),
        new("RPUSH to a long key", 3, random => Episode.Of("RPUSH", RandomSource.LongKey, random.LongValue())),
        new("LPUSHX", 8, random => Episode.Of(["LPUSHX", random.Key(), .. random.Several(3, random.Value)])),
        new("RPUSHX", 8, random => Episode.Of(["RPUSHX", random.Key(), .. random.Several(3, random.Value)])),
        new("LPOP", 12, random => Pop(random, "LPOP")),
        new("RPOP", 12, random => Pop(random, "RPOP")),
        new("LLEN", 8, random => Episode.Of("LLEN", random.Key())),
        new("LRANGE", 20, random => Episode.Of("LRANGE", random.Key(), random.Index(), random.Index())),
        new("LINDEX", 14, random => Episode.Of("LINDEX", random.Key(), random.Index())),
        new("LSET", 14, random => Episode.Of("LSET", random.Key(), random.Index(), Element(random))),
        new("LINSERT", 16, random => Episode.Of("LINSERT", random.Key(), random.Chance(96) ? random.Word("BEFORE", "AFTER") : random.Junk(), Element(random), Element(random))),
        new("LREM", 14, random => Episode.Of("LREM", random.Key(), random.Chance(85) ? random.Below(7) - 3 : random.Integer(), Element(random))),
        new("LTRIM", 8, random => Episode.Of("LTRIM", random.Key(), random.Index(), random.Index())),
        new("LPOS", 14, LPos),
        new("LMOVE", 14, random => Episode.Of("LMOVE", random.Key(), random.Key(), End(random), End(random))),
        new("RPOPLPUSH", 8, random => Episode.Of("RPOPLPUSH", random.Key(), random.Key())),
        new("LMPOP", 12, LMPop),
        new("CONFIG SET list-max-listpack-size", 3, random => Episode.Of("CONFIG", "SET", "list-max-listpack-size", random.Pick<Argument>("1", "2", "4", "8", "16", "64", "-1", "-2", "0", "x"))),
        new("DEL", 3, random => Episode.Of("DEL", random.Key())),
    ]);

    private static Argument Element(RandomSource random) => random.Chance(60) ? $"member:{random.Below(40)}" : random.Value();

    private static Argument End(RandomSource random) => random.Chance(97) ? random.Word("LEFT", "RIGHT") : random.Junk();

    private static Argument Count(RandomSource random) => random.Chance(85) ? random.Below(12) : random.Integer();

    private static Episode Pop(RandomSource random, string name) => random.Chance(60) ? Episode.Of(name, random.Key()) : Episode.Of(name, random.Key(), Count(random));

    private static Episode LPos(RandomSource random)
    {
        List<Argument> words = ["LPOS", random.Key(), Element(random)];
        int options = random.Below(4);
        for (int i = 0; i < options; i++)
        {
            switch (random.Below(7))
            {
                case < 2: words.AddRange([random.Word("RANK"), random.Chance(85) ? random.Below(9) - 4 : random.Integer()]); break;
                case < 4: words.AddRange([random.Word("COUNT"), Count(random)]); break;
                case < 6: words.AddRange([random.Word("MAXLEN"), random.Chance(85) ? random.Below(40) : random.Integer()]); break;
                default: words.Add(random.Chance(50) ? random.Word("RANK", "COUNT", "MAXLEN") : random.Junk()); break;
            }
        }

        return Episode.Of([.. words]);
    }

    private static Episode LMPop(RandomSource random)
    {
        Argument[] keys = random.Several(4, random.Key);
        List<Argument> words = ["LMPOP", random.Chance(90) ? keys.Length : random.Integer(), .. keys, End(random)];
        if (random.Chance(50)) words.AddRange([random.Word("COUNT"), Count(random)]);
        if (random.Chance(5)) words.Add(random.Chance(50) ? random.Word("COUNT") : random.Junk());
        return Episode.Of([.. words]);
    }
}
