using System.Text.RegularExpressions;

namespace RedKite.Scripting.Tests;

/// <summary>What an interpreter takes before its scripts use any library, what each function adds where it is first used, and that a script sees no difference.</summary>
public partial class LibraryMemoryTests
{
    private const long EmptyBytesMax = 16 * 1024; // measured: 15,573; redis-server 8.0.2 has 33 KiB
    private const long LibraryBytesMax = 3 * 1024; // measured: at most 2,655

    [Fact]
    public void Interpreter_has_only_the_functions_that_scripts_use()
    {
        using var bench = new ScriptBench();
        Assert.Equal(":1\r\n", bench.Run("return redis.call('get', KEYS[1]) and #ARGV + 1", ["k"]));
        bench.Lua.Collect();
        long empty = bench.Lua.UsedBytes;
        TestContext.Current.TestOutputHelper?.WriteLine($"{empty} bytes without a library");
        Assert.InRange(empty, 0, EmptyBytesMax);
        foreach ((string library, string script) in new[]
        {
            ("string", "return ('x'):upper()"), ("table", "return table.concat({'x'})"), ("math", "return math.floor(1.5)"), ("coroutine", "return coroutine.status(coroutine.create(function() end))"),
            ("bit", "return bit.bor(1, 2)"), ("cjson", "return cjson.encode({1})"), ("cmsgpack", "return cmsgpack.pack(1)"), ("struct", "return struct.size('i')"),
        })
        {
            long before = bench.Lua.UsedBytes;
            Assert.DoesNotContain("-ERR", bench.Run(script));
            bench.Lua.Collect();
            long after = bench.Lua.UsedBytes;
            TestContext.Current.TestOutputHelper?.WriteLine($"{after - before} bytes more with {library}");
            Assert.InRange(after - before, 0, LibraryBytesMax);
            bench.Run(script);
            bench.Lua.Collect();
            Assert.InRange(bench.Lua.UsedBytes, 0, after + 100); // once
        }
    }

    [Fact]
    public void Every_part_compiles()
    {
        using var bench = new ScriptBench();
        foreach (string name in PreludeParts.Names)
        {
            if (name is "loading") continue; // only of an interpreter of functions
            LuaInterpreter.PushFromPrelude(bench.Lua.State, name);
            bench.Lua.ClearStack();
        }
    }

    [Fact]
    public void Order_in_which_scripts_find_functions_does_not_depend_on_their_use()
    {
        const string Names = "local names = {} for _, t in ipairs({_G, string, table, math, coroutine, redis, cjson, bit, struct, cmsgpack, os}) do for k in pairs(t) do names[#names + 1] = k end end return table.concat(names, ' ')";
        using var fresh = new ScriptBench();
        string names = fresh.Run(Names);
        Assert.Equal(names, fresh.Run(Names));
        using var used = new ScriptBench();
        string[] functions = [.. Word().Matches(names).Select(match => match.Value).Reverse()];
        foreach (string function in functions)
        {
            used.Run($"for _, t in ipairs({{os, cmsgpack, struct, bit, cjson, redis, coroutine, math, table, string}}) do local f = t['{function}'] end return rawget(_G, '{function}') ~= nil");
        }

        Assert.Equal(names, used.Run(Names));
        Assert.True(functions.Length > 150, $"only {functions.Length} functions");
    }

    [Fact]
    public void Functions_stay_the_same_when_all_of_them_have_been_shown()
    {
        using var bench = new ScriptBench();
        const string Before = "local g, u, l = _G, string.upper, string.lower ";
        const string After = " return {g == _G, u == string.upper, l == ('x').lower, pairs == _G.pairs, rawget(string, 'upper') == u, rawget(string, 'nothing') == nil, KEYS[1], #ARGV}";
        const string Expected = "*8\r\n:1\r\n:1\r\n:1\r\n:1\r\n:1\r\n:1\r\n$1\r\nk\r\n:1\r\n";
        Assert.Equal(Expected, bench.Run(Before + After, ["k"], ["a"]));
        Assert.Equal(Expected, bench.Run(Before + "for _, t in ipairs({_G, string}) do for k, v in pairs(t) do if t[k] ~= v then return k end end end" + After, ["k"], ["a"]));
        Assert.Equal(Expected, bench.Run(Before + After, ["k"], ["a"]));
        Assert.Contains("nonexistent global variable 'nothing'", bench.Run("return nothing"));
        Assert.Contains("readonly", bench.Run("_G.x = 1"));
    }

    // Where the calls nest as deeply as Lua permits, a function is compiled all the same, or the script gets an error: never the interpreter.
    [Theory]
    [InlineData("local function f(n) local ok, e = pcall(f, n + 1) return string.upper('x') .. #table.concat({'x'}) .. math.floor(1.5) .. cjson.encode({n}) end return type(f(1))")]
    [InlineData("local function f(n) if n > 0 then f(n - 1) end string.rep('x', 2) return n end return type(pcall(f, 150000))")]
    [InlineData("local function f(n) return 1 + f(n + 1) + string.len('x') end return type(pcall(f, 1))")]
    [InlineData("local t = setmetatable({}, {__index = function(t, k) local v = t[k + 1] return tostring(bit.bor(k, 1)) .. struct.size('i') end}) return type(pcall(function() return t[1] end))")]
    [InlineData("local function f(n) return coroutine.wrap(function() local ok, e = pcall(f, n + 1) return string.format('%d', n) .. cmsgpack.pack(1) end)() end return type(pcall(f, 1))")]
    [InlineData("local names = {'len', 'upper', 'lower', 'rep', 'sub', 'byte', 'char', 'find', 'match', 'gsub', 'gmatch', 'format', 'reverse'} local function f(n) pcall(f, n + 1) return string[names[n % #names + 1]] end f(1) return 'x'")]
    public void Function_is_first_used_at_any_depth(string script)
    {
        using var bench = new ScriptBench();
        Assert.StartsWith("$", bench.Run(script), StringComparison.Ordinal);
        Assert.Equal("$2\r\nX1\r\n", bench.Run("return string.upper('x') .. string.len('y')"));
    }

    [GeneratedRegex(@"\b\w+\b")]
    private static partial Regex Word();
}
