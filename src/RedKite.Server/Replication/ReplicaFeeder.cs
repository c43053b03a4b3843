using RedKite.Net;

namespace RedKite.Server.Replication;

/// <summary>
/// Sends the stream to the replicas of one event loop, at the end of each of its turns. Nothing of the stream is kept for a single replica: each
/// has a position. A loop without replicas pays for a comparison in each turn.
/// </summary>
internal sealed class ReplicaFeeder(EventLoop loop, ReplicationStream stream)
{
    private readonly List<ReplicaClient> _replicas = [];
    private int _isAwake = 1; // whether the loop will look at the stream

    /// <summary>Bytes of the stream that the loop's replicas were sent. A moment old when another thread reads it.</summary>
    internal long StreamedBytes { get; private set; }

    /// <summary>Whether the loop has replicas. On its thread.</summary>
    internal bool IsInUse => _replicas.Count > 0;

    /// <summary>Adds a replica of the loop. On its thread.</summary>
    internal void Add(ReplicaClient replica)
    {
        _replicas.Add(replica);
        Volatile.Write(ref _isAwake, 1);
    }

    /// <summary>Removes a replica whose connection was closed. On the loop's thread.</summary>
    internal void Remove(ReplicaClient replica) => _replicas.Remove(replica);

    /// <summary>The stream has more. From any thread, perhaps with stripes locked: one post for each turn of the loop.</summary>
    internal void Wake()
    {
        if (Volatile.Read(ref _isAwake) != 0 || Interlocked.Exchange(ref _isAwake, 1) != 0) return;
        if (!loop.IsCurrent) loop.Post(static () => { });
    }

    /// <summary>Sends what the stream has. On the loop's thread, at the end of a turn.</summary>
    internal void Feed()
    {
        // What is appended from here on wakes the loop again.
        Volatile.Write(ref _isAwake, 0);
        Interlocked.MemoryBarrier();
        long visible = stream.Visible;
        bool more = false;
        foreach (ReplicaClient replica in _replicas)
        {
            more |= replica.Feed(stream, visible, out long sent);
            StreamedBytes += sent;
        }

        if (more || loop.HasHeldOutput)
        {
            Volatile.Write(ref _isAwake, 1);
            loop.Post(static () => { }); // another turn, after the other clients; held output is handled at its end
        }
    }
}
