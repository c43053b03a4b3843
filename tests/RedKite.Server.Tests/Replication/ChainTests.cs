using System.Globalization;
using RedKite.Server.Replication;
using RedKite.TestSupport;

namespace RedKite.Server.Tests.Replication;

/// <summary>A replica that has replicas itself: Redis, RedKite, Redis.</summary>
public class ChainTests
{
    [Fact]
    public async Task Replicas_of_a_replica_synchronize_while_it_executes_its_primarys_stream()
    {
        using var redis = new Oracle("--save", "", "--enable-debug-command", "yes", "--repl-diskless-sync-delay", "0");
        await using ReplicatedServer middle = await ReplicatedServer.StartAsync("replicaof", string.Create(CultureInfo.InvariantCulture, $"127.0.0.1 {redis.Port}"));
        middle.WaitFor(() => middle.Server.Engine.Replication.LinkStatus is { State: ReplicaLinkState.Connected }, "the link");
        bool stops = false;
        var writing = new Thread(() =>
        {
            using RespConnection client = RespConnection.Connect(redis.Port);
            byte[] pipeline = [.. ((string[])["SELECT 0", "INCR n", "LPUSH l a", "SELECT 3", "INCR m", "MULTI", "INCR u", "INCR u", "EXEC", "SELECT 5", "APPEND s x"]).SelectMany(static command => CommandLine.Encode(CommandLine.Split(command)))];
            while (!Volatile.Read(ref stops))
            {
                for (int i = 0; i < 50; i++) client.Send(pipeline);
                for (int i = 0; i < 50 * 11; i++) client.Read();
            }
        });
        writing.Start();
        var followers = new List<Oracle>();
        for (int i = 0; i < 3; i++)
        {
            followers.Add(middle.Follow());
            middle.WaitForOnline(i + 1);
        }

        Volatile.Write(ref stops, true);
        writing.Join();
        string digest = redis.RunText("DEBUG", "DIGEST");
        string id = ReplicatedServer.Field(redis.RunText("INFO", "replication"), "master_replid");
        middle.WaitFor(() => middle.Client.Run("DEBUG DIGEST").Text == digest, "the replica's data");
        foreach (Oracle follower in followers)
        {
            middle.WaitFor(() => follower.RunText("DEBUG", "DIGEST") == digest, "the same data at the end of the chain");
            Assert.Equal(id, ReplicatedServer.Field(follower.RunText("INFO", "replication"), "master_replid"));
        }

        Assert.Equal(3, middle.Server.Parts.Replicas.Counts.Full);

        // The middle one is promoted: its replicas go on with the new history.
        middle.Client.Run("REPLICAOF NO ONE").IsOk();
        middle.WaitFor(() => middle.Server.Parts.Replicas.Counts.Partial == 3, "their return");
        middle.WaitForOnline(3);
        middle.Client.Run("SET promoted 1").IsOk();
        foreach (Oracle follower in followers) middle.AssertEqual(follower);
        Assert.Equal(3, middle.Server.Parts.Replicas.Counts.Full);
        Assert.Equal(id, middle.Info("master_replid2"));
    }
}
