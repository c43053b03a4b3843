using RedKite.Differential.Tests.Streams;

namespace RedKite.Differential.Tests.Generators;

/// <summary>
/// SORT and SORT_RO, mostly over lists of small numbers, which name the keys that patterns look up. Redis 7.0 does not reset
/// errno, so SORT mistakes an earlier command's overflow for its own: a command that resets it goes first.
/// </summary>
internal static class SortGenerator
{
    private static readonly Argument[] Patterns =
    [
        "key:*", "key:*", "*", "w_*", "#", "nosort", "nosuch_*", "key:*->f", "h_*->f", "h_*->", "*->*", "key:", "", "a*b*c",
    ];

    // Parses a score, for which Redis clears errno, and changes nothing.
    private static readonly Argument[] ClearErrno = ["ZADD", "nosuchset", "XX", 1, "x"];

    public static readonly CommandFamily Family = new("sort",
    [
        new("SORT", 24, random => Sort(random, "SORT")),
        new("SORT_RO", 12, random => Sort(random, "SORT_RO")),
        new("RPUSH numbers", 16, random => Episode.Of(["RPUSH", random.Key(), .. random.Several(12, () => (Argument)(random.Below(30) - 5))])),
        new("RPUSH", 4, random => Episode.Of(["RPUSH", random.Key(), .. random.Several(6, () => random.Chance(50) ? random.Float() : random.Value())])),
        new("SET weight", 12, random => Episode.Of("SET", $"w_{random.Below(12)}", random.Chance(80) ? random.Below(20) : random.Value())),
        new("SET key", 6, random => Episode.Of("SET", $"key:{random.Below(12)}", random.Chance(60) ? random.Below(20) : random.Value())),
        new("LRANGE", 8, random => Episode.Of("LRANGE", random.Key(), 0, -1)),
        new("DEL", 8, random => Episode.Of("DEL", random.Key())),
        new("SORT of a list made for it", 12, SortGenerated),
        new("SORT of a sorted set made for it", 8, SortGeneratedSet),
        new("SORT by text", 10, SortByText),
    ]);

    private static Episode SortGenerated(RandomSource random)
    {
        Argument key = random.Key();
        Argument[] elements = [.. Enumerable.Range(0, 1 + random.Below(30)).Select(_ => (Argument)random.Below(14))];
        return Episode.Of("DEL", key).Then(["RPUSH", key, .. elements]).Then(Sort(random, "SORT", key)).Then("LRANGE", key, 0, -1);
    }

    // Distinct elements with distinct texts, of which at most one is missing: others have no defined order in Redis.
    private static Episode SortByText(RandomSource random)
    {
        string[] texts = ["", "a", "aa", "ab", "B", "b", "10", "9", "-1", "zz", "Z", "a b", "~", "0"];
        int[] elements = [.. Enumerable.Range(0, texts.Length).OrderBy(_ => random.Below(int.MaxValue))];
        int count = 1 + random.Below(texts.Length);
        Episode episode = Episode.Of("DEL", "by:text", "t_0").Then(["RPUSH", "by:text", .. elements[..count].Select(element => (Argument)element)])
            .Then(["MSET", .. elements.Where(element => element > 0 || random.Chance(50)).Select((element, i) => (element, texts[i])).SelectMany(pair => (Argument[])["t_" + pair.element, pair.Item2])]);
        List<Argument> words = [random.Word("SORT", "SORT_RO"), "by:text", random.Word("BY"), "t_*"];
        List<Argument[]> options = [[random.Word("ALPHA")]];
        if (random.Chance(50)) options.Add([random.Word("ASC", "DESC")]);
        if (random.Chance(40)) options.Add([random.Word("LIMIT"), random.Below(6) - 1, random.Below(9) - 1]);
        if (random.Chance(40)) options.Add([random.Word("GET"), "t_*", random.Word("GET"), "#"]);
        foreach (Argument[] option in options.OrderBy(_ => random.Below(int.MaxValue))) words.AddRange(option);
        if (random.Chance(30)) words.AddRange(["STORE", "by:text:stored"]);
        return episode.Then([.. words]).Then("LRANGE", "by:text:stored", 0, -1);
    }

    // Deleted afterwards, because Redis changes a sorted set's encoding when it sorts it.
    private static Episode SortGeneratedSet(RandomSource random)
    {
        Argument[] members = [.. Enumerable.Range(0, 1 + random.Below(30)).SelectMany(_ => (Argument[])[random.Below(9), random.Below(40)])];
        Argument[] sort = [.. (Argument[])["SORT_RO", "sorted"], .. random.Chance(60) ? [random.Word("BY"), random.Pick<Argument>("nosort", "w_*")] : (Argument[])[]];
        Argument[] rest = [.. random.Chance(50) ? [random.Word("DESC")] : (Argument[])[], .. random.Chance(50) ? [random.Word("LIMIT"), random.Below(9) - 1, random.Below(9) - 1] : (Argument[])[]];
        return Episode.Of(["ZADD", "sorted", .. members]).Then([.. sort, .. rest]).Then("DEL", "sorted");
    }

    private static Episode Sort(RandomSource random, string name) => Sort(random, name, random.Key());

    private static Episode Sort(RandomSource random, string name, Argument key)
    {
        List<Argument> words = [name, key];
        int options = random.Below(5);
        bool isAlpha = random.Chance(40); // not with BY: in Redis elements of equal or no weight have no defined order
        for (int i = 0; i < options; i++)
        {
            switch (random.Below(14))
            {
                case < 2 when !isAlpha: words.AddRange([random.Word("BY"), random.Pick(Patterns)]); break;
                case < 4: words.AddRange([random.Word("LIMIT"), random.Chance(80) ? random.Below(12) - 2 : random.Integer(), random.Chance(80) ? random.Below(12) - 2 : random.Integer()]); break;
                case < 7: words.AddRange([random.Word("GET"), random.Pick(Patterns)]); break;
                case < 9: words.Add(random.Word("ASC", "DESC")); break;
                case < 12 when isAlpha: words.Add(random.Word("ALPHA")); break;
                case 12 when name == "SORT": words.AddRange([random.Word("STORE"), random.Key()]); break;
                default: words.Add(random.Chance(50) ? random.Word("GET", "LIMIT", "STORE") : random.Junk()); break;
            }
        }

        // Episodes of several commands are not mutated.
        if (random.Chance(2)) words.RemoveAt(words.Count - 1);
        return Episode.Of(ClearErrno).Then([.. words]);
    }
}
