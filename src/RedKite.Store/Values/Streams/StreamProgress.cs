namespace RedKite.Store.Values.Streams;

/// <summary>
/// How far a group has read its stream, counted in entries. The counter is exact as long as no entry that the group has still to
/// read was deleted; otherwise the distance follows from the stream's own counters where its entries have no gaps, and is unknown
/// where they may have.
/// </summary>
internal static unsafe class StreamProgress
{
    /// <summary>An unknown number of entries.</summary>
    internal const long Unknown = -1;

    /// <summary>
    /// The number of entries that the group has not read yet; null: unknown. As in Redis it is negative where a client has set
    /// the group's counter beyond the stream's.
    /// </summary>
    internal static long? Lag(StreamData* stream, StreamGroupData* group)
    {
        if (stream->Length == 0) return 0;

        // All deleted and all read entries are before the first one: every existing entry is still to be read.
        if (group->LastId < stream->FirstId && stream->MaxDeletedId < stream->FirstId) return stream->Length;

        long read = group->EntriesRead;
        if (read == Unknown || HasGapsFrom(stream, group->LastId)) read = EntriesUpTo(stream, group->LastId);
        return read == Unknown ? null : stream->EntriesAdded - read;
    }

    /// <summary>Moves a group on to an entry that it reads now.</summary>
    internal static void Advance(StreamData* stream, StreamGroupData* group, in StreamId id)
    {
        if (id <= group->LastId) return;
        bool counts = group->EntriesRead != Unknown && group->LastId >= stream->FirstId && !HasGapsFrom(stream, group->LastId);
        if (counts) group->EntriesRead++;
        else if (stream->EntriesAdded != 0) group->EntriesRead = EntriesUpTo(stream, id);
        group->LastId = id;
    }

    // Whether an entry at or above an id may have been deleted.
    private static bool HasGapsFrom(StreamData* stream, in StreamId id) =>
        stream->Length > 0 && !stream->MaxDeletedId.IsZero && id <= stream->MaxDeletedId;

    /// <summary>How many entries were ever added up to an id.</summary>
    internal static long EntriesUpTo(StreamData* stream, in StreamId id)
    {
        if (stream->EntriesAdded == 0) return 0;
        if (stream->Length == 0 && id <= stream->LastId) return stream->EntriesAdded;
        if (id == stream->LastId) return stream->EntriesAdded;
        if (id > stream->LastId) return Unknown;
        if (!stream->MaxDeletedId.IsZero && stream->MaxDeletedId >= stream->FirstId) return Unknown;
        if (id < stream->FirstId) return stream->EntriesAdded - stream->Length;
        return id == stream->FirstId ? stream->EntriesAdded - stream->Length + 1 : Unknown;
    }
}
