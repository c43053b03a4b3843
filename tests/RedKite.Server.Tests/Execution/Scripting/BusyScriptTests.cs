using RedKite.Server.Durability;
using RedKite.Server.Model;
using RedKite.Server.Tests.Durability;
using RedKite.Store.Keyspace;
using RedKite.TestSupport;

namespace RedKite.Server.Tests.Execution.Scripting;

/// <summary>
/// A command that came before the script was busy, and waits for one of its stripes, gives way when the script is: its loop serves SCRIPT KILL.
/// </summary>
public sealed class BusyScriptTests
{
    private const string BusyReply = "BUSY Redis is busy running a script. You can only call SCRIPT KILL or SHUTDOWN NOSAVE.";

    [Theory]
    [InlineData("GET k")]
    [InlineData("MGET k l")]
    [InlineData("SCAN 0")]
    [InlineData("RANDOMKEY")]
    [InlineData("INFO keysizes")]
    [InlineData("MEMORY PURGE")]
    [InlineData("DEBUG OBJECT k")]
    [InlineData("DEBUG DIGEST")]
    [InlineData("DEBUG POPULATE 2")]
    public async Task A_command_that_waits_for_a_stripe_is_refused(string command)
    {
        await using RedKiteServer server = await StartAsync(stripes: 1);
        server.Execute("SET", "k", "1");
        using RespConnection client = RespConnection.Connect(server.Port);
        Task<RedKiteReply> script = Begin(server);
        Assert.Equal(BusyReply, client.Run(command).Text);
        await KillAsync(client, script);
        Assert.False(client.Run(command).IsError);
    }

    // Those that save, seal a backup or change the role need all stripes, too: their loop serves others, and SCRIPT KILL, meanwhile.
    [Theory]
    [InlineData("SAVE", true)]
    [InlineData("SHUTDOWN SAVE", true)]
    [InlineData("BACKUP SEAL", false)]
    [InlineData("BACKUP ABORT", false)]
    [InlineData("REPLICAOF NO ONE", false)]
    public async Task A_command_that_needs_all_stripes_leaves_its_loop_to_others(string command, bool isRefused)
    {
        await using DiskServer disk = await DiskServer.StartAsync("stripes", "1", "busy-reply-threshold", "1000", "save", ""); // the command is admitted before, also on a machine that is busy
        disk.Run("SET k 1");
        disk.Server.Parts.Replicas.Continue(new(0, new string('a', 40), 1)); // who becomes a primary consumes changes again
        if (command.StartsWith("BACKUP", StringComparison.Ordinal))
        {
            disk.Run("BACKUP START");
            disk.WaitFor(() => disk.Server.Parts.Backup.Status.State == BackupState.Incrementing, "the base");
        }
        else if (command.StartsWith("REPLICAOF", StringComparison.Ordinal))
        {
            disk.Run("REPLICAOF 127.0.0.1 1");
        }

        using RespConnection client = RespConnection.Connect(disk.Server.Port), other = RespConnection.Connect(disk.Server.Port);
        other.Run("PING").IsSimple("PONG");
        Task<RedKiteReply> script = Begin(disk.Server);
        client.SendCommand(command);
        Assert.Equal(BusyReply, other.Run("GET k").Text);
        if (isRefused) Assert.Equal(BusyReply, client.Read().Text);
        await KillAsync(other, script);
        if (!isRefused) client.Read().IsOk();
        client.Run("GET k").IsBulk("1");
    }

    [Fact]
    public async Task A_command_that_must_look_at_a_key_that_a_snapshot_writes_is_refused()
    {
        await using RedKiteServer server = await StartAsync(stripes: 1);
        using RespConnection client = RespConnection.Connect(server.Port);
        server.Engine.WriteGate.BeginRule(static (_, _) => true);
        Task<RedKiteReply> script = Begin(server);
        Assert.Equal(BusyReply, client.Run("LMOVE a b LEFT LEFT").Text);
        await KillAsync(client, script);
        client.Run("LMOVE a b LEFT LEFT").IsNull();
    }

