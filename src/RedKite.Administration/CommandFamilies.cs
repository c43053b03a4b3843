using RedKite.Server.Commands.Arrays;
using RedKite.Server.Commands.Connection;
using RedKite.Server.Commands.Debug;
using RedKite.Server.Commands.Geo;
using RedKite.Server.Commands.Hashes;
using RedKite.Server.Commands.Keys;
using RedKite.Server.Commands.Lists;
using RedKite.Server.Commands.PubSub;
using RedKite.Server.Commands.Scripting;
using RedKite.Server.Commands.Server;
using RedKite.Server.Commands.Sets;
using RedKite.Server.Commands.SortedSets;
using RedKite.Server.Commands.Sorting;
using RedKite.Server.Commands.Streams;
using RedKite.Server.Commands.Strings;
using RedKite.Server.Commands.Transactions;
using RedKite.Server.Commands.VectorSets;
using RedKite.Server.Diagnostics;
using RedKite.Server.Model;

namespace RedKite.Server.Commands;

/// <summary>Every family of commands; a new one is added here, unless it belongs to an added type.</summary>
internal static class CommandFamilies
{
    /// <summary>The families of one server.</summary>
    /// <param name="parts">The parts that administrative commands report on and change.</param>
    /// <param name="libraries">The libraries of functions.</param>
    /// <param name="cluster">What is done as a node of a cluster.</param>
    internal static CommandFamily[] Of(ServerParts parts, FunctionLibraries libraries, ClusterCommands cluster) =>
    [
        StringCommands.Family,
        ConditionalStringCommands.Family,
        CounterCommands.Family,
        BoundedCounterCommands.Family,
        BitmapCommands.Family,
        BitFieldCommands.Family,
        HyperLogLogCommands.Family,
        SetCommands.Family,
        SetAlgebraCommands.Family,
        SetPopCommands.Family,
        SetScanCommands.Family,
        SortedSetCommands.Family,
        SortedSetRangeCommands.Family,
        SortedSetAlgebraCommands.Family,
        SortedSetPopCommands.Family,
        SortedSetScanCommands.Family,
        GeoCommands.Family,
        GeoSearchCommands.Family,
        ListCommands.Family,
        BlockingListCommands.Family,
        BlockingSortedSetCommands.Family,
        SortedSetMoveCommands.Family,
        SortCommands.Family,
        StreamCommands.Family,
        StreamRangeCommands.Family,
        StreamReadCommands.Family,
        StreamGroupCommands.Family,
        StreamPendingCommands.Family,
        StreamProducerCommands.Family,
        StreamRemovalCommands.Family,
        StreamInfoCommands.Family,
        HashCommands.Family,
        HashScanCommands.Family,
        HashImportCommands.Family,
        FieldExpiryCommands.Family,
        MemberExpiryCommands.Family,
        ArrayCommands.Family,
        ArrayInsertCommands.Family,
        ArrayRangeCommands.Family,
        ArraySearchCommands.Family,
        VectorSetCommands.Family,
        VectorSearchCommands.Family,
        VectorListCommands.Family,
        KeyCommands.Family,
        ExpiryCommands.Family,
        ScanCommands.Family,
        BlessCommands.Family,
        ObjectCommands.Family,
        new DumpCommands(parts.Core.Run, () => parts.Replicas.PayloadVersion).Family,
        new DumpCommands(parts.Core.Run, () => parts.Replicas.PayloadVersion).ClusterFamily,
        new MigrateCommands(parts.Migrations, parts.Core.Replication).Family,
        new ReplicationWaits(parts.Durability.Log, parts.Replicas).Family,
        new ReplicationCommands(parts.Replicas, parts.Core.Routing).Family,
        new AclCommands(parts.Core).Family,
        .. ScriptFamilies.Of(parts.Core, libraries, () => parts.Replicas.PayloadVersion),
        new TransactionCommands(parts.Core.Watched, parts.Core.Transactions).Family,
        new ConnectionCommands(parts.Core.Users, parts.Core.Watched).Family,
        new ClientCommands(parts.Core.Clients, parts.Core.Users, parts.Core.Pause, parts.EndPause, parts.Core.Timeline, new TrackingCommands(parts.Core.Clients, parts.Core.Tracking)).Family,
        new ServerCommands(new ServerInfo(parts), parts.Core.Script, parts.Core.Log, parts).KeyspaceFamily,
        new ServerCommands(new ServerInfo(parts), parts.Core.Script, parts.Core.Log, parts).Family,
        new ConfigCommands(parts.Core.Configuration, parts.Core.Users, () => parts.Core.Metrics, () =>
        {
            parts.Durability.ResetCounts();
            parts.Replicas.ResetCounts();
        }, parts.Core.Timeline, parts.Core.Attention).Family,
        IntrospectionCommands.Family,
        new DiagnosticsCommands(parts.Core.SlowLog, parts.Core.LatencyMonitor, () => parts.Core.Metrics, parts.Findings, new DebugCommand(parts.Core.Run, parts.Core.Keyless, parts.Core.Replication, parts.Core.Log, new PackageCommand(parts), new DebugReload(parts))).Family,
        cluster.ClientFamily,
        cluster.Family,
        cluster.SlotFamily,
        new StandaloneCommands(parts.Core.Log, new ReplicationInfo(parts.Core.Replication, parts.Replicas, parts.Core.Configuration, parts.Core.Clock)).Family,
        new RoleCommands(parts.Core.Replication, parts.Replicas.Failover, parts).Family,
        new PersistenceCommands(parts.Durability).Family,
        new BackupCommands(parts.Backup, parts).Family,
        new MonitorCommands(parts.Core.Monitors).Family,
        new SubscriptionCommands(parts.Core.Messages, parts.Core.Buffers).Family,
        new PublishingCommands(parts.Core.Messages).Family,
        new CommandLogCommands(parts).Family,
        new KeyStatisticsCommands(parts).Family,
        new HotKeysCommands(parts).Family,
        new MemoryCommands(() => parts.Core.Metrics, parts.Core.Buffers, parts.Findings, parts.Core.Script, parts.ReplicaStream).Family,
        .. AddedTypes.Families,
    ];
}
