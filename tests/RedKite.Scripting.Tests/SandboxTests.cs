namespace RedKite.Scripting.Tests;

/// <summary>Ways out of the sandbox that Redis or Lua have had, each closed: the reply, and that the next script sees nothing of it.</summary>
public class SandboxTests
{
    [Theory]
    [InlineData("return type(io)", "nonexistent global variable 'io'")]
    [InlineData("return os.execute('true')", "attempt to call field 'execute' (a nil value)")]
    [InlineData("return os.getenv('HOME')", "attempt to call field 'getenv' (a nil value)")]
    [InlineData("return package.loadlib('x', 'y')", "nonexistent global variable 'package'")]
    [InlineData("return debug.getregistry()", "nonexistent global variable 'debug'")]
    [InlineData("return require('os')", "nonexistent global variable 'require'")]
    [InlineData("return dofile('/etc/passwd')", "nonexistent global variable 'dofile'")]
    [InlineData("return loadfile('/etc/passwd')", "nonexistent global variable 'loadfile'")]
    [InlineData("return newproxy(true)", "nonexistent global variable 'newproxy'")]
    [InlineData("return setfenv(1, {})", "nonexistent global variable 'setfenv'")]
    [InlineData("return rawlen({})", "nonexistent global variable 'rawlen'")]
    [InlineData("return utf8.char(65)", "nonexistent global variable 'utf8'")]
    [InlineData("return string.pack('i', 1)", "attempt to call field 'pack' (a nil value)")]
    [InlineData("return table.move({}, 1, 1, 1)", "attempt to call field 'move' (a nil value)")]
    [InlineData("return coroutine.close(coroutine.create(function() end))", "attempt to call field 'close' (a nil value)")]
    [InlineData("_ENV.x = 1", "nonexistent global variable '__ENV'")]
    [InlineData("redis.call = 1", "Attempt to modify a readonly table")]
    [InlineData("cjson.encode = 1", "Attempt to modify a readonly table")]
    [InlineData("rawset(redis, 'call', 1)", "Attempt to modify a readonly table")]
    [InlineData("rawset(_G, 'x', 1)", "Attempt to modify a readonly table")]
    [InlineData("setmetatable(_G, nil)", "Attempt to modify a readonly table")]
    [InlineData("setmetatable(redis, {})", "Attempt to modify a readonly table")]
    [InlineData("setmetatable(string, {})", "Attempt to modify a readonly table")]
    [InlineData("getmetatable('').__index = {}", "Attempt to modify a readonly table")]
    [InlineData("getmetatable('').__index.upper = 1", "Attempt to modify a readonly table")]
    [InlineData("rawset(getmetatable(''), '__index', 1)", "Attempt to modify a readonly table")]
    [InlineData("getmetatable(_G).__index = nil", "Attempt to modify a readonly table")]
    [InlineData("getmetatable(_G).__newindex = nil", "Attempt to modify a readonly table")]
    [InlineData("table.insert(_G, 1)", "Attempt to modify a readonly table")]
    [InlineData("table.insert(redis, 'x')", "Attempt to modify a readonly table")]
    [InlineData("x = 1", "Attempt to modify a readonly table")]
    [InlineData("function redis.call() end", "Attempt to modify a readonly table")]
    [InlineData("function f() end", "Attempt to modify a readonly table")]
    [InlineData("return loadstring('\\27Lua')()", "attempt to call a nil value")]
    [InlineData("return string.dump(function() end)", "unable to dump given function")]
    [InlineData("return ('x').y.z", "attempt to index field 'y' (a nil value)")]
    public void Escape_is_refused(string script, string error)
    {
        using var bench = new ScriptBench();
        Assert.Contains(error, bench.Run(script), StringComparison.Ordinal);
        Assert.Equal("*4\r\n$5\r\ntable\r\n$8\r\nfunction\r\n$1\r\nA\r\n$2\r\n[]\r\n", bench.Run("return {type(_G), type(redis.call), ('a'):upper(), '[]'}"));
    }

    [Fact]
    public void Finalizers_of_tables_do_not_run()
    {
        using var bench = new ScriptBench();
        Assert.Equal(":0\r\n", bench.Run("local n = 0 for i = 1, 1000 do setmetatable({}, {__gc = function() n = n + 1 end}) end collectgarbage() return n"));
    }

    [Fact]
    public void Changed_KEYS_and_ARGV_are_invisible_to_other_scripts()
    {
        using var bench = new ScriptBench();
        bench.Run("KEYS[1] = 'x' ARGV[1] = 'y'");
        Assert.Equal("*0\r\n", bench.Run("return {KEYS[1], ARGV[1]}"));
    }

    [Fact]
    public void Names_of_the_translation_cannot_be_misused()
    {
        using var bench = new ScriptBench();
        Assert.Contains("Attempt to modify a readonly table", bench.Run("__rk_n = 100000000 return 1"), StringComparison.Ordinal);
        Assert.Equal(":3\r\n", bench.Run("local __rk_f, ___rk_f, r__k, _t__n = 1, 2, 4, 8 return __rk_f + ___rk_f"));
        Assert.Equal("$2\r\nab\r\n", bench.Run("return 'a' .. 'b'"));
    }
}
