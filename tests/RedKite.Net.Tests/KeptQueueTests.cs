namespace RedKite.Net.Tests;

/// <summary>What a loop keeps for reuse is bounded by its memory, however large the queues have become.</summary>
public class KeptQueueTests
{
    [Fact]
    public void Queues_that_have_grown_are_kept_up_to_a_limit()
    {
        using EchoServer server = new("sockets", new EchoHandler());
        EventLoop loop = server.Loops[0];
        EchoServer.RunOn(loop, () =>
        {
            var replies = new WriteReply[600];
            UnackedOutput[] queues = [.. Enumerable.Range(0, 2 * EventLoop.KeptQueuesMax).Select(_ => loop.TakeUnacked())];
            foreach (UnackedOutput queue in queues)
            {
                queue.Add(replies);
                loop.Keep(queue);
                Assert.InRange(loop.KeptQueuesBytes, 1, EventLoop.KeptQueuesBytesMax);
            }

            Assert.Equal(0, loop.TakeUnacked().Replies);
            UnackedOutput large = loop.TakeUnacked();
            large.Add(new WriteReply[100_000]);
            int before = loop.KeptQueuesBytes;
            loop.Keep(large);
            Assert.Equal(before, loop.KeptQueuesBytes);
        });
    }
}
