namespace RedKite.Scripting.Tests;

/// <summary>A script ends at its limits, and the interpreter runs the next one.</summary>
public class ScriptLimitTests
{
    [Theory]
    [InlineData("return string.rep('x', 1e10)", "resulting string too large")]
    [InlineData("local a = 'x' while true do a = a .. a end", "not enough memory")]
    [InlineData("local t = {} while true do t[#t+1] = string.rep('x', 1000) .. #t end", "not enough memory")]
    [InlineData("local function f() return 1 + f() end return f()", "stack overflow")]
    [InlineData("local s = string.rep('x', 1e6) local t = {} for i = 1, 1e6 do t[i] = s end return #table.concat(t)", "not enough memory")]
    [InlineData("local t = {} t.t = t return t", null)]
    [InlineData("error({})", "-ERR unknown error")]
    [InlineData("error({1, 2})", "-ERR unknown error")]
    [InlineData("error(function() end)", "-ERR unknown error")]
    [InlineData("local t = setmetatable({}, {__index = function(t, k) return t[k] end}) return t.x", "stack overflow")]
    [InlineData("return string.find(string.rep('a', 300000), string.rep('a?', 300000)..'b')", "pattern")]
    [InlineData("return (string.gsub('x', 'x', function() return string.rep('y', 1e9) end))", "not enough memory")]
    [InlineData("local s = '' for i = 1, 250 do s = s .. '(' end return loadstring('return ' .. s)", null)]
    [InlineData("return coroutine.wrap(function() return coroutine.wrap(function() error('deep') end)() end)()", "deep")]
    [InlineData("return xpcall(function() error('a') end, function(e) error('b') end)", null)]
    [InlineData("return pcall(string.rep, 'x', 1e10)", null)]
    [InlineData("return unpack({}, 1, 1e8)", "too many results to unpack")]
    [InlineData("local t = {} for i = 1, 2000 do t = {t} end return t", null)]
    public void Script_ends_and_the_next_one_runs(string script, string? error)
    {
        using var bench = new ScriptBench();
        string reply = bench.Run(script);
        if (error is not null) Assert.Contains(error, reply, StringComparison.Ordinal);
        Assert.Equal(":3\r\n", bench.Run("return 1 + 2"));
        Assert.True(bench.Lua.UsedBytes < 128 * 1024 * 1024);
    }

    [Theory]
    [InlineData("while true do end")]
    [InlineData("repeat until false")]
    [InlineData("for i = 1, 1e18 do end")]
    [InlineData("local function f() return f() end return f()")]
    [InlineData("while true do pcall(function() while true do end end) end")]
    [InlineData("while true do pcall(error) end")]
    [InlineData("local f f = function() pcall(f) end while true do f() end")]
    [InlineData("return coroutine.wrap(function() while true do end end)()")]
    [InlineData("while true do xpcall(function() while true do end end, function(e) return e end) end")]
    [InlineData("while true do redis.pcall('ping') end")]
    [InlineData("while true do pcall(redis.call, 'ping') end")]
    [InlineData("table.sort({3, 2, 1}, function(a, b) while true do end end)")]
    [InlineData("(string.gsub('x', 'x', function() while true do end end))", true)]
    [InlineData("setmetatable({}, {__index = function() while true do end end}).x()")]
    [InlineData("local __rk_f=false local __rk_t=type while true do end")]
    [InlineData("local ___rk_f,__rk_n,__rk_t=false,1e300,type while true do __rk_n=1e300 end")]
    [InlineData("while true do xpcall(function() while true do end end, function(e) while true do end end) end")]
    [InlineData("for i in pairs, {}, nil, setmetatable({}, {__close = function() while true do end end}) do while true do end end")]
    [InlineData("string.find(string.rep('a', 1e5), string.rep('a-', 30) .. 'b')")]
    [InlineData("string.match(string.rep('a', 1e5), '(.-)(.-)(.-)(.-)%1%2%3%4b')")]
    [InlineData("string.gsub(string.rep('a', 1e5), string.rep('a*', 30) .. 'b', '')")]
    [InlineData("for a in string.gmatch(string.rep('a', 1e5), string.rep('.-', 30) .. 'b') do end")]
    [InlineData("string.find(string.rep('a', 1e6), '[' .. string.rep('b', 1e6) .. ']')")]
    [InlineData("string.gsub(string.rep('a', 1e6), string.rep('a-', 20) .. 'b', type)")]
    [InlineData("local t = {} for i = 1, 300000 do t[i] = i % 7 end while true do table.sort(t, rawequal) end")]
    [InlineData("local t = {} for i = 1, 300000 do t[i] = i end while true do table.insert(t, 1, 1) table.remove(t, 1) end")]
    [InlineData("local s = string.rep('x', 5e7) local r = string.rep('x', 5e7) while true do local e = s == r end")]
    [InlineData("local e = {} for i = 1, 1e6 do e[i .. ''] = 1 end for k in pairs(e) do e[k] = nil end local t = {} for i = 1, 1e5 do t[i] = e end cjson.encode(t)")]
    [InlineData("local e = {} for i = 1, 1e6 do e[i .. ''] = 1 end for k in pairs(e) do e[k] = nil end local t = {} for i = 1, 1e5 do t[i] = e end cmsgpack.pack(t)")]
    [InlineData("load(function() return ' ' end)")]
    [InlineData("local t = {} for i = 1, 60 do t = {t, t} end return t")]
    [InlineData("coroutine.wrap(function() pcall(function() while true do end end) while true do end end)()")]
    public void Endless_script_is_ended_by_the_host(string script, bool isExpression = false)
    {
        using var bench = new ScriptBench();
        bench.Host.Ticks = () => "ERR Script killed";
        using var timer = new Timer(_ => bench.Lua.Interrupt(), null, 20, Timeout.Infinite);
        string reply = bench.Run(isExpression ? "return " + script : script);
        Assert.StartsWith("-ERR Script killed", reply, StringComparison.Ordinal);
        bench.Host.Ticks = () => null;
        Assert.Equal(":3\r\n", bench.Run("return 1 + 2"));
    }
}
