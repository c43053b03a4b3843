using RedKite.Store.Memory;

namespace RedKite.Server.Replication;

/// <summary>
/// Which history the server's data has, and which primary it follows. The history's id and an offset in the stream name a state of the data
/// (<see cref="IStreamOffset"/>). From any thread.
/// </summary>
/// <remarks>
/// After a promotion the new primary has two ids: replicas of the old primary know its data by the second one, up to <see cref="ReplicationIds.SecondOffset"/>.
/// </remarks>
internal sealed class ReplicationState
{
    /// <summary>The version of payloads while there is no stream.</summary>
    internal const int NoStream = 0;

    /// <summary>The length of an id.</summary>
    internal const int IdLength = 40;

    /// <summary>The second id of a server that has none.</summary>
    internal const string NoId = "0000000000000000000000000000000000000000";

    private readonly Lock _lock = new();
    private volatile IReplicaLink? _link;
    private volatile ReplicationIds _ids = new(NewId(), NoId, -1);
    private volatile PrimaryAddress? _primary;

    /// <summary>The ids of now, which belong together.</summary>
    internal ReplicationIds Ids => _ids;

    /// <summary>Identifies the history of the data: master_replid.</summary>
    internal string Id => _ids.Id;

    /// <summary>The primary that the server follows; null: it is a primary itself.</summary>
    internal PrimaryAddress? Primary => _primary;

    internal bool IsReplica => _primary is not null;

    /// <summary>How far the link to the primary is; null: there is none.</summary>
    internal ReplicaLinkStatus? LinkStatus => _link?.Status();

    /// <summary>Names the link, or that there is none any more.</summary>
    internal void Use(IReplicaLink? link) => _link = link;

    /// <summary>How far the server's own stream has come; null: it has none yet.</summary>
    internal IStreamOffset? Stream { get; private set; }

    /// <summary>Names the server's stream, once, before anything is executed.</summary>
    internal void Use(IStreamOffset stream) => Stream = stream;

    /// <summary>What replies wait for with replica-acks.</summary>
    internal ReplicaAcks Acks { get; } = new();

    /// <summary>What the links to primaries have done so far.</summary>
    internal LinkCounts LinkCounts { get; } = new();

    /// <summary>Held while a replica executes a part of its primary's stream, until that is in its own stream: in between, the data is none of an offset.</summary>
    internal Lock Applying { get; } = new();

    /// <summary>The database that the primary's stream has selected. On a replica, with <see cref="Applying"/> held.</summary>
    internal int StreamDatabase { get; private set; }

    /// <summary>The stream has selected a database.</summary>
    internal void NoteSelected(int database) => StreamDatabase = database;

    /// <summary>Called after the server began to follow another primary, or became a primary: with no lock held, on the thread that changed it.</summary>
    internal event Action? RoleChanged;

    /// <summary>Called when the server has taken over its primary's id: its own replicas must learn it.</summary>
    internal event Action? HistoryChanged;

    /// <summary>Follows a primary from now on. The ids stay until it names its own.</summary>
    internal void FollowNew(string host, int port)
    {
        lock (_lock) _primary = new PrimaryAddress(host, port);
        RoleChanged?.Invoke();
    }

    /// <summary>Appends what is of no database to the stream, if the server is a primary: a change of the role comes before that or behind it, as a replica's stream is its primary's.</summary>
    /// <returns>The offset behind it; null: the server is a replica.</returns>
    internal long? AppendAsPrimary(Func<long> append)
    {
        lock (_lock) return _primary is null ? append() : null;
    }

    /// <summary>After a full synchronization: the data is the primary's, with the primary's id.</summary>
    internal void AdoptHistory(string id)
    {
        lock (_lock) _ids = ReplicationIds.Only(id);
        HistoryChanged?.Invoke();
    }

    /// <summary>After a partial resynchronization with a primary whose id is new: what was known by the old id up to an offset stays known by it.</summary>
    /// <param name="id">The new id.</param>
    /// <param name="offset">The offset of the data.</param>
    internal void AdoptId(string id, long offset)
    {
        lock (_lock)
        {
            if (id == _ids.Id) return;
            _ids = _ids.GoOnAs(id, offset);
        }

        HistoryChanged?.Invoke();
    }

    /// <summary>Becomes a primary: a new history begins at an offset, and the old id becomes the second one.</summary>
    /// <param name="offset">The offset of the data.</param>
    /// <param name="isKnown">Whether the data is that of the old id at the offset; what a load has left that was interrupted is not.</param>
    internal void Promote(long offset, bool isKnown)
    {
        lock (_lock)
        {
            _primary = null;
            _ids = isKnown ? _ids.GoOnAs(NewId(), offset) : ReplicationIds.Only(NewId());
        }

        RoleChanged?.Invoke();
    }

    /// <summary>The data is that of another history up to an offset, and a new one begins there: it was loaded from a file.</summary>
    internal void Continue(string id, long offset)
    {
        lock (_lock) _ids = ReplicationIds.Only(id).GoOnAs(_ids.Id, offset);
    }

    /// <summary>Begins a new history, which no replica knows.</summary>
    internal void ChangeId()
    {
        lock (_lock) _ids = ReplicationIds.Only(NewId());
    }

    private static string NewId() => Convert.ToHexStringLower(SecretBytes.New(IdLength / 2));
}

/// <summary>The ids of a history.</summary>
/// <param name="Id">The current id.</param>
/// <param name="SecondId">The id that the history had before.</param>
/// <param name="SecondOffset">The first offset that the second id does not name; -1: there is no second id.</param>
internal sealed record ReplicationIds(string Id, string SecondId, long SecondOffset)
{
    /// <summary>A history that has had a single id so far.</summary>
    internal static ReplicationIds Only(string id) => new(id, ReplicationState.NoId, -1);

    /// <summary>The history goes on under another id from an offset on.</summary>
    internal ReplicationIds GoOnAs(string id, long offset) => new(id, Id, offset + 1);

    /// <summary>Whether a replica that knows a history by this id has the same bytes before the one that it wants first.</summary>
    internal bool Names(string id, long first) =>
        id.Equals(Id, StringComparison.OrdinalIgnoreCase) || (id.Equals(SecondId, StringComparison.OrdinalIgnoreCase) && first <= SecondOffset);
}

/// <summary>Where a primary listens.</summary>
internal sealed record PrimaryAddress(string Host, int Port);
