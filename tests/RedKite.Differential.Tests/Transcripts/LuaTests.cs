using System.Text;
using RedKite.Testing;

namespace RedKite.Differential.Tests.Transcripts;

/// <summary>
/// The language of scripts, on both servers: what Lua 5.1 computes, prints and refuses. LuaSnippets.txt has one script a line; arithmetic
/// and the functions of numbers are tried with all pairs of operands at which Lua 5.1 and 5.4 could differ.
/// </summary>
[Collection(TranscriptCollection.Name)]
public sealed class LuaTests(TranscriptServers servers) : TranscriptTests(servers)
{
    // Without -0: Lua 5.1 keeps one constant for 0 and -0.
    private static readonly string[] Numbers =
    [
        "0", "1", "-1", "7", "-7", "0.5", "-0.5", "2.5", "3", "1e15", "1e16", "9007199254740993", "-9007199254740993", "1e300", "1/0", "-1/0", "2^53", "2^63", "-2^63", "4294967295", "4294967296",
        "-4294967297", "1e-300", "123456.789", "0.1", "1e17",
    ];

    private static readonly string[] OfOne =
    [
        "tostring(X)", "X .. ''", "-X", "math.floor(X)", "math.ceil(X)", "math.abs(X)", "math.modf(X)", "math.sqrt(X)", "math.log(X)", "math.log10(X)", "math.exp(X)", "math.frexp(X)", "math.ldexp(1, X)", "math.deg(X)",
        "string.format('%d|%i|%5.1f|%g|%e|%s', X, X, X, X, X, X)", "string.format('%x|%u|%c', X, X, X)", "string.format('%.17g|%.0f', X, X)", "string.sub('abc', X)", "string.byte('abc', X)", "string.find('abc', '', X)",
        "string.match('abc', 'b', X)", "string.char(X)", "select(X, 1, 2, 3)", "table.concat({1, 2}, ',', X)", "tonumber('10', X)", "bit.tobit(math.floor(X % 4294967296))", "cjson.encode(X)", "cmsgpack.pack(X)", "struct.pack('>d', X)",
        "({10, 20})[X]", "redis.call('ECHO', X)", "redis.call('SETBIT', 'bits', 7, X)", "tostring(tonumber(tostring(X)))", "redis.sha1hex(X)",
    ];

    private static readonly string[] OfTwo = ["X + Y", "X - Y", "X * Y", "X / Y", "X % Y", "X ^ Y", "X < Y", "X <= Y", "X == Y", "math.fmod(X, Y)", "math.max(X, Y)", "math.min(X, Y)", "math.pow(X, Y)"];

    [Fact]
    public void Snippets_reply_alike()
    {
        using Stream stream = typeof(LuaTests).Assembly.GetManifestResourceStream("LuaSnippets.txt")!;
        using StreamReader reader = new(stream, Encoding.UTF8);
        string[] scripts = reader.ReadToEnd().Split('\n', StringSplitOptions.RemoveEmptyEntries);
        Assert.True(scripts.Length > 900);
        AreAlike(scripts);
    }

    [Fact]
    public void Functions_of_a_number_reply_alike() =>
        AreAlike(from number in Numbers from function in OfOne select Caught(function.Replace("X", $"({number})", StringComparison.Ordinal)));

    [Fact]
    public void Functions_of_two_numbers_reply_alike() =>
        AreAlike(from x in Numbers from y in Numbers select $"local x, y = {x}, {y} return {{{string.Join(", ", OfTwo.Select(function => Text(function, x, y)))}}}");

    // A remainder of literals is translated apart. Literals that give 0 and -0 in one script are the same constant to Lua 5.1.
    private static string Text(string function, string x, string y) => function == "X % Y"
        ? $"tostring(x % y), tostring(({x}) % ({y})), tostring((x) % y), tostring(x % ({y}))"
        : $"tostring({function.Replace('X', 'x').Replace('Y', 'y')})";

    private static string Caught(string expression) => $"local r = {{pcall(function() return {expression} end)}} for i = 1, #r do r[i] = tostring(r[i]) end return r";

    private void AreAlike(IEnumerable<string> scripts)
    {
        List<string> differences = [];
        RespConnection oracle = Pair.Oracle.Control, subject = Pair.Subject.Control;
        foreach (string script in scripts)
        {
            byte[][] request = ["EVAL"u8.ToArray(), Encoding.Latin1.GetBytes(script), "0"u8.ToArray()];
            string expected = oracle.Run(request).ToString(), actual = subject.Run(request).ToString();
            if (expected != actual) differences.Add($"{script}\n  Redis:   {expected}\n  RedKite: {actual}");
        }

        Assert.True(differences.Count == 0, string.Join('\n', differences));
    }
}
