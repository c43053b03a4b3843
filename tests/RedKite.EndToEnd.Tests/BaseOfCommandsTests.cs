using System.Text.RegularExpressions;
using RedKite.TestSupport;

namespace RedKite.EndToEnd.Tests;

/// <summary>The base of an append-only file without a preamble has the commands that Redis writes.</summary>
public sealed class BaseOfCommandsTests
{
    // Tables' orders differ, so what has no order of its own has one element.
    private static readonly string[] Requests =
    [
        "SET s value", "SET n 12 PXAT 4000000000000", "PFADD hll a", "RPUSH l a b 3", "SADD st x", "SADD si 1 2 3", "ZADD z 1.5 a inf b 1e300 c", "HSET h f v", "HSET hx f v", "HPEXPIREAT hx 4000000000000 FIELDS 1 f",
        "XADD x 1-1 a b", "XADD x 2-1 a b c d", "XADD x 3-1 a b", "XDEL x 3-1", "XGROUP CREATE x g 0", "XREADGROUP GROUP g c1 STREAMS x >", "XGROUP CREATECONSUMER x g c2",
        "XADD xe 1-1 a b", "XDEL xe 1-1", "SELECT 3", "SET k3 v",
    ];

    [Fact]
    public void Commands_are_those_that_Redis_writes()
    {
        if (OracleProgram.Redis8 is null) Assert.Skip(OracleProgram.Redis8Missing);
        Assert.Equal(CommandsOf("redis 8"), CommandsOf("redkite"));
    }

    private static string CommandsOf(string server)
    {
        using var folder = new TemporaryFolder();
        using ServerProcess process = Transfers.Start(server, "--dir", folder.Path, "--appendonly", "yes", "--aof-use-rdb-preamble", "no");
        using RespConnection client = Transfers.ConnectWhenLoaded(process);
        foreach (string request in Requests) Assert.False(client.Run(request).IsError, request);
        Assert.False(client.Run("FUNCTION LOAD \"#!lua name=lib\\nredis.register_function('f', function() return 1 end)\"").IsError);
        client.Run("BGREWRITEAOF");
        string path = Path.Combine(folder.File("appendonlydir"), "appendonly.aof.2.base.aof");
        Assert.True(SpinWait.SpinUntil(() => File.Exists(path) && client.Run("INFO persistence").Text.Contains("aof_rewrite_in_progress:0", StringComparison.Ordinal), 60_000), "timed out waiting for the rewrite");
        string[] commands = File.ReadAllText(path).Split("\r\n*");
        string databases = string.Join(' ', commands.Where(command => command.Contains("SELECT", StringComparison.Ordinal)));
        return databases + "\n" + Regex.Replace(string.Join('\n', commands.Select(command => command.TrimStart('*').TrimEnd()).Order(StringComparer.Ordinal)), "(?<=TIME\r\n\\$13\r\n)[0-9]+", "-");
    }
}
