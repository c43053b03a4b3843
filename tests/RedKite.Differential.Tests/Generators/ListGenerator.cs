using RedKite.Differential.Tests.Streams;

namespace RedKite.Differential.Tests.Generators;

/// <summary>List commands. The limit of a packed list is mostly so small that lists cross it all the time.</summary>
internal static class ListGenerator
{
    public static readonly CommandFamily Family = new("list",
    [
        new("LPUSH", 26, d => Episode.Of(["LPUSH", d.Key(), .. d.Several(5, d.Value)])),
        new("RPUSH", 30, d => Episode.Of(["RPUSH", d.Key(), .. d.Several(8, () => Element(d))])),
        new("RPUSH many", 6, d => Episode.Of(["RPUSH", d.Key(), .. Enumerable.Range(0, 40 + d.Below(60)).Select(_ => Element(d))])),
        new("RPUSH to a long key", 3, d => Episode.Of("RPUSH", Draw.LongKey, d.LongValue())),
        new("LPUSHX", 8, d => Episode.Of(["LPUSHX", d.Key(), .. d.Several(3, d.Value)])),
        new("RPUSHX", 8, d => Episode.Of(["RPUSHX", d.Key(), .. d.Several(3, d.Value)])),
        new("LPOP", 12, d => Pop(d, "LPOP")),
        new("RPOP", 12, d => Pop(d, "RPOP")),
        new("LLEN", 8, d => Episode.Of("LLEN", d.Key())),
        new("LRANGE", 20, d => Episode.Of("LRANGE", d.Key(), d.Index(), d.Index())),
        new("LINDEX", 14, d => Episode.Of("LINDEX", d.Key(), d.Index())),
        new("LSET", 14, d => Episode.Of("LSET", d.Key(), d.Index(), Element(d))),
        new("LINSERT", 16, d => Episode.Of("LINSERT", d.Key(), d.Chance(96) ? d.Word("BEFORE", "AFTER") : d.Junk(), Element(d), Element(d))),
        new("LREM", 14, d => Episode.Of("LREM", d.Key(), d.Chance(85) ? d.Below(7) - 3 : d.Integer(), Element(d))),
        new("LTRIM", 8, d => Episode.Of("LTRIM", d.Key(), d.Index(), d.Index())),
        new("LPOS", 14, LPos),
        new("LMOVE", 14, d => Episode.Of("LMOVE", d.Key(), d.Key(), End(d), End(d))),
        new("RPOPLPUSH", 8, d => Episode.Of("RPOPLPUSH", d.Key(), d.Key())),
        new("LMPOP", 12, LMPop),
        new("CONFIG SET list-max-listpack-size", 3, d => Episode.Of("CONFIG", "SET", "list-max-listpack-size", d.Pick<Argument>("1", "2", "4", "8", "16", "64", "-1", "-2", "0", "x"))),
        new("DEL", 3, d => Episode.Of("DEL", d.Key())),
    ]);

    private static Argument Element(Draw d) => d.Chance(60) ? $"member:{d.Below(40)}" : d.Value();

    private static Argument End(Draw d) => d.Chance(97) ? d.Word("LEFT", "RIGHT") : d.Junk();

    private static Argument Count(Draw d) => d.Chance(85) ? d.Below(12) : d.Integer();

    private static Episode Pop(Draw d, string name) => d.Chance(60) ? Episode.Of(name, d.Key()) : Episode.Of(name, d.Key(), Count(d));

    private static Episode LPos(Draw d)
    {
        List<Argument> words = ["LPOS", d.Key(), Element(d)];
        int options = d.Below(4);
        for (int i = 0; i < options; i++)
        {
            switch (d.Below(7))
            {
                case < 2: words.AddRange([d.Word("RANK"), d.Chance(85) ? d.Below(9) - 4 : d.Integer()]); break;
                case < 4: words.AddRange([d.Word("COUNT"), Count(d)]); break;
                case < 6: words.AddRange([d.Word("MAXLEN"), d.Chance(85) ? d.Below(40) : d.Integer()]); break;
                default: words.Add(d.Chance(50) ? d.Word("RANK", "COUNT", "MAXLEN") : d.Junk()); break;
            }
        }

        return Episode.Of([.. words]);
    }

    private static Episode LMPop(Draw d)
    {
        Argument[] keys = d.Several(4, d.Key);
        List<Argument> words = ["LMPOP", d.Chance(90) ? keys.Length : d.Integer(), .. keys, End(d)];
        if (d.Chance(50)) words.AddRange([d.Word("COUNT"), Count(d)]);
        if (d.Chance(5)) words.Add(d.Chance(50) ? d.Word("COUNT") : d.Junk());
        return Episode.Of([.. words]);
    }
}
