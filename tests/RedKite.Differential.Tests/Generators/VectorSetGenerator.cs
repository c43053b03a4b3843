using System.Globalization;
using RedKite.Differential.Tests.Streams;
using RedKite.Differential.Tests.Transcripts;

namespace RedKite.Differential.Tests.Generators;

/// <summary>
/// Vector sets. An element's vector depends on its name alone and queries have others, so that no two distances are equal and the order is
/// defined; sets are so small that a search by the graph finds all. It may examine all, because which ones it examines first depends on the graph.
/// </summary>
internal static class VectorSetGenerator
{
    private const int Elements = 24;
    private const int Queries = 50;

    // Of the keys v0 to v3: each has its form, so that most commands fit.
    private static readonly (string Quantization, int Dimensions)[] Forms = [("Q8", 8), ("NOQUANT", 3), ("Q8", 5), ("NOQUANT", 4)];

    // Of few dimensions several bytes are the same, and distances are equal.
    private static readonly int[] OtherDimensions = [3, 4, 5, 6, 8];

    private static readonly Argument[] AttributePool =
    [
        """{"n":5,"s":"v5","arr":[1,2,"v3"],"b":true,"nu":null,"o":{"x":1},"e":"","a-b":3,"x_y":4}""", """{"n":1}""", """{"n":-2.5,"s":"v1"}""", """{"s":"5"}""", """{"arr":["v1",5]}""",
        """{"n":"7","b":false}""", "{}", "", "[1]", "not json", """{"n":5""", """{"n":5,"n":6}""", """ { "n" : 5 , "s" : "a\"b" } """, "\0", "5", """{"n":1e1,"s":"é"}""",
    ];

    private static readonly Argument[] BadNumberPool = ["abc", "", "nan", "-1", "0", " 1", "1.5", "1e400", "99999999999999999999", "-5", "+3"];

    private static readonly Dictionary<string, (int Min, int Max)> Counts = new()
    {
        ["VADD"] = (5, int.MaxValue),
        ["VSIM"] = (4, int.MaxValue),
        ["VEMB"] = (3, int.MaxValue),
        ["VLINKS"] = (3, int.MaxValue),
        ["VRANDMEMBER"] = (2, int.MaxValue),
        ["VREM"] = (3, 3),
        ["VSETATTR"] = (4, 4),
        ["VGETATTR"] = (3, 3),
        ["VISMEMBER"] = (3, 3),
        ["VCARD"] = (2, 2),
        ["VDIM"] = (2, 2),
        ["VINFO"] = (2, 2),
    };

    public static readonly CommandFamily Family = new("vectorset",
    [
        new("VADD", 60, VAdd),
        new("VSIM", 60, VSim),
        new("VSIM FILTER", 60, random => Episode.Of(["VSIM", Key(random), "ELE", Element(random), "COUNT", Elements, "FILTER", Filter(random), .. random.Chance(10) ? ["FILTER-EF", random.Chance(75) ? Elements + 6 + random.Below(60) : random.Pick(BadNumberPool)] : (Argument[])[]])),
        new("VREM", 12, random => Episode.Of(["VREM", Key(random), Element(random)])),
        new("VSETATTR", 20, random => Episode.Of(["VSETATTR", Key(random), Element(random), random.Pick(AttributePool)])),
        new("VGETATTR", 10, random => Episode.Of(["VGETATTR", Key(random), Element(random)])),
        new("VEMB", 12, random => Episode.Of(["VEMB", Key(random), Element(random), .. random.Chance(15) ? [random.Word("RAW", "FOO")] : (Argument[])[]])),
        new("VCARD", 6, random => Episode.Of(["VCARD", Key(random)])),
        new("VDIM", 6, random => Episode.Of(["VDIM", Key(random)])),
        new("VINFO", 8, random => Episode.Of(["VINFO", Key(random)])),
        new("VISMEMBER", 8, random => Episode.Of(["VISMEMBER", Key(random), Element(random)])),
        new("VLINKS", 5, random => Episode.Of(["VLINKS", Key(random), Element(random), .. random.Chance(40) ? [random.Word("WITHSCORES", "FOO")] : (Argument[])[]])),
        new("VRANDMEMBER", 6, random => Episode.Of(["VRANDMEMBER", Key(random), .. random.Chance(60) ? [random.Chance(80) ? random.Below(40) - 10 : random.Pick(BadNumberPool)] : (Argument[])[]])),
        new("TYPE", 2, random => Episode.Of("TYPE", Key(random))),
        new("OBJECT", 2, random => Episode.Of("OBJECT", "ENCODING", Key(random))),
        new("COPY", 2, random => Episode.Of("COPY", Key(random), Key(random), "REPLACE")),
        new("RENAME", 1, random => Episode.Of("RENAME", Key(random), "elsewhere").Then("RENAME", "elsewhere", Key(random))),
        new("DEL", 2, random => Episode.Of("DEL", Key(random))),
        new("SET", 1, random => Episode.Of("SET", Key(random), "string").Then("VADD", Key(random), "VALUES", "1", "1", "e1").Then("DEL", "v0")),
        new("HELLO", 2, random => Episode.Of("HELLO", random.Pick<Argument>("2", "3"))),
    ]);

