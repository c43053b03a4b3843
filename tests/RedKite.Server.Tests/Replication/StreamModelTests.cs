using RedKite.Persistence.Log;
using RedKite.Server.Replication;
using RedKite.Store.Tests.Keyspace;

namespace RedKite.Server.Tests.Replication;

/// <summary>No replica is sent a segment that is used again meanwhile, in any order of what other threads do to the stream; and the checker would see it.</summary>
public class StreamModelTests
{
    [Fact]
    public void A_replica_gets_what_was_appended_in_any_schedule() =>
        Interleavings.ExploreRandomly(150, static (schedule, _) => new StreamModel(schedule, records: 3));

    // Who appends looks at the bound, and never takes away what is just being sent.
    [Fact]
    public void A_replica_that_is_too_far_behind_is_abandoned_by_who_appends() =>
        Interleavings.ExploreRandomly(300, static (schedule, _) => new StreamModel(schedule, records: 5, behindBytes: LogChain.SegmentBytes));

    [Fact]
    public void The_checker_finds_a_position_that_advances_before_its_bytes_are_sent() =>
        Assert.Throws<ModelViolationException>(static () => Interleavings.ExploreRandomly(1000, static (schedule, _) => new StreamModel(schedule, records: 3, advancesFirst: true)));

    // A loop has looked at the stream's end, and the data becomes another one's before it sends.
    [Fact]
    public void The_end_of_one_chain_says_nothing_about_another()
    {
        var stream = new ReplicationStream(static () => 1 << 20);
        stream.Begin();
        stream.Append(new byte[1000]);
        StreamEnd end = stream.End;
        stream.Reset(500);
        ReplicaPosition position = stream.TryPin(500)!;
        Assert.Equal(0, ReplicationStream.Send(position, end, 1000, static _ => Assert.Fail("bytes that were never written")));
        stream.Append(new byte[10]);
        Assert.Equal(10, ReplicationStream.Send(position, stream.End, 1000, static bytes => Assert.Equal(10, bytes.Length)));
    }

    [Fact]
    public void What_is_released_cannot_be_read()
    {
        var chain = new LogChain();
        chain.AppendUnchanged(new byte[LogChain.SegmentBytes + 10]);
        chain.Release(LogChain.SegmentBytes + 5);
        Assert.Throws<InvalidOperationException>(() => chain.Read(0, 10));
        Assert.Throws<InvalidOperationException>(() => chain.Read(LogChain.SegmentBytes + 4, 1));
        Assert.Equal(5, chain.Read(LogChain.SegmentBytes + 5, 5).Length);
        Assert.Throws<InvalidOperationException>(() => chain.Read(2 * LogChain.SegmentBytes, 1));
        Assert.Equal(LogChain.SegmentBytes * 2, chain.MemoryBytes); // none was added
    }
}
