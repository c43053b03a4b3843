namespace RedKite.Scripting.Tests;

/// <summary>What managed code copies of a script's texts: its functions read them where Lua has them.</summary>
public class ScriptTextTests
{
    private const int Text = 1_000_000;

    // Each call copied the whole text: this script took as many bytes as calls times its text.
    [Theory]
    [InlineData("local n = 0 for i = 1, 40 do n = n + struct.unpack('b', s, i) end return n")]
    [InlineData("local n = 0 for i = 1, 40 do n = n + select(2, cmsgpack.unpack_one(s, i)) end return n")]
    [InlineData("local j, n = '\"' .. s .. '\"', 0 for i = 1, 20 do n = n + #cjson.decode(j) end return n")]
    [InlineData("for i = 1, 20 do pcall(cjson.decode, s) end return 1")]
    public void Texts_are_read_in_place(string script)
    {
        using var bench = new ScriptBench();
        script = $"local s = string.rep('x', {Text}) " + script;
        Assert.StartsWith(":", bench.Run(script));
        long before = GC.GetAllocatedBytesForCurrentThread();
        bench.Run(script);
        Assert.InRange(GC.GetAllocatedBytesForCurrentThread() - before, 0, 5 * Text); // of concatenation
    }

    [Theory]
    [InlineData(@"'""' .. string.rep('\\n', 5) .. '""'", "$5\r\n\n\n\n\n\n\r\n")]
    [InlineData(@"'""a\\u00e9\\ud83d\\ude00b""'", "$8\r\naÃ©\u00f0\u009f\u0098\u0080b\r\n")]
    [InlineData(@"'""a\\qb""'", "-ERR user_script:1: Expected value but found invalid escape code at character 3")]
    [InlineData(@"'""a\\nb'", "-ERR user_script:1: Expected value but found unexpected end of string at character 6")]
    [InlineData(@"'""ab'", "-ERR user_script:1: Expected value but found unexpected end of string at character 4")]
    [InlineData(@"'""ab\0c""'", "-ERR user_script:1: Expected value but found unexpected end of string at character 4")]
    public void Strings_of_json_are_read(string text, string reply)
    {
        using var bench = new ScriptBench();
        Assert.StartsWith(reply, bench.Run($"return cjson.decode({text})"));
    }

    [Fact]
    public void Strings_of_json_are_written()
    {
        using var bench = new ScriptBench();
        Assert.Equal("$39\r\n\"a\\u0000\\u001f\\u007f\\\"\\\\\\/\\b\\t\\n\\f\\rb\u00e9\"\r\n", bench.Run(@"return cjson.encode('a\0\31\127""\\/\b\t\n\f\rb\233')"));
    }

    [Fact]
    public void Results_of_one_line_are_written_in_pieces()
    {
        using var bench = new ScriptBench();
        string expected = string.Concat(Enumerable.Repeat("ab  ", 5_000));
        Assert.Equal($"+{expected}\r\n", bench.Run(@"return {ok = string.rep('ab\r\n', 5000)}"));
        Assert.Equal($"$20000\r\n{expected}\r\n", bench.Run(@"return {big_number = string.rep('ab\r\n', 5000)}"));
        Assert.Equal($"({expected}\r\n", bench.Run(@"return {big_number = string.rep('ab\r\n', 5000)}", resp3: true));
        string script = $"return {{ok = string.rep('x', {Text})}}";
        bench.Run(script);
        long before = GC.GetAllocatedBytesForCurrentThread();
        bench.Run(script);
        Assert.InRange(GC.GetAllocatedBytesForCurrentThread() - before, 0, 7L * Text); // the reply, its growth, and the text of the test
    }

    [Theory]
    [InlineData("error(string.rep('x', 3000000), 0)")]
    [InlineData("error({err = string.rep('x', 3000000)})")]
    [InlineData("return {err = string.rep('x', 3000000)}")]
    public void Error_replies_have_a_limit(string script)
    {
        using var bench = new ScriptBench();
        string reply = bench.Run(script);
        Assert.InRange(reply.Length, LuaInterpreter.ErrorBytesMax, LuaInterpreter.ErrorBytesMax + 5_000);
        Assert.Equal(":3\r\n", bench.Run("return 1 + 2"));
    }

    // An error copied the source of the chunk at each level, and reached each level from the top.
    [Theory]
    [InlineData(400, "user_script:1: x")]
    [InlineData(2_000, "x")]
    public void Position_of_an_error_is_searched_for_in_some_levels(int depth, string message)
    {
        using var bench = new ScriptBench();
        string script = "local f = loadstring(\"local d = ... local function r(n) if n == 0 then error('x', d + 3) end r(n - 1) return 1 \" .. string.rep('+ n * 2 ', 3000) .. \" end r(d) return 1\")"
            + $" local ok, e = pcall(function() f({depth}) return 1 end) return e";
        Assert.Equal($"${message.Length}\r\n{message}\r\n", bench.Run(script));
        long before = GC.GetAllocatedBytesForCurrentThread();
        bench.Run(script);
        Assert.InRange(GC.GetAllocatedBytesForCurrentThread() - before, 0, 20_000_000); // of translating it
    }

    [Fact]
    public void Text_of_an_interpreter_fits_in_one_of_the_runtime()
    {
        Assert.Equal(1000L << 20, ScriptSize.MemoryBytesMaxOf(1L << 40));
        Assert.Equal(64L << 20, ScriptSize.MemoryBytesMaxOf(512L << 20));
        Assert.InRange(ScriptSize.MemoryBytesMaxOf(long.MaxValue), 0, 0x3FFF_FFDF);
    }
}