    [Fact]
    public async Task Changes_are_consumed_from_the_first_command_behind_the_script()
    {
        await using RedKiteServer server = await StartAsync(stripes: 1);
        using RespConnection client = RespConnection.Connect(server.Port);
        client.Run("HELLO 3");
        Task<RedKiteReply> script = Begin(server);
        client.Run("CLIENT TRACKING ON").IsOk();
        Assert.True(server.Engine.Changes.HasRequests);
        Assert.Equal(BusyReply, client.Run("GET other").Text);
        await KillAsync(client, script);
        client.Run("GET other").IsNull();
        Assert.False(server.Engine.Changes.HasRequests);
        Assert.Equal(default, server.Engine.Attention.Flags & ServerAttention.ChangesRequested);
        server.Execute("SET", "other", "1");
        Assert.Equal("invalidate", client.ReadAny().Items[0].Text);
    }

    [Fact]
    public async Task A_blocked_client_that_needs_the_scripts_stripe_is_served_behind_it()
    {
        await using RedKiteServer server = await StartAsync(stripes: 64);
        Keyspace keyspace = server.Engine.Keyspace;
        string source = Enumerable.Range(0, 1000).Select(i => $"s{i}").First(name => StripeOf(keyspace, name) != StripeOf(keyspace, "k"));
        using RespConnection blocked = RespConnection.Connect(server.Port), client = RespConnection.Connect(server.Port);
        blocked.SendCommand($"BLMOVE {source} k LEFT LEFT 0");
        Assert.True(SpinWait.SpinUntil(() => server.Engine.Blocked.Count == 1, 60_000));
        Task<RedKiteReply> script = Begin(server);
        client.Run($"RPUSH {source} a").IsInteger(1);
        Assert.Equal(BusyReply, client.Run("GET other").Text);
        await KillAsync(client, script);
        blocked.Read().IsBulk("a");
        Assert.Equal(1, server.Execute("LLEN", "k").Integer);
    }

    [Fact]
    public async Task A_backlog_that_is_due_is_released_behind_the_script()
    {
        await using RedKiteServer server = await StartAsync(stripes: 1, "repl-backlog-ttl", "1");
        using RespConnection client = RespConnection.Connect(server.Port);
        Keyspace keyspace = server.Engine.Keyspace;
        server.Parts.Replicas.Continue(new(0, new string('a', 40), 1));
        keyspace.Stripes[0].Enter(); // as a script that is busy
        keyspace.Scripts.NoteBusy();
        server.Parts.Replicas.Tick(server.Engine.Clock.SteadyMs + 10_000);
        Assert.True(server.Parts.Replicas.Stream.HasBacklog);
        keyspace.Scripts.NoteBusyEnded();
        keyspace.Stripes[0].Exit();
        server.Parts.Replicas.Tick(server.Engine.Clock.SteadyMs + 20_000);
        Assert.False(server.Parts.Replicas.Stream.HasBacklog);
    }

    private static int StripeOf(Keyspace keyspace, string key) => keyspace.StripeOf(keyspace.Hash(System.Text.Encoding.ASCII.GetBytes(key)));

    private static Task<RedKiteServer> StartAsync(int stripes, params string[] settings)
    {
        var options = new RedKiteOptions { Port = 0, Settings = { ["loops"] = "1", ["stripes"] = stripes.ToString(System.Globalization.CultureInfo.InvariantCulture), ["busy-reply-threshold"] = "100", ["enable-debug-command"] = "yes" } };
        for (int i = 0; i < settings.Length; i += 2) options.Settings[settings[i]] = settings[i + 1];
        return RedKiteServer.StartAsync(options, TestContext.Current.CancellationToken);
    }

    // The script holds k's stripe, and is not busy yet.
    private static Task<RedKiteReply> Begin(RedKiteServer server)
    {
        Task<RedKiteReply> script = Task.Run(() => server.Execute("EVAL", "while true do end", "1", "k"), TestContext.Current.CancellationToken);
        Assert.True(SpinWait.SpinUntil(() => server.Engine.Script.Current is not null, 60_000));
        return script;
    }

    private static async Task KillAsync(RespConnection client, Task<RedKiteReply> script)
    {
        client.Run("SCRIPT KILL").IsOk();
        Assert.True((await script.WaitAsync(TimeSpan.FromSeconds(60), TestContext.Current.CancellationToken)).IsError);
    }
}
