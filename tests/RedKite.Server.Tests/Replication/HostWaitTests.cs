using System.Globalization;
using RedKite.Server.Replication;
using RedKite.Server.Tests.Durability;
using RedKite.TestSupport;

namespace RedKite.Server.Tests.Replication;

/// <summary>WAIT and WAITAOF of a host. Its writes are those of any session of the client's pool.</summary>
public class HostWaitTests
{
    [Fact]
    public async Task A_host_waits_for_all_that_was_written_so_far()
    {
        await using ReplicatedServer primary = await ReplicatedServer.StartAsync();
        using var replica = new RawReplica(primary.Server.Port);
        replica.BecomeOnline(primary, replica.Synchronize().Offset);
        RedKiteClient client = primary.Server.CreateClient();
        client.Set("k", "v");
        Assert.Equal(0, await client.WaitForReplicasAsync(1, TimeSpan.Zero, TestContext.Current.CancellationToken)); // which is not without end
        Assert.Equal(0, client.Execute("WAIT", "1", "1").Integer);
        ValueTask<long> wait = client.WaitForReplicasAsync(1, TimeSpan.FromHours(1), TestContext.Current.CancellationToken);
        Assert.False(wait.IsCompleted);
        replica.Send("REPLCONF ACK " + primary.Server.Parts.Replicas.Stream.Offset.ToString(CultureInfo.InvariantCulture));
        Assert.Equal(1, await wait);
    }

    [Fact]
    public async Task A_host_waits_for_the_disk()
    {
        await using DiskServer disk = await DiskServer.StartAsync("appendonly", "yes", "appendfsync", "no");
        RedKiteClient client = disk.Server.CreateClient();
        client.Set("k", "v");
        RedKiteReply reply = await client.ExecuteAsync(["WAITAOF", "1", "0", "1"], TestContext.Current.CancellationToken);
        Assert.Equal([0, 0], reply.Items.Select(static item => item.Integer));
    }

    // The command has seen a primary, and the role changes before its wait is listed.
    [Fact]
    public async Task A_wait_that_begins_behind_a_change_of_role_ends()
    {
        await using DiskServer disk = await DiskServer.StartAsync("save", "");
        disk.Run("REPLICAOF 127.0.0.1 1");
        ReplicaService replicas = disk.Server.Parts.Replicas;
        using RespConnection client = RespConnection.Connect(disk.Server.Port);
        client.Run("PING").IsSimple("PONG");
        var late = new RedKite.Server.Model.LateReply();
        replicas.Await(new AckWait(disk.Server.Engine.Clients.All.First(), 1, 1, OnDisk: false, late, static _ => null));
        Assert.Equal(0, replicas.Waits.Count);
    }
}
