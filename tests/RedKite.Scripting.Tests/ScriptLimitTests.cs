namespace RedKite.Scripting.Tests;

/// <summary>A script ends at its limits, and the interpreter runs the next one.</summary>
public class ScriptLimitTests
{
    [Theory]
    [InlineData("return string.rep('x', 1e10)", "resulting string too large")]
    [InlineData("return #string.rep('', 2^53)", ":0")] // without an end
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

    // The replies are those of Redis 8.0.2.
    [Theory]
    [InlineData("local t = {} t[1] = t cjson.encode_max_depth(2147483647) return cjson.encode(t)", "Cannot serialise, excessive nesting (7998)")]
    [InlineData("cjson.decode_max_depth(2147483647) return cjson.decode(string.rep('[', 80000))", "Found too many nested data structures (7999) at character 7999")]
    [InlineData("cjson.decode_max_depth(2147483647) cjson.encode_max_depth(2147483647) local s = string.rep('[', 7000) return #cjson.encode(cjson.decode(s .. string.rep(']', 7000)))", ":14000")]
    [InlineData("return cmsgpack.unpack(string.rep('\\145', 80000))", "-ERR")]
    [InlineData("local t = {} t[1] = t return #cmsgpack.pack(t)", ":17")]
    [InlineData("return table.insert(setmetatable({}, {__len = function() return 2^53 end}), 1, 1)", "$-1")]
    [InlineData("local t = setmetatable({1, 2}, {__len = function() return 5 end, __newindex = function() error('x') end}) table.insert(t, 7) return rawget(t, 3)", ":7")]
    [InlineData("local t = setmetatable({5, 3, 4}, {__len = function() return 50 end}) table.sort(t) return t", "*3\r\n:3\r\n:4\r\n:5")]
    [InlineData("return table.sort({3, 2, 1, 5, 4, 6, 7, 8, 1, 2}, function(a, b) return true end)", "invalid order function for sorting")]
    [InlineData("table.insert(redis, 1)", "Attempt to modify a readonly table")]
    [InlineData("return table.remove(redis)", "$-1")]
    public void Libraries_are_bounded_as_in_Redis(string script, string expected)
    {
        using var bench = new ScriptBench();
        Assert.Contains(expected, bench.Run(script), StringComparison.Ordinal);
    }

    // Tables with weak keys took the square of their entries in one piece, if each value is the next key: their entries are strong. Where the mode is added later, too.
    [Theory]
    [InlineData("local t = setmetatable({}, {__mode = 'k'})")]
    [InlineData("local t = setmetatable({}, {__mode = 'v'})")]
    [InlineData("local m = {} local t = setmetatable({}, m) m.__mode = 'kv'")]
    public void Weak_tables_keep_their_entries(string table)
    {
        using var bench = new ScriptBench();
        Assert.Equal(":1\r\n", bench.Run(table + " t[{}] = {} collectgarbage() return next(t) and 1 or 0"));
    }

    // Lengths that multiply: the search of a text is in pieces.
    [Fact]
    public void Search_of_a_text_asks_whether_the_script_may_go_on()
    {
        using var bench = new ScriptBench();
        string half = string.Concat(Enumerable.Repeat("ab", 25_000));
        string text = string.Concat(Enumerable.Repeat("ab", 100_000)) + half + "c" + half;
        int ticks = 0;
        bench.Host.Ticks = () =>
        {
            ticks++;
            bench.Lua.Interrupt();
            return null;
        };
        bench.Lua.Interrupt();
        Assert.Equal(":200001\r\n", bench.Run("return (string.find(ARGV[1], ARGV[2], 1, true))", arguments: [text, half + "c" + half]));
        Assert.InRange(ticks, 1000, 5000);
        Assert.Equal(":200001\r\n", bench.Run("return (string.find(ARGV[1], ARGV[2], 100000))", arguments: [text, half + "c" + half]));
        Assert.Equal("$-1\r\n", bench.Run("return (string.find(ARGV[1], ARGV[2], 200002, true))", arguments: [text, half + "c" + half]));
        Assert.Equal(":300002\r\n", bench.Run("return (string.find(ARGV[1], '', -0 - 0 + 300002, true))", arguments: [text]));
    }

