using System.Globalization;

namespace RedKite.Scripting.Tests;

/// <summary>redis.call and redis.pcall: arguments and replies, in both protocols.</summary>
public class CommandCallTests
{
    [Theory]
    [InlineData("return redis.call('set', 'k', 3.0)", "set k 3")]
    [InlineData("return redis.call('set', 'k', 10/4)", "set k 2.5")]
    [InlineData("return redis.call('set', 'k', 1e20)", "set k 1e+20")]
    [InlineData("return redis.call('set', 'k', 0.1)", "set k 0.1")]
    [InlineData("return redis.call('set', KEYS[1], ARGV[1])", "set key argument")]
    [InlineData("local call = redis.call return call('ping')", "ping")]
    public void Arguments_are_strings_and_numbers(string script, string call)
    {
        using var bench = new ScriptBench();
        Assert.Equal("+OK\r\n", bench.Run(script, ["key"], ["argument"]));
        Assert.Equal([call], bench.Host.Calls);
    }

    // Direct calls of redis.call are translated: what calls something else by this name, or calls it otherwise, must not be.
    [Theory]
    [InlineData("redis.call('a') redis.call('b', redis.call('c'), 'd') return 1", "a|c|b 2 d", ":1\r\n")]
    [InlineData("return redis.call('a') .. redis.call('b')", "a|b", "$2\r\n22\r\n")]
    [InlineData("local t = {redis.call('a'), n = redis.call('b')} return t[1] + t.n", "a|b", ":4\r\n")]
    [InlineData("return redis.call('a', -redis.call('b') * redis.call('c') % 3)", "b|c|a 2", ":2\r\n")]
    [InlineData("redis.call 'a' redis.call('b') ; (redis).call('c') redis['call']('d') return 1", "a|b|c|d", ":1\r\n")]
    [InlineData("redis.\ncall('a') redis\n.call('b') return redis.call(\n'c')", "a|b|c", ":2\r\n")]
    [InlineData("local redis = {call = function(a) return a end} return redis.call('a')", "", "$1\r\na\r\n")]
    [InlineData("local f = function(redis) redis.call('a') return redis.call('b') end return f({call = function(a) return a end})", "", "$1\r\nb\r\n")]
    [InlineData("local t = {redis = {call = function() return 7 end}} t.redis.call('a') return t.redis.call('b')", "", ":7\r\n")]
    [InlineData("return select('#', redis.call('a'))", "a", ":1\r\n")]
    [InlineData("return loadstring(\"return redis.call('a')\")()", "a", ":2\r\n")]
    [InlineData("local r, t = 1 for i = 1, redis.call('a') do redis.call('b', i) end return 1", "a|b 1|b 2", ":1\r\n")]
    public void Direct_calls_behave_like_other_calls(string script, string calls, string reply)
    {
        using var bench = new ScriptBench();
        bench.Host.Reply = ":2\r\n";
        Assert.Equal(reply, bench.Run(script));
        Assert.Equal(calls, string.Join('|', bench.Host.Calls));
    }

    [Theory]
    [InlineData("redis.call('x')")]
    [InlineData("return redis.call('x')")]
    [InlineData("local v = redis.call('x')")]
    public void Errors_of_direct_calls_are_caught_like_others(string call)
    {
        using var bench = new ScriptBench();
        bench.Host.Reply = "-WRONGTYPE no\r\n";
        Assert.Contains("WRONGTYPE no", bench.Run($"local ok, e = pcall(function() {call} end) if ok then return 1 end return {{type(e), e}}"), StringComparison.Ordinal);
        Assert.Equal("-WRONGTYPE no script: ", bench.Run($"\n{call}")[..22]);
        Assert.EndsWith(", on @user_script:2.\r\n", bench.Run($"\n{call}"), StringComparison.Ordinal);
    }

    [Theory]
    [InlineData(":5\r\n", "return redis.call('x') + 1", ":6\r\n")]
    [InlineData("$-1\r\n", "return redis.call('x') == false", ":1\r\n")]
    [InlineData("*-1\r\n", "return redis.call('x') == false", ":1\r\n")]
    [InlineData("+OK\r\n", "return redis.call('x').ok", "$2\r\nOK\r\n")]
    [InlineData("*3\r\n:1\r\n$1\r\na\r\n$-1\r\n", "return redis.call('x')", "*3\r\n:1\r\n$1\r\na\r\n$-1\r\n")]
    [InlineData("-WRONGTYPE no\r\n", "return redis.pcall('x').err", "$12\r\nWRONGTYPE no\r\n")]
    [InlineData("_\r\n", "return redis.call('x') == nil", ":1\r\n")]
    [InlineData("#t\r\n", "return redis.call('x')", ":1\r\n")]
    [InlineData(",1.5\r\n", "return redis.call('x').double * 2", ":3\r\n")]
    [InlineData("%1\r\n+a\r\n:1\r\n", "local m = redis.call('x').map for k, v in pairs(m) do return k.ok .. v end", "$2\r\na1\r\n")]
    [InlineData("~1\r\n$1\r\na\r\n", "return redis.call('x').set.a", ":1\r\n")]
    [InlineData("(123\r\n", "return redis.call('x').big_number", "$3\r\n123\r\n")]
    [InlineData("=5\r\ntxt:a\r\n", "local v = redis.call('x').verbatim_string return v.format .. v.string", "$4\r\ntxta\r\n")]
    public void Replies_become_values(string commandReply, string script, string reply)
    {
        using var bench = new ScriptBench();
        bench.Host.Reply = commandReply;
        Assert.Equal(reply, bench.Run(script));
    }

    [Theory]
    [InlineData("return {double=1.5}", ",1.5\r\n")]
    [InlineData("return {map={a=1}}", "%1\r\n$1\r\na\r\n:1\r\n")]
    [InlineData("return {set={a=true}}", "~1\r\n$1\r\na\r\n")]
    [InlineData("return true", ":1\r\n")]
    [InlineData("redis.setresp(3) return true", "#t\r\n")]
    [InlineData("return nil", "_\r\n")]
    [InlineData("return {big_number='12\\r3'}", "(12 3\r\n")]
    [InlineData("return {verbatim_string={string='a',format='mkd'}}", "=5\r\nmkd:a\r\n")]
    public void Values_become_replies_of_resp3(string script, string reply)
    {
        using var bench = new ScriptBench();
        Assert.Equal(reply, bench.Run(script, resp3: true));
    }

    [Fact]
    public void Error_of_a_command_ends_the_script_with_its_line()
    {
        using var bench = new ScriptBench();
        bench.Host.Reply = "-WRONGTYPE no\r\n";
        string reply = bench.Run("local a = 1\n\nreturn redis.call('x')");
        Assert.StartsWith("-WRONGTYPE no script: ", reply, StringComparison.Ordinal);
        Assert.EndsWith(", on @user_script:3.\r\n", reply, StringComparison.Ordinal);
    }

    [Fact]
    public void Collections_during_calls_do_no_harm()
    {
        using var bench = new ScriptBench();
        bench.Host.Reply = "*2\r\n$3\r\nabc\r\n*1\r\n:1\r\n";
        string reply = bench.Run("local n = 0 for i = 1, 20000 do local r = redis.call('x', 'a' .. i) n = n + #r[1] + r[2][1] end return n");
        Assert.Equal(string.Create(CultureInfo.InvariantCulture, $":{20000 * 4}\r\n"), reply);
    }
}
