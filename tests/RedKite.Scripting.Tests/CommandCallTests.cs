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
    public void Collections_amid_calls_do_no_harm()
    {
        using var bench = new ScriptBench();
        bench.Host.Reply = "*2\r\n$3\r\nabc\r\n*1\r\n:1\r\n";
        string reply = bench.Run("local n = 0 for i = 1, 20000 do local r = redis.call('x', 'a' .. i) n = n + #r[1] + r[2][1] end return n");
        Assert.Equal(string.Create(CultureInfo.InvariantCulture, $":{20000 * 4}\r\n"), reply);
    }
}