    /// <summary>
    /// Whether a mutated command keeps the order of distances defined: two names must not share a vector, and large components make vectors alike.
    /// A command without the arguments that it needs, or with more than it takes, is counted and queued differently, see NotCopied.
    /// </summary>
    internal static bool IsComparable(string name, List<byte[]> words)
    {
        if (name is ['V', ..] && Counts.TryGetValue(name, out (int Min, int Max) counts) && (words.Count < counts.Min || words.Count > counts.Max)) return false;
        int at = words.FindIndex(word => TextOf(word).ToUpperInvariant() is "VALUES" or "FP32");
        if (name != "VADD" || at < 0 || at + 2 >= words.Count) return true;
        bool isText = words[at].Length > 4;
        if (!int.TryParse(TextOf(words[at + 1]), CultureInfo.InvariantCulture, out int dimensions) && isText) return true;
        int element = isText ? at + 2 + dimensions : at + 2;
        if (dimensions < 0 || element >= words.Count) return true;
        string text = TextOf(words[element]);
        int number = text.Length == 0 ? Elements : text[0] == 'e' && int.TryParse(text.AsSpan(1), CultureInfo.InvariantCulture, out int known) ? known : -1;
        if (number < 0) return false;
        return isText
            ? VectorOf(number, dimensions).Select(Text).SequenceEqual(words[(at + 2)..element].Select(TextOf))
            : VectorOf(number, words[at + 1].Length / sizeof(float)).SelectMany(component => BitConverter.GetBytes((float)component)).SequenceEqual(words[at + 1]);
    }

    private static string TextOf(byte[] word) => System.Text.Encoding.Latin1.GetString(word);

    private static string Text(double component) => component.ToString("R", CultureInfo.InvariantCulture);

    private static Argument Key(RandomSource random) => random.Chance(96) ? $"v{random.Below(Forms.Length)}" : random.Pick<Argument>("nosuch", "", "other");

    private static Argument Element(RandomSource random) => random.Chance(94) ? $"e{random.Below(Elements)}" : random.Pick<Argument>("nowhere", "", "7", new byte[] { 0xff, 0 });

    private static Argument Number(RandomSource random) => random.Chance(75) ? 1 + random.Below(60) : random.Pick(BadNumberPool);

    // On a sphere, away from each other.
    private static IEnumerable<double> VectorOf(int number, int dimensions) =>
        Enumerable.Range(0, dimensions).Select(i => Math.Round(Math.Sin((number + 1) * 2.399963 * (i + 1)) + (0.37 * Math.Cos((number + 3.1) * 1.7 * (i + 2))), 6) * (1 + (number % 3)));

