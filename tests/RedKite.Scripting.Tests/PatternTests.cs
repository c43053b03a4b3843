namespace RedKite.Scripting.Tests;

/// <summary>Patterns as in Lua 5.1. The replies are those of Redis 8.0.2.</summary>
public class PatternTests
{
    [Theory]
    [InlineData("string.find('hello world', 'o w')", ":5\r\n")]
    [InlineData("{string.find('hello', '(l)(l)')}", "*4\r\n:3\r\n:4\r\n$1\r\nl\r\n$1\r\nl\r\n")]
    [InlineData("{string.find('a.b', '.', 2, true)}", "*2\r\n:2\r\n:2\r\n")]
    [InlineData("{string.find('abc', '')}", "*2\r\n:1\r\n:0\r\n")]
    [InlineData("{string.find('abc', '', 10)}", "*2\r\n:4\r\n:3\r\n")]
    [InlineData("{string.find('abc', 'b', -2)}", "*2\r\n:2\r\n:2\r\n")]
    [InlineData("{string.match('key = value', '^(%w+)%s*=%s*(%w+)$')}", "*2\r\n$3\r\nkey\r\n$5\r\nvalue\r\n")]
    [InlineData("{string.match('hello', '()ll()')}", "*2\r\n:3\r\n:5\r\n")]
    [InlineData("string.match('THE (quick) fox', '%((%a+)%)')", "$5\r\nquick\r\n")]
    [InlineData("string.match('x(a(b)c)y', '%b()')", "$7\r\n(a(b)c)\r\n")]
    [InlineData("{string.gsub('hello world', 'o', '0', 1)}", "*2\r\n$11\r\nhell0 world\r\n:1\r\n")]
    [InlineData("{string.gsub('abc', '%w', '%0%0')}", "*2\r\n$6\r\naabbcc\r\n:3\r\n")]
    [InlineData("{string.gsub('abc', '', '-')}", "*2\r\n$7\r\n-a-b-c-\r\n:4\r\n")]
    [InlineData("{string.gsub('abc', 'b*', '-')}", "*2\r\n$6\r\n-a--c-\r\n:4\r\n")]
    [InlineData("{string.gsub('abc', '(b)', {b = 'X'})}", "*2\r\n$3\r\naXc\r\n:1\r\n")]
    [InlineData("{string.gsub('hello', 'l', function(c) if c == 'l' then return 'L' end end)}", "*2\r\n$5\r\nheLLo\r\n:2\r\n")]
    [InlineData("{string.gsub('abc', '^a', function() return 'x' end)}", "*2\r\n$3\r\nxbc\r\n:1\r\n")]
    [InlineData("{string.gsub('THE (quick) fox', '%f[%a]%a+', 'X')}", "*2\r\n$7\r\nX (X) X\r\n:3\r\n")]
    [InlineData("string.match('xg', '%g')", "$1\r\ng\r\n")]
    [InlineData("string.match('aa bb', '(%a)%1', 2)", "$1\r\nb\r\n")]
    [InlineData("string.match('a-b]c', '[]-]')", "$1\r\n-\r\n")]
    [InlineData("string.match('a\\0b', '%z')", "$1\r\n\0\r\n")]
    public void Reply_is_that_of_Lua_5_1(string expression, string expected)
    {
        using var bench = new ScriptBench();
        Assert.Equal(expected, bench.Run("return " + expression));
    }

    [Theory]
    [InlineData("string.find('a', '[a')", "malformed pattern (missing ']')")]
    [InlineData("string.find('a', 'a%')", "malformed pattern (ends with '%')")]
    [InlineData("string.find('a', '(a')", "unfinished capture")]
    [InlineData("string.find('a', '%a)')", "invalid pattern capture")]
    [InlineData("string.find('a', '%1')", "invalid capture index")]
    [InlineData("string.gsub('a', 'a', '%2')", "invalid capture index")]
    [InlineData("string.find('a', '%f')", "missing '[' after '%f' in pattern")]
    [InlineData("string.find('a', '%ba')", "unbalanced pattern")]
    [InlineData("string.gsub('a', 'a', function() return {} end)", "invalid replacement value (a table)")]
    [InlineData("string.gsub('a', 'a', true)", "bad argument #3 to 'gsub' (string/function/table expected)")]
    [InlineData("string.gmatch({}, 'a')", "bad argument #1 to 'gmatch' (string expected, got table)")]
    [InlineData("string.find()", "bad argument #1 to 'find' (string expected, got no value)")]
    public void Error_is_that_of_Lua_5_1(string expression, string error)
    {
        using var bench = new ScriptBench();
        Assert.Contains("user_script:1: " + error, bench.Run("return " + expression), StringComparison.Ordinal);
    }

    [Fact]
    public void Iteration_ends_behind_the_last_match()
    {
        using var bench = new ScriptBench();
        Assert.Equal("$7\r\na,,,b,,\r\n", bench.Run("local r = '' for w in string.gmatch('a  b', '%a*') do r = r .. w .. ',' end return r"));
    }
}
