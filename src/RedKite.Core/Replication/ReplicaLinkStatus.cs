namespace RedKite.Server.Replication;

/// <summary>How far the link to a primary is, in ROLE's words.</summary>
internal enum ReplicaLinkState : byte
{
    /// <summary>It will be connected: "connect".</summary>
    Connect,

    /// <summary>The connection is being opened: "connecting".</summary>
    Connecting,

    /// <summary>The connection is open, and both sides introduce themselves: "handshake".</summary>
    Handshake,

    /// <summary>The data is being received: "sync".</summary>
    Sync,

    /// <summary>The stream is being received: "connected".</summary>
    Connected,
}

/// <summary>The link of a replica to its primary, for INFO and ROLE.</summary>
/// <param name="State">How far it is.</param>
/// <param name="LastIoMs">Milliseconds since the primary last sent something; negative: never.</param>
/// <param name="ReadOffset">The offset up to which the stream was received.</param>
/// <param name="AppliedOffset">The offset up to which the stream was executed.</param>
/// <param name="DownMs">Milliseconds since the link was last connected; negative: it never was.</param>
/// <param name="AbsentMs">Milliseconds since the stream or data was last received, or since the server began to follow its primary.</param>
/// <param name="SyncTotalBytes">The length of the data that is being received; 0: it is not known; -1: the data has not begun.</param>
/// <param name="SyncReadBytes">The bytes of it that have been received.</param>
/// <param name="SyncLastIoMs">Milliseconds since some of it was received.</param>
/// <param name="BufferBytes">What was received of the stream while the data came on a second connection, and is not executed yet.</param>
/// <param name="BufferPeakBytes">The most of it in the last synchronization.</param>
internal readonly record struct ReplicaLinkStatus(
    ReplicaLinkState State,
    long LastIoMs,
    long ReadOffset,
    long AppliedOffset,
    long DownMs,
    long AbsentMs,
    long SyncTotalBytes,
    long SyncReadBytes,
    long SyncLastIoMs,
    long BufferBytes = 0,
    long BufferPeakBytes = 0);

/// <summary>The link to a primary.</summary>
internal interface IReplicaLink
{
    /// <summary>How far it is. From any thread.</summary>
    ReplicaLinkStatus Status();
}
