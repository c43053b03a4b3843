namespace RedKite.Server.SlotMoves;

/// <summary>Bounds of moving slots.</summary>
internal static class SlotMoveLimits
{
    /// <summary>How a destination answers that it keeps what it has received; the store's revision of that follows.</summary>
    internal const string Promised = "+PROMISED ";

    /// <summary>The most bytes of data, and of effects, that wait for a destination.</summary>
    internal const long WaitingBytesMax = 256L << 20;

    /// <summary>How many moves are remembered.</summary>
    internal const int MovesKept = 64;

    /// <summary>How often the owner is tried to be changed before the move fails.</summary>
    internal const int HandoversMax = 5;

    /// <summary>The writes are held when less than this waits.</summary>
    internal const long CaughtUpBytes = 64 * 1024;

    /// <summary>How long the destination may take to receive nothing, or to answer.</summary>
    internal const int AnswerMsMax = 60_000;

    /// <summary>How long a source may send nothing before the destination ends the move: it would keep other moves waiting.</summary>
    internal const int SilenceMsMax = 600_000;

    /// <summary>How often a source that has nothing to send yet sends a PING.</summary>
    internal const int PingIntervalMs = 10_000;

    /// <summary>How long keys of an earlier move may take to be removed at the destination.</summary>
    internal const int RemovalMsMax = 60_000;
}