    [Fact]
    public void Long_chains_of_operators_compile_to_flat_text()
    {
        using var bench = new ScriptBench();
        Assert.Equal(":0\r\n", bench.Run("local x = 1 return 1" + string.Concat(Enumerable.Repeat("%x", 80_000))));
        Assert.Equal(":-300\r\n", bench.Run("return 1" + string.Concat(Enumerable.Repeat("*2", 10)) + string.Concat(Enumerable.Repeat("%1", 300)) + string.Concat(Enumerable.Repeat("-1", 300))));
        Assert.Equal(":100001\r\n", bench.Run("local x = 1 return x" + string.Concat(Enumerable.Repeat("+x", 100_000))));
        Assert.Contains("chunk has too many syntax levels", bench.Run("local x = 'a' return x" + string.Concat(Enumerable.Repeat("..x", 210))), StringComparison.Ordinal);
        Assert.Contains("main function has more than 200 local variables", bench.Run("local " + string.Join(',', Enumerable.Repeat("a", 201))), StringComparison.Ordinal);
        Assert.Equal(":1\r\n", bench.Run("local x = 7 return (9" + string.Concat(Enumerable.Repeat("%10", 40)) + "-8)%x"));
    }

    // Text beyond the limit is not built. The memory of managed code counts, too.
    [Theory]
    [InlineData("return #cmsgpack.unpack(ARGV[1])", "not enough memory")]
    [InlineData("return #cjson.decode('[' .. string.rep('[],', 3e6) .. '1]')", "not enough memory")]
    [InlineData("local s = string.rep('x', 5e6) return #redis.pcall('echo', s, s, s, s).err", ":5")]
    [InlineData("local s = string.rep('x', 5e6) return redis.pcall('echo', s, s, s, s)", "The command's arguments are too large for a script")]
    public void Managed_memory_counts_as_the_scripts(string script, string expected)
    {
        using var bench = new ScriptBench();
        bench.Lua.BytesMax = 16 * 1024 * 1024;
        string packed = "\xdd\x00\x20\x00\x00" + string.Concat(Enumerable.Repeat("\x90", 0x200000));
        Assert.Contains(expected, bench.Run(script, arguments: [packed]), StringComparison.Ordinal);
        Assert.True(bench.Lua.UsedBytes < 32 * 1024 * 1024);
    }

    [Fact]
    public void Reply_that_does_not_fit_into_the_scripts_memory_is_an_error()
    {
        using var bench = new ScriptBench();
        bench.Lua.BytesMax = 16 * 1024 * 1024;
        bench.Host.Reply = "$12000000\r\n" + new string('x', 12_000_000) + "\r\n";
        Assert.Equal("-ERR The command's reply is too large for a script\r\n", bench.Run("return redis.pcall('get', 'x')"));
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
    [InlineData("local s = string.rep('x', 1e7) local t = {} for i = 1, 1e5 do t[i] = s end table.sort(t)")] // within one native call
    [InlineData("load(function() return ' ' end)")]
    [InlineData("local t = setmetatable({}, {__mode = 'k'}) while true do t[{}] = {} collectgarbage() end")]
    [InlineData("local m = {} local t = setmetatable({}, m) m.__mode = 'kv' while true do t[{}] = {} end")]
    [InlineData("while true do local s = string.rep('ab', 1e6) .. string.rep('', 1e15) end")]
    [InlineData("while true do string.find(string.rep('ab', 1e5), string.rep('ab', 1e4) .. 'c' .. string.rep('ab', 1e4), 1, true) end")]
    [InlineData("string.gsub('a', 'b*', string.rep('%1', 3e7))", true)]
    [InlineData("string.gsub(string.rep('a', 1e6), '', string.rep('%0', 1e6))", true)]
    [InlineData("while true do string.format('%99.99f%s%q', 1e300, string.rep('x', 1e5), string.rep('\0', 1e5)) end")]
    [InlineData("string.format(string.rep('%%', 1e7))")]
    [InlineData("string.format('%q', string.rep('x', 1e8))")]
    [InlineData("tonumber(string.rep('z', 1e8), 36)")]
    [InlineData("while true do tonumber(string.rep('1', 1e6)) tonumber(string.rep('x', 1e6)) end")]
    [InlineData("struct.pack(string.rep('x', 5e7))")]
    [InlineData("struct.size(string.rep('!8i8c9', 1e7))")]
    [InlineData("while true do struct.unpack(string.rep('b', 7000), string.rep('x', 7000)) end")]
    [InlineData("cjson.decode('[' .. string.rep('1,', 2e7) .. '1]')")]
    [InlineData("while true do cjson.encode(cjson.decode(string.rep('[', 900) .. string.rep(']', 900))) end")]
    [InlineData("local t = {} for i = 1, 15 do t = {t, t, t, t} end return #cmsgpack.pack(t)")]
    [InlineData("while true do cmsgpack.unpack('\\221\\0\\15\\255\\255' .. string.rep('\\0', 2e6)) end")]
    [InlineData("local t = {} for i = 1, 1e5 do t[i] = 'x' end while true do table.concat(t, ',') end")]
    [InlineData("while true do unpack({}, 1, 7000) end")]
    [InlineData("while true do loadstring('return ' .. string.rep('(', 1e7)) end")]
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
