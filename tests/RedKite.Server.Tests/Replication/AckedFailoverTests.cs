using System.Globalization;
using RedKite.TestSupport;
using static RedKite.Server.Tests.Replication.ReplicaAcksTests;

namespace RedKite.Server.Tests.Replication;

/// <summary>replica-acks while the role changes by FAILOVER or by a sentinel: a write is OK only if the new primary has it, and no client waits for ever.</summary>
public class AckedFailoverTests
{
    private const string ReadOnly = "-READONLY You can't write against a read only replica.";

    [Theory]
    [InlineData(1, "", "+OK")]
    [InlineData(2, "", RoleLost)]
    [InlineData(1, " TIMEOUT 1 FORCE", RoleLost)]
    public async Task Failover_answers_every_write_that_waits(int acks, string arguments, string expected)
    {
        await using ReplicatedServer primary = await ReplicatedServer.StartAsync("replica-acks", Text(acks), "replica-acks-timeout", "0");
        Oracle redis = primary.Follow();
        primary.WaitForOnline(1);
        using RawReplica? silent = acks == 2 ? Online(primary, 2) : null;
        RespConnection[] writers = [.. Enumerable.Range(0, 4).Select(_ => primary.Connect())]; // on both loops
        RespConnection late = primary.Connect();
        redis.Pause();
        for (int i = 0; i < writers.Length; i++) Send(writers[i], $"SET key:{i} {i}", $"GET key:{i}");
        WaitForWaiting(primary, writers.Length);
        Task<RedKiteReply> call = Task.Run(() => primary.Server.CreateClient().Execute("SET", "called", "1"), TestContext.Current.CancellationToken);
        primary.WaitFor(() => primary.Server.Engine.Replication.Acks.WaitingCallers == 1, "the caller");
        primary.Client.Run($"FAILOVER TO 127.0.0.1 {redis.Port}{arguments}").IsOk();
        late.SendCommand("SET late 1");
        if (arguments.Length == 0)
        {
            primary.WaitFor(() => primary.Server.Engine.Pause.Paused(primary.Server.Engine.Clients) == 1, "the late write");
            Assert.True(Array.TrueForAll(writers, static writer => writer.IsSilent));
            redis.GoOn();
        }

        for (int i = 0; i < writers.Length; i++) Assert.Equal([expected, "$" + Text(i)], Read(writers[i], 2));
        Assert.Equal(expected[1..], (await call.WaitAsync(TimeSpan.FromSeconds(60), TestContext.Current.CancellationToken)).Text);
        redis.GoOn();
        Assert.Equal(ReadOnly, late.Read().ToString());
        primary.WaitFor(() => redis.RunText("INFO", "replication").Contains("role:master", StringComparison.Ordinal), "the new primary");
        for (int i = 0; i < writers.Length && arguments.Length == 0; i++) Assert.Equal(Text(i), redis.Run("GET", "key:" + Text(i)));
        if (arguments.Length == 0) Assert.Equal("1", redis.Run("GET", "called"));
        Assert.Null(redis.Run("GET", "late"));
        WaitForWaiting(primary, 0);
    }

    [Theory]
    [InlineData("", "FAILOVER ABORT")]
    [InlineData(" TIMEOUT 1", "PING")]
    public async Task A_failover_that_ends_without_success_leaves_writes_waiting(string arguments, string then)
    {
        await using ReplicatedServer primary = await ReplicatedServer.StartAsync("replica-acks", "1", "replica-acks-timeout", "0");
        Oracle redis = primary.Follow();
        primary.WaitForOnline(1);
        RespConnection writer = primary.Connect(), late = primary.Connect();
        redis.Pause();
        writer.SendCommand("SET key 1");
        WaitForWaiting(primary, 1);
        primary.Client.Run("FAILOVER" + arguments).IsOk();
        late.SendCommand("SET late 1");
        Assert.False(primary.Client.Run(then).IsError);
        WaitForWaiting(primary, 2); // the late one is executed now
        Assert.True(writer.IsSilent && late.IsSilent);
        redis.GoOn();
        writer.Read().IsOk();
        late.Read().IsOk();
        Assert.Equal(["1", "1"], redis.RunList("MGET", "key", "late"));
    }

