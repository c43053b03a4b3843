namespace RedKite.Net;

/// <summary>
/// Counts the sockets of accepted connections, those on their way to a loop or on their way out included, over all loops of a server. When there
/// are as many as may be, no more are accepted until some are closed: what else needs a file finds one.
/// </summary>
/// <param name="max">How many there may be at this moment.</param>
public sealed class OpenSockets(Func<long> max)
{
    /// <summary>So many more than clients may be open: those that are refused, until they have got their reply.</summary>
    public const int RefusedMax = 32;

    private int _count;

    internal bool IsFull => Volatile.Read(ref _count) >= max();

    /// <summary>Whether a socket that nobody needs any more may stay until its peer has read all.</summary>
    internal bool HasRoomToLinger => Volatile.Read(ref _count) <= max() - (RefusedMax / 2);

    internal void Add() => Interlocked.Increment(ref _count);

    internal void Remove() => Interlocked.Decrement(ref _count);
}
