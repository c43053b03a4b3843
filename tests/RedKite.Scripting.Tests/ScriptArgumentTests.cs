using RedKite.Scripting.Translation;

namespace RedKite.Scripting.Tests;

/// <summary>KEYS and ARGV: scripts that only read them share two tables, and no other script leaves anything there.</summary>
public sealed class ScriptArgumentTests : IDisposable
{
    private const string Reader = "return {#KEYS, KEYS[1], KEYS['extra'] or 'none', #ARGV, ARGV[1] or 'none', ARGV[2] or 'none', ARGV[5] or 'none'}";

    private readonly ScriptBench _bench = new();

    public void Dispose() => _bench.Dispose();

    [Theory]
    [InlineData(Reader)]
    [InlineData("local first = KEYS[1] return redis.call('GET', first, ARGV[1], (KEYS[#KEYS]))")]
    [InlineData("for i = 1, #KEYS do redis.call('DEL', KEYS[i]) end if #ARGV > 0 and tonumber(ARGV[1]) == 1 then return ARGV[#ARGV] .. KEYS[1] end")]
    [InlineData("local KEYS = {} KEYS[1] = 'own' return KEYS")]
    [InlineData("local t = {KEYS[1]} t[ARGV[1]], t.KEYS = ARGV[2], 1")]
    [InlineData("return KEYS[1]:upper()")]
    public void Scripts_that_only_read_their_arguments_are_recognized(string script) => Assert.True(OnlyReads(script));

    [Theory]
    [InlineData("KEYS[1] = 'changed'")]
    [InlineData("local a a, KEYS[1] = 1, 2")]
    [InlineData("KEYS[1], a = 1, 2")]
    [InlineData("KEYS['extra'] = 1")]
    [InlineData("KEYS.extra = 1")]
    [InlineData("(KEYS)[1] = 'changed'")]
    [InlineData("function KEYS.extra() end")]
    [InlineData("function KEYS:extra() end")]
    [InlineData("local k = KEYS k[1] = 'changed'")]
    [InlineData("local k = #KEYS > 0 and KEYS")]
    [InlineData("table.insert(ARGV, 'more')")]
    [InlineData("for i in ipairs(KEYS) do end")]
    [InlineData("return KEYS")]
    [InlineData("return {KEYS}")]
    [InlineData("setmetatable(KEYS, {})")]
    [InlineData("rawset(ARGV, 5, 'changed')")]
    [InlineData("_G.KEYS[1] = 'changed'")]
    [InlineData("_G['KEYS'].extra = 'changed'")]
    [InlineData("getfenv(0).KEYS[1] = 'changed'")]
    [InlineData("setfenv(1, {})")]
    [InlineData("loadstring('KEYS[1] = 1')()")]
    [InlineData("load(function() end)")]
    [InlineData("local f = function() return function() return ARGV end end")]
    public void Other_scripts_have_tables_of_their_own(string script)
    {
        Assert.False(OnlyReads(script));
        string before = _bench.Run(Reader, ["key"], ["a", "b"]);
        _bench.Run(script, ["key"], ["a", "b", "c", "d", "e"]);
        Assert.Equal(before, _bench.Run(Reader, ["key"], ["a", "b"]));
    }

    [Fact]
    public void Shared_tables_have_the_arguments_of_the_last_script_alone()
    {
        Assert.Equal("*7\r\n:2\r\n$1\r\na\r\n$4\r\nnone\r\n:5\r\n$1\r\n1\r\n$1\r\n2\r\n$1\r\n5\r\n", _bench.Run(Reader, ["a", "b"], ["1", "2", "3", "4", "5"]));
        Assert.Equal("*7\r\n:1\r\n$1\r\nc\r\n$4\r\nnone\r\n:1\r\n$1\r\n6\r\n$4\r\nnone\r\n$4\r\nnone\r\n", _bench.Run(Reader, ["c"], ["6"]));
        Assert.Equal(":0\r\n", _bench.Run("return #KEYS + #ARGV"));
        Assert.Equal("*7\r\n:3\r\n$1\r\na\r\n$4\r\nnone\r\n:100\r\n$1\r\n1\r\n$1\r\n2\r\n$1\r\n5\r\n", _bench.Run(Reader, ["a", "b", "c"], [.. Enumerable.Range(1, 100).Select(i => $"{i}")]));
        Assert.Equal("*7\r\n:1\r\n$1\r\nc\r\n$4\r\nnone\r\n:2\r\n$1\r\n6\r\n$1\r\n7\r\n$4\r\nnone\r\n", _bench.Run(Reader, ["c"], ["6", "7"]));
    }

    // The shared tables live on between scripts: a script that gets its own must not find the memory taken.
    [Fact]
    public void Long_arguments_are_not_kept_by_the_shared_tables()
    {
        const int Bytes = 8 * 1024 * 1024;
        _bench.Run("return #ARGV[1]", ["key"], [new string('x', Bytes)]);
        _bench.Run("local a = ARGV return #a[1]", ["key"], ["short"]);
        _bench.Lua.Collect();
        Assert.InRange(_bench.Lua.UsedBytes, 0, Bytes / 2);
    }

    [Theory]
    [InlineData("redis.register_function('f', function(keys, args) return redis.call('SET', keys[1], args[1], #args) end)", true)]
    [InlineData("redis.register_function('f', function(keys) return #keys end)", true)]
    [InlineData("redis.register_function('f', function() return 1 end)", true)]
    [InlineData("redis.register_function('f', function(keys, args) local key = keys[1] for i = 1, #args do redis.call('SADD', key, args[i]) end return key end)", true)]
    [InlineData("redis.register_function('f', function(keys, args) return keys end)", false)]
    [InlineData("redis.register_function('f', function(keys, args) return unpack(args) end)", false)]
    [InlineData("redis.register_function('f', function(keys, args) args[1] = 'x' end)", false)]
    [InlineData("redis.register_function('f', function(keys, args) keys.x, args[2] = 1, 2 end)", false)]
    [InlineData("redis.register_function('f', function(keys, args) function keys.x() end end)", false)]
    [InlineData("redis.register_function('f', function(keys, args) local a = args a[1] = 1 end)", false)]
    [InlineData("redis.register_function('f', function(keys, args) return function() return args[1] end end)", false)]
    [InlineData("redis.register_function('f', function(keys, args) return (function(keys) return keys[1] end)({1}) end)", false)]
    [InlineData("redis.register_function('f', function(...) return ... end)", false)]
    [InlineData("redis.register_function('f', function(keys, ...) return ... end)", false)]
    [InlineData("redis.register_function('f', function(keys) return keys[1] end) redis.register_function('g', function(keys) return keys end)", false)]
    public void Functions_that_only_read_their_parameters_are_recognized_by_their_line(string library, bool expected)
    {
        ScriptTranslator.Translate("\n" + library, "user_function", returnsOne: true, out ArgumentUse use, out _);
        Assert.Equal(expected, use.FunctionOnlyReads(2));
        Assert.False(use.FunctionOnlyReads(1));
    }

    private static bool OnlyReads(string script)
    {
        ScriptTranslator.Translate(script, "user_script", returnsOne: true, out ArgumentUse use, out _);
        return use.OnlyReads;
    }
}
