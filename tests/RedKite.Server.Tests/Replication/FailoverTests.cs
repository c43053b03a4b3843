using System.Globalization;
using RedKite.Server.Model;
using RedKite.Server.Replication;
using RedKite.TestSupport;

namespace RedKite.Server.Tests.Replication;

/// <summary>FAILOVER between a server and redis-server 8.0.2, and replicas that go on after the server was started again.</summary>
public class FailoverTests
{
    [Fact]
    public async Task Role_goes_to_redis_and_back()
    {
        await using ReplicatedServer primary = await ReplicatedServer.StartAsync();
        Oracle redis = primary.Follow("--repl-diskless-sync-delay", "0");
        primary.WaitForOnline(1);
        primary.Client.Run("SET a 1").IsOk();
        string port = redis.Port.ToString(CultureInfo.InvariantCulture);
        primary.Client.Run($"FAILOVER TO 127.0.0.1 {port} TIMEOUT 60000").IsOk();
        primary.WaitFor(() => redis.RunText("INFO", "replication").Contains("role:master", StringComparison.Ordinal), "the new primary");
        primary.WaitFor(() => primary.Server.Engine.Replication.LinkStatus is { State: ReplicaLinkState.Connected }, "the link");
        Assert.Equal("no-failover", primary.Info("master_failover_state"));
        primary.Client.Run("SET a 2").IsError("READONLY You can't write against a read only replica.");
        Assert.Equal("OK", redis.Run("SET", "b", "of redis"));
        Assert.Equal("1", redis.Run("WAIT", "1", "0"));
        primary.Client.Run("GET b").IsBulk("of redis");

        Assert.Equal("OK", redis.Run("FAILOVER", "TO", "127.0.0.1", primary.Server.Port.ToString(CultureInfo.InvariantCulture), "TIMEOUT", "60000"));
        primary.WaitFor(() => !primary.Server.Engine.Replication.IsReplica, "the return");
        primary.WaitForOnline(1);
        primary.WaitFor(() => !primary.Client.Run("SELECT 4").IsError && !primary.Client.Run("SET c 3").IsError, "the role");
        primary.AssertEqual(redis);
        Assert.Equal("0", primary.Info("sync_partial_err", "stats"));
        Assert.Equal("1", primary.Info("sync_full", "stats"));
    }

    // The target would take over, and this server would be a primary again, too.
    [Fact]
    public async Task A_failover_that_is_being_ended_asks_nobody_to_take_over()
    {
        await using ReplicatedServer primary = await ReplicatedServer.StartAsync();
        using var replica = new RawReplica(primary.Server.Port);
        replica.BecomeOnline(primary, replica.Synchronize().Offset);
        using var host = new SlowHost();
        var failover = new Failover(primary.Server.Parts.Replicas.List, host, primary.Server.Engine.Pause, primary.Server.Engine.Clock, primary.Server.Engine.Log);
        Assert.Null(failover.Begin(null, 0, 0, forces: false));
        Assert.False(failover.HandsOver);
        replica.Send("REPLCONF ACK " + primary.Server.Parts.Replicas.Stream.Offset.ToString(CultureInfo.InvariantCulture));
        primary.WaitFor(
            () =>
            {
                failover.Advance();
                return failover.HandsOver;
            },
            "the acknowledgement");
        Assert.Null(failover.Abort());
        Assert.Equal((FailoverState.InProgress, false), (failover.State, failover.HandsOver));
        host.GoesOn.Set();
        primary.WaitFor(() => failover.State == FailoverState.None, "the end");
    }

    // Nothing else would end it, and every later REPLICAOF would be refused.
    [Fact]
    public async Task A_failover_ends_when_its_server_becomes_a_replica_meanwhile()
    {
        await using ReplicatedServer primary = await ReplicatedServer.StartAsync();
        using var replica = new RawReplica(primary.Server.Port);
        replica.BecomeOnline(primary, replica.Synchronize().Offset);
        primary.Client.Run("SET a 1").IsOk();
        primary.Client.Run("FAILOVER").IsOk();
        primary.Server.Parts.BeginRoleChange(new PrimaryAddress("127.0.0.1", 1))(); // REPLICAOF that had looked before FAILOVER began
        Assert.Equal("no-failover", primary.Info("master_failover_state"));
        primary.Client.Run("REPLICAOF NO ONE").IsOk();
        primary.Client.Run("SET a 2").IsOk();
    }

