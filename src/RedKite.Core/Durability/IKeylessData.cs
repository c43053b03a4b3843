using RedKite.Persistence.Rdb;

namespace RedKite.Server.Durability;

/// <summary>
/// Data of a server that is no key and must be where its keys are: in snapshots, in the log's base, and on replicas. It is a list of records, each of which one
/// command loads; a command removes them all. The log and replicas learn of changes by the commands that make them, as of changes of keys.
/// </summary>
/// <remarks>A kind is added to <see cref="KeylessData"/> when the server is made, and to nothing else.</remarks>
internal interface IKeylessData
{
    /// <summary>The kind's name in reports, in the plural.</summary>
    string Name { get; }

    /// <summary>What a record is called in errors: "a library of functions".</summary>
    string RecordName { get; }

    /// <summary>The form of a record in an RDB file.</summary>
    RdbRecordForm Form { get; }

    /// <summary>The number of records. From any thread.</summary>
    int Count { get; }

    /// <summary>The bytes of the records. From any thread.</summary>
    long Bytes { get; }

    /// <summary>The records now, in the order in which they are loaded. While the script mutex is held, or nothing is executed. They do not change afterwards.</summary>
    IEnumerable<byte[]> Records { get; }

    /// <summary>The request that loads a record.</summary>
    /// <param name="record">The record.</param>
    /// <param name="replaces">Whether it replaces one that is there; otherwise that is an error.</param>
    byte[][] LoadRequest(byte[] record, bool replaces);

    /// <summary>The request that removes all records.</summary>
    byte[][] ClearRequest { get; }

    /// <summary>The part of DEBUG DIGEST, the same on servers with equal records; empty: it has none. From any thread.</summary>
    ReadOnlyMemory<byte> Digest { get; }

    /// <summary>FLUSHALL has removed all keys: removes what does not outlive them. While the script mutex and all stripes are held.</summary>
    void KeysFlushed();
}
