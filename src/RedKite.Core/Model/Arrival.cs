using System.Diagnostics;
using RedKite.Net;

namespace RedKite.Server.Model;

/// <summary>
/// When a request arrived, comparable between event loops: blocked clients are served in this order. The system says it to a tick of
/// its clock; within a tick, and where it says nothing, the order is that in which the loops' iterations began.
/// </summary>
/// <param name="Microseconds">By the clock by which the system says when a connection has received something: that of a tick, or nearly, as the system
/// counts the milliseconds since then in ticks of the same length, and its clock's are adjusted.</param>
/// <param name="IterationStart">The timestamp at the start of the loop's iteration that executes the request.</param>
internal readonly record struct Arrival(long Microseconds, long IterationStart)
{
    private const long SameTickMicroseconds = 500; // no system's tick is below a millisecond

    /// <summary>The arrival of what arrives now.</summary>
    internal static Arrival Now() => At(Stopwatch.GetTimestamp());

    /// <summary>
    /// The arrival of the request that a session executes. As in Redis, input that came earlier and was held back arrives when what held it back
    /// has ended: the request before it that blocked (which another loop has served, before this one goes on), or a pause.
    /// </summary>
    internal static Arrival Of(Session session, long iterationStart)
    {
        if (session.Connection is not { } connection) return At(iterationStart);
        if (session.Own.LastWait.BytesReceived == connection.BytesReceived) return session.Own.LastWait.End;
        return session.Own.HasNewInput && connection.LastReceivedMicroseconds is { } received ? new Arrival(received, iterationStart) : At(iterationStart);
    }

    internal bool Precedes(Arrival other) =>
        Math.Abs(Microseconds - other.Microseconds) < SameTickMicroseconds ? IterationStart < other.IterationStart : Microseconds < other.Microseconds;

    private static Arrival At(long timestamp) => new(Connection.ReceivingMicroseconds, timestamp);
}
