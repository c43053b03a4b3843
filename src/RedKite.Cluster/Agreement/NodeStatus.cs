using System.Buffers;
using System.Text.Json;

namespace RedKite.Server.Cluster.Agreement;

/// <summary>How far a node's data is.</summary>
/// <param name="History">The id of the replication history that it belongs to; empty: none that another node knows.</param>
/// <param name="Offset">The offset in it; -1: the data is not whole.</param>
/// <param name="Database">The database that the stream has selected there, if the position does not move any more.</param>
internal readonly record struct DataPosition(string History, long Offset, int Database = 0)
{
    internal static readonly DataPosition None = new("", -1);
}

/// <summary>What a node says of itself in the store, for as long as its lease lasts.</summary>
internal sealed record NodeStatus
{
    /// <summary>Its addresses and names as it announces them.</summary>
    internal required ClusterNode Node { get; init; }

    /// <summary>The life of its process.</summary>
    internal required string Incarnation { get; init; }

    /// <summary>The version of the topology that it goes by.</summary>
    internal long Version { get; init; }

    /// <summary>The version at which its shard was sealed that it has sealed its data for: the position does not move any more. 0: it has not.</summary>
    internal long SealedAt { get; init; }

    internal DataPosition Position { get; init; } = DataPosition.None;

    /// <summary>Whether it serves as a primary, as far as the topology says: its lease ends that, too.</summary>
    internal bool Serves { get; init; }

    /// <summary>Whether it never becomes a primary by itself (`cluster-replica-no-failover`).</summary>
    internal bool IsNoSuccessor { get; init; }

    /// <summary>Whether it has keys and is of no cluster yet: it does not become a replica by itself.</summary>
    internal bool HasKeysOfItsOwn { get; init; }

    internal byte[] Write()
    {
        var bytes = new ArrayBufferWriter<byte>();
        using (var json = new Utf8JsonWriter(bytes))
        {
            json.WriteStartObject();
            json.WriteNumber("format"u8, TopologyDocument.Format);
            TopologyDocument.WriteNode(json, "node", Node);
            json.WriteString("incarnation"u8, Incarnation);
            json.WriteNumber("version"u8, Version);
            json.WriteNumber("sealedAt"u8, SealedAt);
            json.WriteString("history"u8, Position.History);
            json.WriteNumber("offset"u8, Position.Offset);
            if (Position.Database > 0) json.WriteNumber("database"u8, Position.Database);
            json.WriteBoolean("serves"u8, Serves);
            json.WriteBoolean("noSuccessor"u8, IsNoSuccessor);
            json.WriteBoolean("ownKeys"u8, HasKeysOfItsOwn);
            json.WriteEndObject();
        }

        return bytes.WrittenSpan.ToArray();
    }

    /// <exception cref="TopologyException">It is no status of a node.</exception>
    internal static NodeStatus Read(ReadOnlyMemory<byte> bytes) => TopologyDocument.Parse(bytes, static root =>
    {
        TopologyDocument.CheckFormat(root, "node", "incarnation", "version", "sealedAt", "history", "offset", "database", "serves", "noSuccessor", "ownKeys");
        return new NodeStatus
        {
            Node = TopologyDocument.ReadNode(TopologyDocument.Member(root, "node")),
            Incarnation = TopologyDocument.Text(root, "incarnation"),
            Version = TopologyDocument.Member(root, "version").GetInt64(),
            SealedAt = TopologyDocument.Member(root, "sealedAt").GetInt64(),
            Position = new DataPosition(TopologyDocument.Text(root, "history"), TopologyDocument.Member(root, "offset").GetInt64(), root.TryGetProperty("database", out JsonElement database) ? database.GetInt32() : 0),
            Serves = TopologyDocument.Member(root, "serves").GetBoolean(),
            IsNoSuccessor = TopologyDocument.Member(root, "noSuccessor").GetBoolean(),
            HasKeysOfItsOwn = TopologyDocument.Member(root, "ownKeys").GetBoolean(),
        };
    });
}
