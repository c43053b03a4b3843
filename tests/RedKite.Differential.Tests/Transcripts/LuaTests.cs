using System.Text;
using System.Text.RegularExpressions;
using RedKite.TestSupport;

namespace RedKite.Differential.Tests.Transcripts;

/// <summary>
/// The language of scripts, on both servers: what Lua 5.1 computes, prints and refuses. LuaSnippets.txt has one script a line; arithmetic
/// and the functions of numbers are tried with all pairs of operands at which Lua 5.1 and 5.4 could differ.
/// </summary>
[Collection(TranscriptCollection.Name)]
public sealed partial class LuaTests(TranscriptServers servers) : TranscriptTests(servers)
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

    // Not collectgarbage("count"), gcinfo and os.clock, which differ by nature.
    private static readonly string[] Functions =
    [
        .. "assert error getmetatable ipairs load loadstring next pairs pcall rawequal rawget rawset select setmetatable tonumber tostring type unpack xpcall".Split(' '),
        .. "collectgarbage redis.call redis.pcall redis.breakpoint redis.debug redis.replicate_commands".Split(' '),
        .. Of("string", "byte char find format gmatch gsub len lower match rep reverse sub upper"),
        .. Of("table", "concat foreach foreachi getn insert maxn remove setn sort"),
        .. Of("math", "abs acos asin atan atan2 ceil cos cosh deg exp floor fmod frexp ldexp log log10 max min modf pow rad random randomseed sin sinh sqrt tan tanh"),
        .. Of("coroutine", "create resume running status wrap yield"),
        .. Of("redis", "acl_check_cmd error_reply log set_repl setresp sha1hex status_reply"),
        .. Of("cjson", "decode decode_invalid_numbers decode_max_depth encode encode_invalid_numbers encode_keep_buffer encode_max_depth encode_number_precision encode_sparse_array"),
        .. Of("cmsgpack", "pack unpack unpack_limit unpack_one"), .. Of("struct", "pack size unpack"),
        .. Of("bit", "arshift band bnot bor bswap bxor lshift rol ror rshift tobit tohex"),
    ];

    private static readonly string[] WrongArguments =
    [
        "", "nil", "true", "1", "0", "-1", "0/0", "1/0", "1e8", "'x'", "'5'", "'z'", "{}", "script", "co", "nil, nil", "1, nil", "1, {}", "'x', 1", "'x', {}", "'x', 'x'", "'%d', 'x'", "'z', 99", "{}, nil", "{}, 1", "{}, 'x'", "{}, {}", "{}, script",
        "{1, 'a'}", "{3, 1, 2}, 1", "{3, 1, 2}, 1.5", "script, 1", "script, script, 1", "co, 1", "1, 1, {}", "'x', 'x', nil", "'x', 'x', 'x', 'x'", "'', 'x', 1.5", "{}, 'x', {}", "{}, 1, 1e8", "{}, 1, 2, 3", "'i', 'x'", "3, 'x'",
    ];

    // Some settings of cjson are kept for what follows, and so is the seed.
    private const string Restore = "cjson.decode_invalid_numbers(true) cjson.decode_max_depth(1000) cjson.encode_invalid_numbers(false) cjson.encode_keep_buffer(true) cjson.encode_max_depth(1000) cjson.encode_number_precision(17) cjson.encode_sparse_array(false, 2, 10) math.randomseed(0)";

    [Fact]
    public void Snippets_have_the_same_replies()
    {
        using Stream stream = typeof(LuaTests).Assembly.GetManifestResourceStream("LuaSnippets.txt")!;
        using StreamReader reader = new(stream, Encoding.UTF8);
        string[] scripts = reader.ReadToEnd().Split('\n', StringSplitOptions.RemoveEmptyEntries);
        Assert.True(scripts.Length > 900);
        AreAlike(scripts);
    }

    [Fact]
    public void Functions_of_a_number_have_the_same_replies() =>
        AreAlike(from number in Numbers from function in OfOne select Caught(function.Replace("X", $"({number})", StringComparison.Ordinal)));

    [Fact]
    public void Functions_of_two_numbers_have_the_same_replies() =>
        AreAlike(from x in Numbers from y in Numbers select $"local x, y = {x}, {y} return {{{string.Join(", ", OfTwo.Select(function => Text(function, x, y)))}}}");

    // Under pcall directly, and by name in a function, with the number of results.
    [Fact]
    public void Functions_with_wrong_arguments_have_the_same_replies()
    {
        AreAlike(CallsOf(Functions.Where(function => !SaysNil(function))), WithoutAddresses);
        AreAlike(CallsOf(Functions.Where(SaysNil)), WithoutKnown);

        static IEnumerable<string> CallsOf(IEnumerable<string> functions) =>
            from function in functions
            from arguments in WrongArguments
            from call in (string[])[$"pcall({function}{(arguments.Length > 0 ? ", " : "")}{arguments})", $"pcall(function() return select('#', {function}({arguments})), {function}({arguments}) end)"]
            select $"local script, co = function(...) return ... end, coroutine.create(function() end) local r = {{{call}}} for i = 1, 5 do r[i] = type(r[i]) .. ' ' .. tostring(r[i]) end {Restore} return r";
    }

    [Fact]
    public void Methods_with_wrong_arguments_have_the_same_replies() =>
        AreAlike(
            from function in Of("string", "byte find format gmatch gsub match rep sub")
            from arguments in WrongArguments
            from self in (string[])["'x'", "setmetatable({}, {__index = string})"]
            select $"local script, co = function(...) return ... end, coroutine.create(function() end) return {{pcall(function() local s = {self} local r = s:{function["string.".Length..]}({arguments}) return type(r) end)}}",
            WithoutKnown);

    private static IEnumerable<string> Of(string library, string names) => names.Split(' ').Select(name => $"{library}.{name}");

    // What docs/scripting.md names: a missing argument of a function that is called often is nil.
    private static bool SaysNil(string function) => function is "math.floor" or "math.ceil" or "select" || function.StartsWith("string.", StringComparison.Ordinal);

    private static string WithoutAddresses(string reply) => Address().Replace(reply, "");

    private static string WithoutKnown(string reply) => WithoutAddresses(reply).Replace("expected, got no value", "expected, got nil", StringComparison.Ordinal);

    // A remainder of literals is translated apart. Literals that give 0 and -0 in one script are the same constant to Lua 5.1.
    private static string Text(string function, string x, string y) => function == "X % Y"
        ? $"tostring(x % y), tostring(({x}) % ({y})), tostring((x) % y), tostring(x % ({y}))"
        : $"tostring({function.Replace('X', 'x').Replace('Y', 'y')})";

    private static string Caught(string expression) => $"local r = {{pcall(function() return {expression} end)}} for i = 1, #r do r[i] = tostring(r[i]) end return r";

    private void AreAlike(IEnumerable<string> scripts, Func<string, string>? compared = null)
    {
        List<string> differences = [];
        RespConnection oracle = Pair.Oracle.Control, subject = Pair.Subject.Control;
        // The gate runs every third script.
        foreach (string script in scripts.Where((_, i) => TestScale.IsLong || i % 3 == 0))
        {
            byte[][] request = ["EVAL"u8.ToArray(), Encoding.Latin1.GetBytes(script), "0"u8.ToArray()];
            string expected = oracle.Run(request).ToString(), actual = subject.Run(request).ToString();
            if (expected != actual && (compared is null || compared(expected) != compared(actual))) differences.Add($"{script}\n  Redis:   {expected}\n  RedKite: {actual}");
        }

        Assert.True(differences.Count == 0, string.Join('\n', differences));
    }

    [GeneratedRegex(": (0x[0-9a-f]+|builtin: [0-9a-f]+)")]
    private static partial Regex Address();
}