    [Fact]
    public async Task Failover_that_does_not_succeed_lets_clients_write_again()
    {
        await using ReplicatedServer primary = await ReplicatedServer.StartAsync();
        using var replica = new RawReplica(primary.Server.Port);
        replica.Synchronize();
        primary.WaitFor(() => primary.Server.Parts.Replicas.Replicas is [{ State: ReplicaState.Loading }], "the data");
        primary.Client.Run("FAILOVER TO 127.0.0.1 1").IsError("ERR FAILOVER target replica is not online.");
        replica.Send("REPLCONF ACK 0");
        primary.WaitForOnline(1);
        primary.Client.Run("FAILOVER TO 127.0.0.1 2").IsError("ERR FAILOVER target HOST and PORT is not a replica.");
        primary.Client.Run("FAILOVER TO 127.0.0.1 1 FORCE").IsError("ERR FAILOVER with force option requires both a timeout and target HOST and IP.");
        primary.Client.Run("SET a 1").IsOk();
        primary.Client.Run("FAILOVER TO 127.0.0.1 1").IsOk();
        Assert.Equal("waiting-for-sync", primary.Info("master_failover_state"));
        primary.Client.Run("FAILOVER").IsError("ERR FAILOVER already in progress.");
        primary.Client.Run("REPLICAOF 127.0.0.1 1").IsError("ERR REPLICAOF not allowed while failing over.");
        RespConnection writer = primary.Connect();
        writer.SendCommand("SET a 2");
        primary.WaitFor(() => primary.Server.Engine.Pause.Paused(primary.Server.Engine.Clients) == 1, "the write");
        primary.Client.Run("CLIENT UNPAUSE").IsOk(); // does not end the failover
        primary.Client.Run("GET a").IsBulk("1");
        primary.Client.Run("FAILOVER ABORT").IsOk();
        writer.Read().IsOk();
        primary.Client.Run("FAILOVER ABORT").IsError("ERR No failover in progress.");

        primary.Client.Run("FAILOVER TIMEOUT 1").IsOk();
        primary.Client.Run("SET a 3").IsOk(); // when the time is over
        Assert.Contains("Replica never caught up before timeout", primary.Log, StringComparison.Ordinal);

        // Nothing listens on the replica's port: the role is handed over without success, until that is aborted.
        primary.Client.Run("FAILOVER TO 127.0.0.1 1 TIMEOUT 1 FORCE").IsOk();
        primary.WaitFor(() => primary.Server.Engine.Replication.IsReplica, "the change");
        Assert.Equal("failover-in-progress", primary.Info("master_failover_state"));
        using (var other = new RawReplica(primary.Server.Port)) Assert.Equal("-NOMASTERLINK Can't SYNC while failover is in progress", other.Run("PSYNC ? -1"));
        primary.Client.Run("FAILOVER ABORT").IsOk();
        primary.WaitFor(() => !primary.Server.Engine.Replication.IsReplica, "the return");
        primary.Client.Run("SET a 4").IsOk();
    }

    [Fact]
    public async Task Replies_of_a_server_without_replicas_are_those_of_redis()
    {
        await using ReplicatedServer primary = await ReplicatedServer.StartAsync();
        using var redis = new Oracle("--save", "");
        RespConnection oracle = primary.ConnectTo(redis);
        foreach (string request in (string[])["FAILOVER", "FAILOVER ABORT", "FAILOVER TO 127.0.0.1", "FAILOVER TO 127.0.0.1 1", "FAILOVER TO 127.0.0.1 x", "FAILOVER TIMEOUT 0", "FAILOVER TIMEOUT x", "FAILOVER TIMEOUT", "FAILOVER FORCE", "FAILOVER TO a 1 TIMEOUT 5 FORCE", "FAILOVER TO a 1 TO b 2", "FAILOVER ABORT TIMEOUT 5", "FAILOVER xx"])
        {
            Assert.Equal((request, oracle.Run(request).ToString()), (request, primary.Client.Run(request).ToString()));
        }
    }

    [Fact]
    public async Task Replicas_go_on_after_the_server_was_started_again()
    {
        using var folder = new TemporaryFolder();
        int port = LoopbackPort.Next();
        Directory.CreateDirectory(folder.Path);
        string[] settings = ["dir", folder.Path, "port", port.ToString(CultureInfo.InvariantCulture), "save", "3600 1"];
        ReplicatedServer primary = await ReplicatedServer.StartAsync(settings);
        Oracle redis = primary.Follow();
        primary.WaitForOnline(1);
        foreach (string command in (string[])["SET a 1", "SET gone soon PX 50", "SELECT 5", "SET b 2"]) primary.Client.Run(command).IsOk();
        primary.Client.SendCommand("SHUTDOWN");
        await primary.Server.Stopped;
        string id = primary.Server.Engine.Replication.Id;
        await using ReplicatedServer again = await ReplicatedServer.StartAsync(settings);
        Assert.Equal(id, again.Info("master_replid2"));
        again.WaitForOnline(1);
        again.Client.Run("SET after restart").IsOk();
        again.WaitFor(() => again.Client.Run("DBSIZE").Number == 2, "the expiry");
        again.AssertEqual(redis);
        Assert.Equal(("0", "1", "0"), (again.Info("sync_full", "stats"), again.Info("sync_partial_ok", "stats"), again.Info("sync_partial_err", "stats")));
        await primary.DisposeAsync();
    }

    // Its role changes when the test lets it.
    private sealed class SlowHost : IReplicationHost, IDisposable
    {
        internal ManualResetEventSlim GoesOn { get; } = new();

        public RedKite.Persistence.Rdb.RdbReplication? PositionOfReplica => null;

        public void ChangeRole(PrimaryAddress? primary) => GoesOn.Wait();

        public void AcknowledgeSoon()
        {
        }

        public void ResumePaused()
        {
        }

        public void ReplyLater(Session session, LateReply wait, byte[] reply)
        {
        }

        public void Dispose() => GoesOn.Dispose();
    }
}
