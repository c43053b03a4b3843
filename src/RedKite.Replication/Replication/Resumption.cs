namespace RedKite.Server.Replication;

/// <summary>
/// What decides whether a replica goes on or gets all data: what it asks for, and what its primary makes of it. Without connections, locks and time, so that thousands of
/// schedules can be tried.
/// </summary>
internal static class Resumption
{
    /// <summary>The id of a replica that knows no history.</summary>
    internal const string Unknown = "?";

    /// <summary>What a replica asks for: a history, and the first byte that it wants, counted from 1.</summary>
    /// <param name="id">The id of the history of which it has the data; null: it has that of none.</param>
    /// <param name="offset">The offset of its data.</param>
    internal static (string Id, long First) Request(string? id, long offset) => id is null ? (Unknown, -1) : (id, offset + 1);

    /// <summary>Whether a stream that has released the bytes before one position and ends at another one can be read from an offset on.</summary>
    internal static bool IsKept(long offset, long released, long end) => offset >= released && offset <= end;

    /// <summary>Whether a replica may go on, if the stream is kept from there.</summary>
    /// <param name="ids">The ids of the primary.</param>
    /// <param name="id">The history that the replica knows.</param>
    /// <param name="first">The first byte that it wants, counted from 1.</param>
    internal static bool IsOfHistory(ReplicationIds ids, string id, long first) => first > 0 && ids.Names(id, first);
}
