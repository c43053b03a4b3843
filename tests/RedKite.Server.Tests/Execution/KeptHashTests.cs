using RedKite.Server.Execution;
using RedKite.Server.Model;
using RedKite.Server.Tests.Durability;
using RedKite.TestSupport;

namespace RedKite.Server.Tests.Execution;

/// <summary>
/// An executor keeps the hashes of a command's keys by their arguments. A command that is refused, or must wait, when it has its stripes leaves none, and a blocked client's
/// command that executes within another one's takes none.
/// </summary>
public sealed class KeptHashTests
{
    private const string Write = "MSET k 1 l 2";

    [Fact]
    public async Task A_command_that_is_refused_by_the_role_leaves_no_hashes()
    {
        await using DiskServer disk = await DiskServer.StartAsync("save", "", "stripes", "1");
        Engine engine = disk.Server.Engine;
        CommandExecutor executor = Run(disk, out Thread thread, () =>
        {
            engine.Attention.Set(ServerAttention.IsReplica, on: true);
            engine.Replication.FollowNew("127.0.0.1", 1);
        });
        AssertEnded(executor, thread, "-READONLY ");
        disk.Run("REPLICAOF NO ONE");
    }

    [Fact]
    public async Task A_command_that_waits_for_a_snapshot_leaves_no_hashes()
    {
        await using DiskServer disk = await DiskServer.StartAsync("save", "", "stripes", "1");
        Engine engine = disk.Server.Engine;
        disk.Run("RPUSH k 1");
        disk.Run("RPUSH l 2");
        CommandExecutor executor = Run(disk, out Thread thread, () => engine.WriteGate.BeginRule(static (_, _) => false), "LMOVE k l LEFT LEFT");
        AssertEnded(executor, thread, "");
        Assert.Equal(1, disk.Run("LLEN l").Integer); // it waits
        engine.WriteGate.EndRule();
    }

    [Fact]
    public async Task A_command_that_is_refused_by_a_busy_script_leaves_no_hashes()
    {
        await using DiskServer disk = await DiskServer.StartAsync("save", "", "stripes", "1", "busy-reply-threshold", "100");
        disk.Run("SET k 0");
        using RespConnection client = RespConnection.Connect(disk.Server.Port);
        client.SendCommand("EVAL \"while true do end\" 1 k");
        disk.WaitFor(() => disk.Server.Engine.Script.Current is not null, "the script");
        CommandExecutor executor = Begin(disk, out Thread thread); // it waits for the stripe before the script is busy
        AssertEnded(executor, thread, "-BUSY ");
        Assert.Equal("OK", disk.Run("SCRIPT KILL").Text);
    }

    // A push on the short path serves within itself: the blocked command's second key was looked for by a hash that a refused command had left.
    [Fact]
    public async Task A_command_that_is_served_takes_no_hash_of_another_one()
    {
        await using DiskServer disk = await DiskServer.StartAsync("save", "", "loops", "1");
        Engine engine = disk.Server.Engine;
        using RespConnection blocked = RespConnection.Connect(disk.Server.Port);
        blocked.SendCommand("BLMOVE source target LEFT LEFT 0");
        disk.WaitFor(() => engine.Blocked.Count == 1, "the client");
        CommandExecutor executor = engine.NewExecutor();
        executor.Environment.KeyHashes.Keep(engine.Keyspace.Databases[0], 2, engine.Keyspace.Hash("another"u8));
        executor.Time.Read();
        executor.Run(engine.Clients.Add(null, engine.Clock.NowMs, engine.Users.InProcess, authenticated: true), CommandLine.Encode(CommandLine.Split("RPUSH source x")));
        Assert.Equal(":1\r\n"u8, executor.Reply.Tail);
        blocked.Read().IsBulk("x");
        Assert.Equal(1, disk.Run("LLEN target").Integer);
    }

    // The change happens when the command has been admitted and waits for its stripe.
    private static CommandExecutor Run(DiskServer disk, out Thread thread, Action change, string command = Write)
    {
        using (disk.Server.Engine.Keyspace.LockAll())
        {
            CommandExecutor executor = Begin(disk, out thread, command);
            disk.WaitFor(() => disk.Server.Engine.Keyspace.Stripes[0].LockParked == 1, "the command");
            change();
            return executor;
        }
    }

    private static CommandExecutor Begin(DiskServer disk, out Thread thread, string command = Write)
    {
        Engine engine = disk.Server.Engine;
        CommandExecutor executor = engine.NewExecutor();
        Session session = engine.Clients.Add(null, engine.Clock.NowMs, engine.Users.InProcess, authenticated: true);
        thread = new Thread(() =>
        {
            executor.Time.Read();
            executor.Run(session, CommandLine.Encode(CommandLine.Split(command)));
        });
        thread.Start();
        return executor;
    }

    private static void AssertEnded(CommandExecutor executor, Thread thread, string reply)
    {
        Assert.True(thread.Join(60_000));
        Assert.StartsWith(reply, System.Text.Encoding.ASCII.GetString(executor.Reply.Tail), StringComparison.Ordinal);
        for (int argument = 0; argument < 5; argument++) Assert.Equal(0UL, executor.Environment.KeyHashes.Find(argument));
    }
}