    // What a sentinel sends to a primary that it demotes. Clients may be closed before their error is sent.
    [Theory]
    [InlineData("PING")]
    [InlineData("GET own")]
    [InlineData("SET own 1")]
    public async Task The_commands_of_a_sentinel_confirm_nothing_that_waits(string beside)
    {
        using var folder = new TemporaryFolder();
        Directory.CreateDirectory(folder.Path);
        string file = Path.Combine(folder.Path, "redkite.conf");
        await File.WriteAllTextAsync(file, "", TestContext.Current.CancellationToken);
        await using ReplicatedServer primary = await ReplicatedServer.StartAsync("replica-acks", "1", "replica-acks-timeout", "0", "config-file", file);
        using RawReplica replica = Online(primary);
        RespConnection[] writers = [.. Enumerable.Range(0, 6).Select(_ => primary.Connect())];
        foreach (RespConnection writer in writers) writer.SendCommand("SET key value");
        WaitForWaiting(primary, writers.Length);
        Task<RedKiteReply> call = Task.Run(() => primary.Server.CreateClient().Execute("SET", "called", "1"), TestContext.Current.CancellationToken);
        primary.WaitFor(() => primary.Server.Engine.Replication.Acks.WaitingCallers == 1, "the caller");
        using RespConnection sentinel = primary.Connect();
        int port = LoopbackPort.Next();
        Send(sentinel, "MULTI", beside, $"SLAVEOF 127.0.0.1 {port}", "CONFIG REWRITE", "CLIENT KILL TYPE normal", "CLIENT KILL TYPE pubsub", "EXEC");
        Assert.Equal(["+OK", "+QUEUED", "+QUEUED", "+QUEUED", "+QUEUED", "+QUEUED"], Read(sentinel, 6));
        string killed = Text(writers.Length + 1); // and the test's own
        Assert.Equal(beside.StartsWith("SET", StringComparison.Ordinal) ? RoleLost : $"*[{(beside == "PING" ? "+PONG" : "$(null)")} +OK +OK :{killed} :0]", sentinel.Read().ToString());
        foreach (RespConnection writer in writers)
        {
            for (RespValue reply = writer.Read(); !reply.IsClosed; reply = writer.Read()) Assert.Equal(RoleLost, reply.ToString());
        }

        Assert.Equal(RoleLost[1..], (await call.WaitAsync(TimeSpan.FromSeconds(60), TestContext.Current.CancellationToken)).Text);
        primary.WaitFor(() => primary.Server.Loops.All(static loop => loop.Acks.Replies == 0), "the end of all waits");
        Assert.Contains($"replicaof 127.0.0.1 {port}", await File.ReadAllTextAsync(file, TestContext.Current.CancellationToken), StringComparison.Ordinal);

        replica.WaitForEnd();

        // And back, as the sentinel promotes a replica.
        Send(sentinel, "MULTI", "SLAVEOF NO ONE", "CONFIG REWRITE", "CLIENT KILL TYPE normal", "EXEC");
        Assert.Equal(["+OK", "+QUEUED", "+QUEUED", "+QUEUED", "*[+OK +OK :0]"], Read(sentinel, 5));
        primary.WaitFor(() => primary.Server.Engine.Replication.Acks.Term is { IsOpen: true }, "the role");
        sentinel.SendCommand("SET key other");
        WaitForWaiting(primary, 1);
        using RawReplica next = Online(primary);
        sentinel.Read().IsOk();
    }

    private static string Text(int number) => number.ToString(CultureInfo.InvariantCulture);
}
