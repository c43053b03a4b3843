using System.Text;
using RedKite.Server.Config;
using RedKite.Server.Execution.Eviction;
using RedKite.Server.Model;
using RedKite.Store.Keyspace;
using RedKite.TestSupport;

namespace RedKite.Server.Tests.Execution.Eviction;

/// <summary>The commands that are refused when memory exceeds maxmemory and no key may be evicted.</summary>
public sealed class OutOfMemoryTests : TranscriptTests
{
    private const string Error = "OOM command not allowed when used memory > 'maxmemory'.";

    private Thread? _settingThread;

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

    // The sweep holds it, say, or a slow command.
    [Fact]
    public void Locked_stripe_does_not_count_as_memory_that_is_being_freed()
    {
        Run("CONFIG SET maxmemory-policy volatile-lru").IsOk();
        Run("CONFIG SET maxmemory 1").IsOk();
        Keyspace keyspace = Server.Engine.Keyspace;
        int locked = Server.Engine.Memory.FreeingStripe;
        string key = Enumerable.Range(0, 1000).Select(i => $"k{i}").First(key => keyspace.StripeOf(keyspace.Hash(Encoding.ASCII.GetBytes(key))) != locked);
        keyspace.Stripes[locked].Enter();
        try
        {
            Run($"SET {key} v").IsError(Error);
        }
        finally
        {
            keyspace.Stripes[locked].Exit();
        }
    }

    // The removed set takes more than one slice to free, and the time is over after the first.
    [Fact]
    public void Writes_are_refused_while_memory_is_being_freed_if_nothing_may_be_evicted()
    {
        Server.Engine.Run.IsBackgroundPaused = true;
        Run("CONFIG SET maxmemory-eviction-tenacity 0").IsOk();
        for (int i = 0; i < 100; i++) Run("SADD s " + string.Join(' ', Enumerable.Range(i * 1000, 1000).Select(number => $"member:{number}"))).IsInteger(1000);
        Run("UNLINK s").IsInteger(1);
        Run("CONFIG SET maxmemory 1").IsOk();
        for (int i = 0; i < 10; i++) Run($"SET k{i} v").IsError(Error);
    }

    [Fact]
    public async Task Writes_behind_CONFIG_SET_in_a_pipeline_are_refused()
    {
        await using RedKiteServer server = await RedKiteServer.StartAsync(new RedKiteOptions { Port = 0 }, TestContext.Current.CancellationToken);
        using RespConnection client = RespConnection.Connect(server.Port);
        client.Send("*2\r\n$3\r\nGET\r\n$1\r\nk\r\n*4\r\n$6\r\nCONFIG\r\n$3\r\nSET\r\n$9\r\nmaxmemory\r\n$1\r\n1\r\n"
            + string.Concat(Enumerable.Repeat("*3\r\n$3\r\nSET\r\n$1\r\nk\r\n$1\r\nv\r\n", 5)));
        Assert.True(client.Read().IsNull);
        client.Read().IsOk();
        for (int i = 0; i < 5; i++) Assert.Equal(Error, client.Read().Text);
    }

    // The loop's timer applies the setting, too: what it read before CONFIG SET must not replace the new limit.
    [Fact]
    public void Limit_that_was_read_before_CONFIG_SET_does_not_replace_the_new_one()
    {
        Settings settings = Server.Engine.Settings;
        Server.Engine.Run.IsBackgroundPaused = true;
        var limit = new MemoryLimit(settings, Server.Engine.Keyspace);
        settings.MaxMemoryBytes = 1 << 30;
        bool isFirst = true;
        limit.Measured += () =>
        {
            if (!isFirst) return;
            isFirst = false;

            // CONFIG SET on another thread: it comes before or after the timer's Apply as a whole.
            settings.MaxMemoryBytes = 1;
            var setting = new Thread(() => limit.Apply(Server.Engine.Metrics, reports: false));
            setting.Start();
            _settingThread = setting;
            SpinWait.SpinUntil(() => (setting.ThreadState & ThreadState.WaitSleepJoin) != 0 || !setting.IsAlive);
        };
        limit.Apply(Server.Engine.Metrics, reports: false);
        _settingThread!.Join();
        Assert.True(Server.Engine.Keyspace.Budget.IsExceeded);
    }

    [Fact]
    public async Task Memory_of_closed_clients_is_free_at_once()
    {
        await using RedKiteServer server = await RedKiteServer.StartAsync(new RedKiteOptions { Port = 0 }, TestContext.Current.CancellationToken);
        using RespConnection writer = RespConnection.Connect(server.Port);
        using (RespConnection large = RespConnection.Connect(server.Port))
        {
            large.Send("*2\r\n$4\r\nECHO\r\n$30000000\r\n" + new string('x', 20_000_000));
            NetworkTests.WaitFor(() => server.Info("mem_clients_normal") > 20_000_000, "the request's buffer is counted");
            long used = server.Info("used_memory");
            server.Engine.Run.IsBackgroundPaused = true; // nothing is counted anew from now on
            writer.Run($"CONFIG SET maxmemory {used - 10_000_000}").IsOk();
            Assert.Equal(Error, writer.Run("SET k v").Text);
        }

        NetworkTests.WaitFor(() => server.Engine.Clients.Count == 1, "the client is closed");
        NetworkTests.WaitFor(() => server.Info("mem_clients_normal") < 20_000_000, "its buffers are released");
        writer.Run("SET k v").IsOk();
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
        await using RedKiteServer server = await RedKiteServer.StartAsync(new RedKiteOptions { Port = 0 }, TestContext.Current.CancellationToken); // whose clock advances: some commands block
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
