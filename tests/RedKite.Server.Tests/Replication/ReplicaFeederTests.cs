using RedKite.Net;
using RedKite.Server.Replication;
using RedKite.TestSupport;

namespace RedKite.Server.Tests.Replication;

/// <summary>When a loop sends its replicas the stream.</summary>
public class ReplicaFeederTests
{
    private static readonly byte[] Ping = "*1\r\n$4\r\nPING\r\n"u8.ToArray();

    // Each step is done on the replica's loop while that does nothing else, so that what a step sends is known.
    [Fact]
    public async Task Stream_is_gathered_while_requests_arrive()
    {
        await using ReplicatedServer primary = await ReplicatedServer.StartAsync("loops", "1");
        using var raw = new RawReplica(primary.Server.Port);
        ReplicaClient replica = Attach(primary, raw);
        ReplicaService service = primary.Server.Parts.Replicas;
        ReplicaFeeder feeder = service.FeederOf(replica);
        OnLoop(replica, () =>
        {
            feeder.Feed(reads: 1);
            Assert.False(replica.Connection.Loop.IsGathering); // nothing to send
            long before = feeder.StreamedBytes;
            service.Stream.Append(Ping);
            feeder.Feed(reads: 2);
            Assert.Equal(before, feeder.StreamedBytes);
            Assert.True(replica.Connection.Loop.IsGathering); // so that the loop comes back
            feeder.Feed(reads: 2); // no request has arrived
            Assert.Equal(before + Ping.Length, feeder.StreamedBytes);
            Assert.False(replica.Connection.Loop.IsGathering);
        });
    }

    [Fact]
    public async Task Much_of_the_stream_is_sent_although_requests_arrive()
    {
        await using ReplicatedServer primary = await ReplicatedServer.StartAsync("loops", "1");
        using var raw = new RawReplica(primary.Server.Port);
        ReplicaClient replica = Attach(primary, raw);
        ReplicaFeeder feeder = primary.Server.Parts.Replicas.FeederOf(replica);
        OnLoop(replica, () =>
        {
            feeder.Feed(reads: -1);
            long before = feeder.StreamedBytes;
            primary.Server.Parts.Replicas.Stream.Append(new byte[65 * 1024]);
            feeder.Feed(reads: -2);
            Assert.True(feeder.StreamedBytes > before);
            Assert.False(replica.Connection.Loop.IsGathering);
        });
    }

    [Fact]
    public async Task Nothing_is_gathered_while_a_client_waits_for_acknowledgements()
    {
        await using ReplicatedServer primary = await ReplicatedServer.StartAsync("loops", "1");
        using var raw = new RawReplica(primary.Server.Port);
        ReplicaClient replica = Attach(primary, raw);
        ReplicaFeeder feeder = primary.Server.Parts.Replicas.FeederOf(replica);
        using RespConnection waits = primary.Connect();
        primary.Client.Run("SET key value").IsOk();
        waits.SendCommand("SET key value");
        waits.Read().IsOk();
        waits.SendCommand("WAIT 1 0");
        primary.WaitFor(() => primary.Server.Parts.Replicas.Waits.Count == 1, "the wait");
        OnLoop(replica, () =>
        {
            feeder.Feed(reads: -1);
            long before = feeder.StreamedBytes;
            primary.Server.Parts.Replicas.Stream.Append(Ping);
            feeder.Feed(reads: -2);
            Assert.Equal(before + Ping.Length, feeder.StreamedBytes);
        });
    }

    // Otherwise the loop would poll for ever.
    [Fact]
    public async Task Loop_whose_last_replica_leaves_gathers_nothing()
    {
        await using ReplicatedServer primary = await ReplicatedServer.StartAsync("loops", "1");
        using var raw = new RawReplica(primary.Server.Port);
        ReplicaClient replica = Attach(primary, raw);
        ReplicaService service = primary.Server.Parts.Replicas;
        ReplicaFeeder feeder = service.FeederOf(replica);
        EventLoop loop = replica.Connection.Loop;
        OnLoop(replica, () =>
        {
            feeder.Feed(reads: -1);
            service.Stream.Append(Ping);
            feeder.Feed(reads: -2);
            Assert.True(loop.IsGathering);
            feeder.Remove(replica);
            Assert.False(loop.IsGathering);
        });
    }

    private static ReplicaClient Attach(ReplicatedServer primary, RawReplica raw)
    {
        (long offset, _) = raw.Synchronize();
        raw.Send("REPLCONF ACK " + offset);
        primary.WaitForOnline(1);
        return primary.Server.Parts.Replicas.Replicas.Single();
    }

    private static void OnLoop(ReplicaClient replica, Action action)
    {
        var done = new TaskCompletionSource();
        replica.Connection.Loop.Post(() =>
        {
            try
            {
                action();
                done.SetResult();
            }
#pragma warning disable CA1031 // The test gets it.
            catch (Exception failure)
#pragma warning restore CA1031
            {
                done.SetException(failure);
            }
        });
        done.Task.WaitAsync(TimeSpan.FromSeconds(60)).GetAwaiter().GetResult();
    }
}
