using RedKite.Persistence.Files;
using RedKite.Persistence.Rdb;
using RedKite.Server.Durability;
using RedKite.Store.Keyspace;

namespace RedKite.Server.Replication;

/// <summary>What replication asks of what writes and loads data: the walk of a full synchronization on one side, the load of it on the other.</summary>
internal interface IReplicatedData
{
    IFiles Files { get; }

    /// <summary>Begins to write all data to replicas on another thread, unless a snapshot is being written.</summary>
    bool TryBeginSynchronization(Action work);

    /// <summary>Writes all data to replicas, on the thread of <see cref="TryBeginSynchronization"/>. The caller ends it.</summary>
    /// <param name="writer">Receives the data.</param>
    /// <param name="atSnapshotPoint">Called with all stripes locked; returns the position in the stream that the data belongs to.</param>
    /// <param name="version">The version of the form.</param>
    void WriteForReplicas(RdbFileWriter writer, Func<RdbReplication> atSnapshotPoint, int version);

    /// <summary>As <see cref="WriteForReplicas"/>, without keys.</summary>
    /// <param name="writer">Receives the data.</param>
    /// <param name="withRecords">Whether what is no key is written.</param>
    /// <param name="atSnapshotPoint">As there.</param>
    /// <param name="version">The version of the form.</param>
    void WriteKeylessForReplicas(RdbFileWriter writer, bool withRecords, Func<RdbReplication> atSnapshotPoint, int version);

    /// <summary>Writes the keys of some slots, on the thread of <see cref="TryBeginSynchronization"/>. The caller ends it.</summary>
    /// <param name="writer">Receives the data.</param>
    /// <param name="slots">The slots.</param>
    /// <param name="atSnapshotPoint">Called with all stripes locked.</param>
    void WriteSlots(RdbFileWriter writer, SlotSet slots, Action atSnapshotPoint);

    /// <summary>Waits until every command and script has ended that holds stripes now.</summary>
    /// <param name="givesUp">Whether to wait no longer. From any thread.</param>
    /// <returns>False: it has given up.</returns>
    bool TryBarrier(Func<bool> givesUp);

    /// <summary>The number of commands so far: see <see cref="WorkPace"/>.</summary>
    long ExecutedCommands { get; }

    /// <summary>Whether commands wait for the snapshot that is being written.</summary>
    bool SnapshotIsAwaited { get; }

    /// <summary>Whether the snapshot ends without having been written.</summary>
    bool SnapshotEnds { get; }

    /// <summary>Loads what a primary has sent in place of the old data.</summary>
    /// <param name="file">What was received, or arrives.</param>
    /// <param name="removeAll">Removes the old data.</param>
    /// <param name="loadKeyless">Loads what is no key, and returns what is wrong with it.</param>
    /// <param name="emptiesAfterFailure">Whether nothing of the data stays if loading fails.</param>
    /// <param name="cancellation">Ends loading early.</param>
    /// <returns>The position in a stream that the data names; null: none.</returns>
    /// <exception cref="IOException">The data is damaged or cannot be read.</exception>
    RdbReplication? LoadReceived(IOpenFile file, Action removeAll, Func<KeylessRecord, string?> loadKeyless, bool emptiesAfterFailure, CancellationToken cancellation);

    /// <summary>Loads beside the old data, which clients go on using, and then replaces it.</summary>
    /// <param name="file">The data.</param>
    /// <param name="shadow">Receives it.</param>
    /// <param name="replaceAll">Exchanges the data at the end, together with what is no key.</param>
    /// <param name="cancellation">Ends loading early.</param>
    /// <exception cref="IOException">The data is damaged or cannot be read: the old data is unchanged.</exception>
    void LoadBeside(ArrivingFile file, Database[] shadow, Action<List<KeylessRecord>, RdbReplication?> replaceAll, CancellationToken cancellation);

    /// <summary>Whether the data became another than that of the append-only file, and no base is in force that has it.</summary>
    bool LogLacksData { get; }

    /// <summary>Whether files that can be loaded have everything up to a position of a log.</summary>
    bool IsSynced(ISyncedLog? log, long position);
}
