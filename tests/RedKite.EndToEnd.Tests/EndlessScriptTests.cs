using System.Text;
using RedKite.TestSupport;

namespace RedKite.EndToEnd.Tests;

/// <summary>A script that does not end by itself is ended by SCRIPT KILL, by the server's stop, or by the clock that it waits for.</summary>
public class EndlessScriptTests
{
    private const int ExitTimeoutMs = 30_000;

    /// <summary>Loops in Lua, in the libraries, in a coroutine, under a handler that swallows errors; the counter's name of an earlier build.</summary>
    public static TheoryData<string> Endless => new(
        "while true do end",
        "local __rk_n=1e300 while true do end",
        "repeat pcall(function() while true do end end) until false",
        "local f = coroutine and coroutine.wrap(function() while true do end end) if f then f() else while true do end end",
        "while true do string.gsub(string.rep('a', 100000), 'a*a*a*b', '') end",
        "local t = setmetatable({}, {__index = function(t, k) return t[k] end}) while true do pcall(function() return t.x end) end",
        "while true do table.sort({3, 2, 1}, function() return true end) end",
        "while true do redis.pcall('GET', 'k') end");

    [Theory]
    [InlineData("repeat pcall(function() while true do end end) until false")]
    [InlineData("while true do string.gsub(string.rep('a', 100000), 'a*a*a*b', '') end")]
    public void Sigterm_ends_the_server_and_its_script(string script)
    {
        using ServerProcess server = ServerProcess.Start(ServerProgram.UnderTest, "--busy-reply-threshold", "1");
        using RespConnection busy = server.Connect();
        using RespConnection other = server.Connect();
        busy.Send(Request("EVAL", script, "0"));
        Assert.True(SpinWait.SpinUntil(() => other.Run("PING").Text.StartsWith("BUSY", StringComparison.Ordinal), ExitTimeoutMs));
        server.Signal("TERM");
        Assert.Equal(0, server.WaitForExit(ExitTimeoutMs));
    }

    [Theory]
    [MemberData(nameof(Endless))]
    public void Script_kill_and_shutdown_are_obeyed(string script)
    {
        using ServerProcess server = ServerProcess.Start(ServerProgram.UnderTest, "--busy-reply-threshold", "1");
        using RespConnection busy = server.Connect();
        using RespConnection other = server.Connect();
        busy.Send(Request("EVAL", script, "0"));
        Assert.True(SpinWait.SpinUntil(() => other.Run("PING").Text.StartsWith("BUSY", StringComparison.Ordinal), ExitTimeoutMs));
        other.Run("SCRIPT KILL").IsOk();
        Assert.Contains("Script killed by user with SCRIPT KILL", busy.Read().Text, StringComparison.Ordinal);

        busy.Send(Request("EVAL", script, "0"));
        Assert.True(SpinWait.SpinUntil(() => other.Run("PING").Text.StartsWith("BUSY", StringComparison.Ordinal), ExitTimeoutMs));
        other.Send(Request("SHUTDOWN", "NOSAVE"));
        Assert.Equal(0, server.WaitForExit(ExitTimeoutMs));
    }

    [Fact]
    public void Time_moves_on_in_a_busy_script()
    {
        using ServerProcess server = ServerProcess.Start(ServerProgram.UnderTest, "--busy-reply-threshold", "1");
        using RespConnection connection = server.Connect();
        RespValue waited = connection.Run("EVAL \"local s = redis.call('TIME'); local n; repeat n = redis.call('TIME') until n[2] ~= s[2]; return n[1] + n[2] / 1e6 > s[1] + s[2] / 1e6\" 0");
        waited.IsInteger(1);
    }

    [Fact]
    public void Endless_library_is_refused()
    {
        using ServerProcess server = ServerProcess.Start(ServerProgram.UnderTest);
        using RespConnection connection = server.Connect();
        connection.Send(Request("FUNCTION", "LOAD", "#!lua name=endless\nwhile true do end"));
        connection.Read().IsError("ERR Error registering functions: ERR FUNCTION LOAD timeout");
        connection.Run("FUNCTION LIST").IsArray();
    }

    private static byte[] Request(params string[] command) => CommandLine.Encode([.. command.Select(Encoding.Latin1.GetBytes)]);
}
