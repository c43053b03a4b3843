using RedKite.Net;
using RedKite.Server.Model;

namespace RedKite.Server.Replication;

/// <summary>What a loop does for the replicas among its connections.</summary>
internal interface IReplicaFeeds
{
    /// <summary>The feeder of a loop, which calls it.</summary>
    IReplicaFeeder NewFeeder(EventLoop loop);

    /// <summary>Output of a connection was taken. On its loop.</summary>
    void Drained(Session session);

    /// <summary>A connection was closed. On its loop.</summary>
    void Closed(Session session);
}

/// <summary>Sends the stream to the replicas of one loop.</summary>
internal interface IReplicaFeeder
{
    /// <summary>Whether the loop has replicas. On its thread.</summary>
    bool IsInUse { get; }

    /// <summary>Sends what the stream has, unless more is about to come. On the loop's thread, at the end of an iteration.</summary>
    /// <param name="reads">How often the loop has received something from a client.</param>
    void Feed(long reads);
}

/// <summary>The end of the stream for replicas.</summary>
internal interface IStreamOffset
{
    /// <summary>Whether the stream is kept: without a replica it is not.</summary>
    bool HasBacklog { get; }

    /// <summary>The offset of its end.</summary>
    long Offset { get; }
}
