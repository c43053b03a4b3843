using RedKite.Server.Config;

namespace RedKite.Server.Diagnostics.Actions;

/// <summary>
/// Refuses new clients in a storm of connections, so that connected clients keep their speed: in each second of the clock, the first
/// `shed-connections-per-second` are admitted. All loops share the count; at the turn of a second it may be off by a few.
/// </summary>
internal sealed class ConnectionShedding(Settings settings, ActionLog actions)
{
    private long _second;
    private int _admitted;

    /// <summary>Whether a client that has just connected is to be refused.</summary>
    internal bool Refuses(long nowMs)
    {
        int max = settings.ShedConnectionsPerSecond;
        if (max == 0) return false;
        long second = nowMs / 1000;
        if (Interlocked.Exchange(ref _second, second) != second) Volatile.Write(ref _admitted, 0);
        if (Interlocked.Increment(ref _admitted) <= max) return false;
        actions.Note(ActionTable.ShedConnections, $"a new client was refused, because more than {max} have connected within a second");
        return true;
    }
}
