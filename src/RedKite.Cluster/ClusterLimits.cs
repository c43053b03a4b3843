namespace RedKite.Server.Cluster;

/// <summary>The limits of what a node keeps about its cluster.</summary>
internal static class ClusterLimits
{
    /// <summary>Nodes of a topology, and so its shards.</summary>
    internal const int NodesMax = 4096;

    /// <summary>Bytes of the document in the node's file.</summary>
    internal const int DocumentBytesMax = 16 * 1024 * 1024;

    /// <summary>Characters of an address or a name.</summary>
    internal const int TextMax = Config.SettingParsers.AnnouncedLengthMax;

    /// <summary>Events that a node remembers, and the characters of each.</summary>
    internal const int EventsKept = 128;

    /// <inheritdoc cref="EventsKept"/>
    internal const int EventTextMax = 500;

    /// <summary>Bytes of a node's report in the store (<see cref="NodeFigures"/>).</summary>
    internal const int FiguresBytesMax = 32 * 1024;
}

/// <summary>A topology, or a document with one, that breaks a rule. The message is one line.</summary>
internal sealed class TopologyException(string message) : Exception(message);
