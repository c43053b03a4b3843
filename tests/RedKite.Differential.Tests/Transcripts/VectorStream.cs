namespace RedKite.Differential.Tests.Transcripts;

/// <summary>A stream of commands on two small vector sets, of which about one in ten is wrong. What Redis counts otherwise is left out (NotCopied).</summary>
internal sealed class VectorStream(Random random)
{
    private static readonly string[] Components = ["1", "0", "-1", "0.5", "2", "0.25", "-3"];
    private static readonly string[] Values = ["1", "2", "1.5", "\"ab\"", "\"b\"", "\"\"", "true", "false", "null", "[1,2]", "[\"a\",\"ab\"]", "[]", "{\"x\":1}", "-3", "1e2", "\"1\"", "\"\\u0041\"", "0"];
    private static readonly string[] Fields = ["a", "b", "c", "dd", "a_b"];
    private static readonly string[] Operators = ["+", "-", "*", "/", "%", "**", "==", "!=", ">", "<", ">=", "<=", " and ", " or ", "&&", "||", " in ", " in "];

    internal string[] Next()
    {
        string key = random.Next(4) == 0 ? "w" : "v";
        return random.Next(20) switch
        {
            < 6 => Add(key),
            6 => ["VREM", key, Element()],
            7 => ["VSETATTR", key, Element(), Attributes()],
            8 => ["VGETATTR", key, Element()],
            9 => ["VEMB", key, Element(), .. random.Next(4) == 0 ? [Pick("RAW", "x")] : (string[])[]],
            10 => [Pick("VCARD", "VDIM", "VINFO", "VINFO"), key],
            11 => ["VRANGE", key, Pick("-", "[e1", "(e2", "e", "+"), Pick("+", "[e5", "(e9", "-"), .. random.Next(2) == 0 ? [Pick("2", "-1", "0", "x")] : (string[])[]],
            _ => Search(key),
        };
    }

    private string[] Add(string key)
    {
        List<string> words = ["VADD", key];
        if (random.Next(20) == 0) words.AddRange(["REDUCE", Pick("5", "0", "-1", "x")]);
        words.AddRange([.. Vector(random.Next(20) > 0 ? 3 : 2), Element()]);
        bool isThreaded = random.Next(5) == 0;
        if (isThreaded) words.Add("CAS");
        else if (random.Next(10) == 0) words.Add(Pick("NOQUANT", "Q8", "BIN"));
        string attributes = Attributes();
        if (random.Next(2) == 0 && !isThreaded && attributes.Length > 0) words.AddRange(["SETATTR", attributes]);
        if (random.Next(5) == 0) words.AddRange(["EF", Pick("10", "200", "0", "-1", "1000001", "x")]);
        if (random.Next(5) == 0) words.AddRange(["M", Pick("16", "4", "8", "3", "0", "x", "4096", "4097")]);
        return [.. words];
    }

    private string[] Search(string key)
    {
        List<string> words = ["VSIM", key, .. random.Next(2) == 0 ? ["ELE", Element()] : Vector(random.Next(20) > 0 ? 3 : 2)];
        if (random.Next(5) < 3) words.Add("WITHSCORES");
        if (random.Next(3) == 0) words.Add("WITHATTRIBS");
        if (random.Next(3) == 0) words.AddRange(["COUNT", Pick("20", "0", "-1", "x")]);
        if (random.Next(5) == 0) words.AddRange(["EPSILON", Pick("0.1", "0.2", "1", "2", "-1", "x", "0.9")]);
        if (random.Next(5) < 3) words.AddRange(["FILTER", Expression(2)]);
        if (random.Next(10) == 0) words.AddRange(["FILTER-EF", Pick("0", "10000", "-1", "x")]);
        if (random.Next(10) == 0) words.AddRange(["EF", Pick("100", "0", "1000000", "1000001", "x")]);
        if (random.Next(3) == 0) words.Add(Pick("TRUTH", "NOTHREAD"));
        return [.. words];
    }

    private string[] Vector(int dimensions) => ["VALUES", $"{dimensions}", .. Enumerable.Range(0, dimensions).Select(_ => Pick(Components))];

    private string Element() => $"e{random.Next(12)}";

    private string Attributes() => random.Next(12) == 0
        ? Pick("", "{", "[]", "null", "{\"a\":}", "{\"a\":1,}", "x")
        : $"{{{string.Join(',', Fields.Take(random.Next(5)).Select(field => $"\"{field}\":{Pick(Values)}"))}}}";

    private string Expression(int depth)
    {
        string text = Term(depth);
        for (int i = random.Next(3); i > 0; i--) text += $"{Pick("", " ")}{Pick(Operators)}{Pick("", " ")}{Term(depth)}";
        return random.Next(20) == 0 ? text[..random.Next(text.Length + 1)] : text;
    }

    private string Term(int depth) => (random.Next(7) == 0 ? Pick("!", "not ", "-") : "") + random.Next(20) switch
    {
        < 8 => "." + Pick(Fields),
        < 12 => Pick("1", "2", "0", "-3", "1.5", "1e2", "100"),
        < 15 => Pick("\"ab\"", "'b'", "\"a\"", "\"\"", "\"1\"", "true", "false", "null"),
        < 17 => $"[{string.Join(',', Enumerable.Range(0, random.Next(4)).Select(_ => Pick("1", "\"ab\"", "\"a\"", "2", "true")))}]",
        _ when depth > 0 => $"({Expression(depth - 1)})",
        _ => ".a",
    };

    private string Pick(params string[] texts) => texts[random.Next(texts.Length)];
}
