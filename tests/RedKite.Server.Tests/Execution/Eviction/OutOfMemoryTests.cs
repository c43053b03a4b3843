using RedKite.Server.Model;

namespace RedKite.Server.Tests.Execution.Eviction;

/// <summary>The commands that are refused when memory exceeds maxmemory and no key may be evicted.</summary>
public sealed class OutOfMemoryTests : TranscriptTests
{
    private const string Error = "OOM command not allowed when used memory > 'maxmemory'.";

    // They end the server or the oracle's connection, change what its replies mean, or are about another server.
    private static readonly HashSet<string> NotCompared =
    [
        "shutdown", "monitor", "sync", "psync", "replconf", "failover", "replicaof", "slaveof", "quit", "reset", "multi", "exec", "discard", "subscribe", "psubscribe",
        "ssubscribe", "unsubscribe", "punsubscribe", "sunsubscribe", "client|reply", "client|kill", "client|pause", "debug", "wait", "waitaof", "package",
    ];

    [Fact]
    public void Writes_are_refused_and_reads_and_removals_are_not()
    {
        Run("SET k v").IsOk();
        Run("CONFIG SET maxmemory 1").IsOk();
        Run("SET k w").IsError(Error);
        Run("APPEND k w").IsError(Error);
        Run("GET k").IsText("v");
        Run("SINTERSTORE d k").IsError(Error);
        Run("EXPIRE k 100").IsInteger(1);
        Run("DEL k").IsInteger(1);
        Run("SET k v").IsError(Error);
        Assert.Contains("errorstat_OOM:count=4", Run("INFO errorstats").Text, StringComparison.Ordinal);
        Assert.Contains("cmdstat_set:calls=1,usec=", Run("INFO commandstats").Text, StringComparison.Ordinal);
        Assert.Contains(",rejected_calls=2,failed_calls=0", Run("INFO commandstats").Text!.Split("\r\n").Single(line => line.StartsWith("cmdstat_set:", StringComparison.Ordinal)), StringComparison.Ordinal);
        Run("CONFIG SET maxmemory 0").IsOk();
        Run("SET k v").IsOk();
    }

    [Fact]
    public void Syntax_precedes_WRONGTYPE()
    {
        Run("CONFIG SET maxmemory 1").IsOk();
        Run("SET k").IsError("ERR wrong number of arguments for 'set' command");
        Run("NOSUCH k").IsError("ERR unknown command 'NOSUCH', with args beginning with: 'k' ");
        Run("SET k v NOSUCH").IsError(Error);
        Run("OBJECT NOSUCH").IsError("ERR unknown subcommand 'NOSUCH'. Try OBJECT HELP.");
    }

    [Fact]
    public void Writes_are_accepted_again_when_memory_becomes_free()
    {
        var value = new string('v', 1000);
        for (int i = 0; i < 2000; i++) Run($"SET k{i} {value}").IsOk();
        Server.LimitMemory(500_000);
        int written = 0;
        while (!Run($"SET more{written} {value}").IsError) written++;
        Assert.InRange(written, 300, 600); // used_memory is exact, the check is off by up to a step for each stripe
        for (int i = 0; i < 1000; i++) Run($"DEL k{i}").IsInteger(1);
        Run("SET again v").IsOk();
    }

    [Fact]
    public void Large_value_that_is_being_freed_counts_as_free()
    {
        for (int i = 0; i < 200; i++) Run("SADD s " + string.Join(' ', Enumerable.Range(i * 1000, 1000).Select(number => $"member:{number}"))).IsInteger(1000);
        Server.LimitMemory(-1_000_000);
        Run("SET k v").IsError(Error);
        Run("UNLINK s").IsInteger(1);
        Run("SET k v").IsOk();
    }

    [Fact]
    public void Time_over_the_limit_is_counted()
    {
        Assert.Equal((0, 0), (Server.Info("total_eviction_exceeded_time"), Server.Info("current_eviction_exceeded_time")));
        Run("CONFIG SET maxmemory 1").IsOk();
        Run("SET k v").IsError(Error);
        Thread.Sleep(20);
        Assert.InRange(Server.Info("current_eviction_exceeded_time"), 20, 60_000);
        Run("CONFIG SET maxmemory 0").IsOk();
        Assert.Equal(0, Server.Info("current_eviction_exceeded_time"));
        Assert.InRange(Server.Info("total_eviction_exceeded_time"), 20, 60_000);
        Run("CONFIG RESETSTAT").IsOk();
        Assert.Equal(0, Server.Info("total_eviction_exceeded_time"));
    }

    [Fact]
    public async Task Same_commands_are_refused_as_in_Redis()
    {
        using var oracle = new Oracle();
        await using RedKiteServer server = await RedKiteServer.StartAsync(new RedKiteOptions { Port = 0 }); // whose clock advances: some commands block
        Assert.Equal("OK", oracle.Run("CONFIG", "SET", "maxmemory", "1"));
        server.Set("maxmemory", "1");
        List<string> different = [];
        int refused = 0;
        foreach (Command command in server.Engine.Commands.All)
        {
            if (NotCompared.Contains(command.FullName) || NotCompared.Contains((command.Parent ?? command).Name) || command.Subcommands.Length > 0) continue;
            List<string> words = [.. command.FullName.Split('|')];
            while (words.Count < Math.Abs(command.Arity)) words.Add("0.01");
            object? expected = oracle.Run([.. words]);
            if (expected is string error && error.StartsWith("-ERR unknown", StringComparison.Ordinal)) continue; // RedKite's own
            RedKiteReply actual = server.Execute([.. words]);
            bool isRefused = expected is "-" + Error;
            if (isRefused) refused++;
            if (isRefused != (actual.IsError && actual.Text == Error)) different.Add($"{string.Join(' ', words)}: {expected} {actual.Text}");
        }

        Assert.Empty(different);
        Assert.InRange(refused, 50, 200);
    }
}
