using System.Diagnostics;

namespace RedKite.Server.Model;

/// <summary>
/// When a request arrived, comparable between event loops: blocked clients are served in this order. The system says it to a tick of
/// its clock; within a tick, and where it says nothing, the order is that in which the loops' turns began.
/// </summary>
/// <param name="Ms">Milliseconds of the monotonic clock.</param>
/// <param name="TurnStart">The timestamp at the start of the loop's turn that executes the request.</param>
internal readonly record struct Arrival(long Ms, long TurnStart)
{
    /// <summary>
    /// The arrival of the request that a session executes. Input that came earlier, and was held back behind a request that blocked or a pause, arrives
    /// when that ends, as in Redis.
    /// </summary>
    internal static Arrival Of(Session session, long turnStart) =>
        new((session.HasNewInput ? session.Connection?.LastReceivedMs : null) ?? turnStart / (Stopwatch.Frequency / 1000), turnStart);

    internal bool Precedes(Arrival other) => Ms < other.Ms || (Ms == other.Ms && TurnStart < other.TurnStart);
}
