using RedKite.Server.Replication;
using RedKite.Server.Tests.Following;

namespace RedKite.Server.Tests.Replication;

/// <summary>How long a primary without replicas keeps its backlog, by a clock of the test's.</summary>
public class BacklogLifeTests
{
    private const long HourMs = 3_600_000;

    // After a failover the other replicas would have to copy all data.
    [Theory]
    [InlineData(0)]
    [InlineData(3 * HourMs)]
    public async Task A_promoted_replica_keeps_its_history_for_the_time_of_the_backlog(long followedMs)
    {
        var clock = new ManualClock();
        await using ReplicationChain chain = await ReplicationChain.StartAsync(clock, "redkite", "redkite");
        RedKiteServer replica = chain.Nodes[1].Server!;
        ReplicaService replicas = replica.Parts.Replicas;
        Pass(followedMs);
        string id = replica.Engine.Replication.Id;
        replica.Execute("REPLICAOF", "NO", "ONE");
        for (int second = 0; second < 5; second++) Pass(1000);
        Assert.True(replicas.Stream.HasBacklog);
        Assert.Equal(id, replica.Engine.Replication.Ids.SecondId);
        Pass(HourMs - 6000);
        Assert.True(replicas.Stream.HasBacklog);
        Pass(3000);
        Assert.False(replicas.Stream.HasBacklog);
        Assert.Equal(ReplicationState.NoId, replica.Engine.Replication.Ids.SecondId);

        void Pass(long milliseconds)
        {
            clock.Advance(milliseconds);
            replicas.Tick(replica.Engine.Clock.SteadyMs);
        }
    }
}