    private static Argument[] Values(RandomSource random, int number, int dimensions)
    {
        double[] vector = [.. VectorOf(number, dimensions)];
        if (random.Chance(15)) return ["FP32", vector.SelectMany(component => BitConverter.GetBytes((float)component)).ToArray()];
        Argument[] words = [random.Word("VALUES"), dimensions, .. vector.Select(component => (Argument)Text(component))];
        if (random.Chance(4)) words[random.Below(words.Length)] = random.Pick<Argument>("abc", "", "1.5.5", " 1", "--1"); // no numbers that are so large that all distances become equal
        return words;
    }

    private static Episode VAdd(RandomSource random)
    {
        int form = random.Below(Forms.Length);
        int number = random.Below(Elements + 1);
        int dimensions = random.Chance(96) ? Forms[form].Dimensions : random.Pick(OtherDimensions);
        List<Argument> words = [random.Word("VADD"), random.Chance(98) ? $"v{form}" : Key(random)];
        if (random.Chance(2)) words.AddRange([random.Word("REDUCE"), random.Pick(BadNumberPool)]); // see NotCopied
        words.AddRange(Values(random, number, dimensions));
        if (random.Chance(1) && words.Count >= Counts["VADD"].Min) return Episode.Of([.. words]);
        words.Add(number < Elements ? $"e{number}" : "");
        List<Argument[]> options = [[random.Chance(97) ? Forms[form].Quantization : random.Word("Q8", "BIN", "NOQUANT")]];
        if (random.Chance(40)) options.Add([random.Word("SETATTR"), random.Pick([.. AttributePool.Where(text => text.Bytes.Length > 0)])]); // see NotCopied
        if (random.Chance(10)) options.Add([random.Word("EF"), random.Chance(80) ? 100 + random.Below(200) : random.Pick(BadNumberPool)]);
        if (random.Chance(5)) options.Add([random.Word("M"), random.Chance(70) ? 16 : Number(random)]);
        if (random.Chance(10)) options.Add([random.Word("CAS")]);
        if (random.Chance(2)) options.Add([random.Word("FOO", "SETATTR", "EF", "M")]);
        while (options.Count > 0)
        {
            Argument[] option = random.Pick(options);
            options.Remove(option);
            words.AddRange(option);
        }

        return Episode.Of([.. words]);
    }

    private static Episode VSim(RandomSource random)
    {
        int form = random.Below(Forms.Length);
        List<Argument> words = [random.Word("VSIM"), random.Chance(97) ? $"v{form}" : Key(random)];
        if (random.Chance(50)) words.AddRange(["ELE", Element(random)]);
        else words.AddRange(Values(random, 1000 + random.Below(Queries), random.Chance(97) ? Forms[form].Dimensions : 1 + random.Below(6)));
        if (random.Chance(60)) words.AddRange([random.Word("COUNT"), Number(random)]);
        if (random.Chance(40)) words.Add(random.Word("WITHSCORES"));
        if (random.Chance(30)) words.Add(random.Word("TRUTH"));
        if (random.Chance(20)) words.AddRange([random.Word("EF"), random.Chance(80) ? 100 + random.Below(100) : random.Pick(BadNumberPool)]);
        if (random.Chance(15)) words.AddRange([random.Word("EPSILON"), random.Chance(80) ? random.Pick<Argument>("0.1", "0.5", "1", "2", "0.015", "1e-3") : random.Pick(BadNumberPool)]);
        if (random.Chance(15)) words.Add(random.Word("NOTHREAD"));
        if (random.Chance(15)) words.AddRange([random.Word("FILTER"), Filter(random)]);
        if (random.Chance(3)) words.Add(random.Word("FOO", "COUNT", "EF", "FILTER", "EPSILON", "FILTER-EF"));
        return Episode.Of([.. words]);
    }

    // One of those that were written by hand, or two that are joined.
    private static Argument Filter(RandomSource random)
    {
        string first = random.Pick(FilterTexts.All);
        if (random.Chance(50)) return first;
        string second = random.Pick(FilterTexts.All);
        return random.Pick($"({first}) and ({second})", $"({first}) or ({second})", $"not ({first})", $"{first} {second}", $"({first}) == ({second})", first[..random.Below(first.Length + 1)], $"{first} && {second}", $"{first} + {second}");
    }
}
