using RedKite.Differential.Tests.Streams;

namespace RedKite.Differential.Tests.Generators;

/// <summary>
/// SORT and SORT_RO, mostly over lists of small numbers, which name the keys that patterns look up. Redis 7.0 takes an
/// overflow of some earlier command for one of SORT's own numbers, because it does not reset errno: a command that does goes first.
/// </summary>
internal static class SortGenerator
{
    private static readonly Argument[] Patterns =
    [
        "key:*", "key:*", "*", "w_*", "#", "nosort", "nosuch_*", "key:*->f", "h_*->f", "h_*->", "*->*", "key:", "", "a*b*c",
    ];

    // It reads a score, for which Redis clears errno, and changes nothing.
    private static readonly Argument[] ClearErrno = ["ZADD", "nosuchset", "XX", 1, "x"];

    public static readonly CommandFamily Family = new("sort",
    [
        new("SORT", 24, d => Sort(d, "SORT")),
        new("SORT_RO", 12, d => Sort(d, "SORT_RO")),
        new("RPUSH numbers", 16, d => Episode.Of(["RPUSH", d.Key(), .. d.Several(12, () => (Argument)(d.Below(30) - 5))])),
        new("RPUSH", 4, d => Episode.Of(["RPUSH", d.Key(), .. d.Several(6, () => d.Chance(50) ? d.Float() : d.Value())])),
        new("SET weight", 12, d => Episode.Of("SET", $"w_{d.Below(12)}", d.Chance(80) ? d.Below(20) : d.Value())),
        new("SET key", 6, d => Episode.Of("SET", $"key:{d.Below(12)}", d.Chance(60) ? d.Below(20) : d.Value())),
        new("LRANGE", 8, d => Episode.Of("LRANGE", d.Key(), 0, -1)),
        new("DEL", 8, d => Episode.Of("DEL", d.Key())),
        new("SORT of a list made for it", 12, SortMade),
        new("SORT of a sorted set made for it", 8, SortMadeSet),
    ]);

    private static Episode SortMade(Draw d)
    {
        Argument key = d.Key();
        Argument[] elements = [.. Enumerable.Range(0, 1 + d.Below(30)).Select(_ => (Argument)d.Below(14))];
        return Episode.Of("DEL", key).Then(["RPUSH", key, .. elements]).Then(Sort(d, "SORT", key)).Then("LRANGE", key, 0, -1);
    }

    // It does not stay: Redis keeps a sorted set otherwise once it was sorted.
    private static Episode SortMadeSet(Draw d)
    {
        Argument[] members = [.. Enumerable.Range(0, 1 + d.Below(30)).SelectMany(_ => (Argument[])[d.Below(9), d.Below(40)])];
        Argument[] sort = [.. (Argument[])["SORT_RO", "sorted"], .. d.Chance(60) ? [d.Word("BY"), d.Pick<Argument>("nosort", "w_*")] : (Argument[])[]];
        Argument[] rest = [.. d.Chance(50) ? [d.Word("DESC")] : (Argument[])[], .. d.Chance(50) ? [d.Word("LIMIT"), d.Below(9) - 1, d.Below(9) - 1] : (Argument[])[]];
        return Episode.Of(["ZADD", "sorted", .. members]).Then([.. sort, .. rest]).Then("DEL", "sorted");
    }

    private static Episode Sort(Draw d, string name) => Sort(d, name, d.Key());

    private static Episode Sort(Draw d, string name, Argument key)
    {
        List<Argument> words = [name, key];
        int options = d.Below(5);
        bool isAlpha = d.Chance(40); // not with BY as well: elements of equal weight, or without any, have no order in Redis
        for (int i = 0; i < options; i++)
        {
            switch (d.Below(14))
            {
                case < 2 when !isAlpha: words.AddRange([d.Word("BY"), d.Pick(Patterns)]); break;
                case < 4: words.AddRange([d.Word("LIMIT"), d.Chance(80) ? d.Below(12) - 2 : d.Integer(), d.Chance(80) ? d.Below(12) - 2 : d.Integer()]); break;
                case < 7: words.AddRange([d.Word("GET"), d.Pick(Patterns)]); break;
                case < 9: words.Add(d.Word("ASC", "DESC")); break;
                case < 12 when isAlpha: words.Add(d.Word("ALPHA")); break;
                case 12 when name == "SORT": words.AddRange([d.Word("STORE"), d.Key()]); break;
                default: words.Add(d.Chance(50) ? d.Word("GET", "LIMIT", "STORE") : d.Junk()); break;
            }
        }

        // Episodes of several commands are not damaged by others.
        if (d.Chance(2)) words.RemoveAt(words.Count - 1);
        return Episode.Of(ClearErrno).Then([.. words]);
    }
}
