namespace RedKite.Net;

/// <summary>
/// Counts the sockets of accepted connections over all loops of a server, including those that are not with a loop yet or are closing. At
/// the maximum, no more are accepted until some are closed, so that file descriptors remain for other uses.
/// </summary>
/// <param name="max">The current maximum.</param>
internal sealed class OpenSockets(Func<long> max)
{
    /// <summary>The number of sockets beyond the clients: refused connections, until they have received their reply.</summary>
    public const int RefusedMax = 32;

    private int _count;

    /// <summary>How many are open.</summary>
    internal int Count => Volatile.Read(ref _count);

    internal bool IsFull => Volatile.Read(ref _count) >= max();

    /// <summary>Whether an ended connection's socket may stay open until its peer has read everything.</summary>
    internal bool HasRoomToLinger => Volatile.Read(ref _count) <= max() - (RefusedMax / 2);

    internal void Add() => Interlocked.Increment(ref _count);

    internal void Remove() => Interlocked.Decrement(ref _count);
}
