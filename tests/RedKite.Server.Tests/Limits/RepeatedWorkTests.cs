using RedKite.Server.Metrics;

namespace RedKite.Server.Tests.Limits;

/// <summary>What a client may ask for again and again, in a transaction or script or one request after the other.</summary>
public sealed class RepeatedWorkTests : TranscriptTests
{
    private const int Bytes = 1000; // two million steps

    [Fact]
    public void Lcs_counts_as_work_of_a_transaction_or_script()
    {
        using RedKiteSession client = Server.CreateSession();
        client.Execute("MSET", "a", new string('x', Bytes), "b", new string('y', Bytes), "short", "xyz");
        client.UnitWork.Limits = (3 << 20, 5 << 20);
        client.Execute("MULTI");
        for (int i = 0; i < 4; i++) client.Execute("LCS", "a", "b", "LEN");
        client.Execute("LCS", "a", "short", "LEN");
        RedKiteReply[] replies = [.. client.Execute("EXEC").Items];
        Assert.Equal([0, 0], replies[..2].Select(reply => reply.Integer));
        Assert.Equal(["ERR the command takes too long for a transaction or script", "ERR the command takes too long for a transaction or script"], replies[2..4].Select(reply => reply.Text!));
        Assert.Equal(1, replies[4].Integer); // cheap
        Assert.Contains("takes too long for a transaction or script", client.Execute("EVAL", "for i = 1, 4 do redis.call('LCS', 'a', 'b') end", "2", "a", "b").Text, StringComparison.Ordinal);
        Assert.Equal(0, client.Execute("LCS", "a", "b", "LEN").Integer);
        client.UnitWork.Limits = (1 << 20, 5 << 20);
        Assert.Equal(0, client.Execute("LCS", "a", "b", "LEN").Integer); // alone
    }

    [Fact]
    public void The_managed_heap_is_collected_once_in_an_interval()
    {
        long last = 0;
        Assert.Equal([true, false, false, true, false, false], ((long[])[5_000, 5_000, 5_999, 6_000, 6_999, 5_998]).Select(nowMs => ManagedHeap.IsDue(ref last, nowMs)));
        Assert.True(ManagedHeap.IsDue(ref last, 100)); // the clock was set back
        Assert.False(ManagedHeap.IsDue(ref last, 200));
    }
}
