using RedKite.TestSupport;

namespace RedKite.Server.Tests.Following;

/// <summary>RedKite and redis-server follow each other with vector sets: what a synchronization brings, and every change after it.</summary>
public sealed class VectorSetFollowingTests
{
    [Theory]
    [InlineData("redis", "redkite", 1)]
    [InlineData("redkite", "redis", 2)]
    [InlineData("redkite", "redkite", 3)]
    public async Task Vector_sets_follow(string primary, string replica, int seed)
    {
        await using ReplicationChain chain = await ReplicationChain.StartAsync(primary);
        var random = new Random(seed);
        bool replaces = primary != "redis";
        VectorSetData.Fill(chain.Primary.Client, random, replaces);
        ChainNode follower = await chain.AddAsync(replica);
        for (int round = 0; round < 3; round++)
        {
            // The first time what the synchronization has brought.
            if (round > 0) VectorSetData.Change(chain.Primary.Client, random, commands: 150, replaces);
            chain.WaitFor(() => chain.Primary.Offset is var offset && follower.Offset == offset && chain.Primary.Offset == offset, "the replica");
            string? difference = VectorSetData.Difference(chain.Primary.Client, follower.Client);
            Assert.True(difference is null, difference);
        }
    }
}
