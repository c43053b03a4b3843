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

/// <summary>Every family of commands; a new one is added here.</summary>
internal static class CommandFamilies
{
    /// <summary>The families of one server.</summary>
    /// <param name="parts">The parts that administrative commands report on and change.</param>
    internal static CommandFamily[] Of(ServerParts parts) =>
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
        new DumpCommands(parts.Run, () => parts.Replicas.PayloadVersion).Family,
        new DumpCommands(parts.Run, () => parts.Replicas.PayloadVersion).ClusterFamily,
        new MigrateCommands(parts.Migrations, parts.Replication).Family,
        new ReplicationWaits(parts.Durability.Log, parts.Replicas).Family,
        new ReplicationCommands(parts.Replicas).Family,
        new AclCommands(parts).Family,
        .. ScriptFamilies.Of(parts),
        new TransactionCommands(parts.Watched, parts.Transactions).Family,
        new ConnectionCommands(parts.Users, parts.Watched).Family,
        new ClientCommands(parts.Clients, parts.Users, parts.Pause, parts.EndPause, parts.Timeline, new TrackingCommands(parts.Clients, parts.Tracking)).Family,
        new ServerCommands(new ServerInfo(parts), parts.Script, parts.Log, parts).KeyspaceFamily,
        new ServerCommands(new ServerInfo(parts), parts.Script, parts.Log, parts).Family,
        new ConfigCommands(parts.Configuration, () => parts.Metrics, () =>
        {
            parts.Durability.ResetCounts();
            parts.Replicas.ResetCounts();
        }, parts.Timeline, parts.Attention).Family,
        IntrospectionCommands.Family,
        new DiagnosticsCommands(parts.SlowLog, parts.LatencyMonitor, () => parts.Metrics, parts.Findings, new DebugCommand(parts.Run, parts.Replication, parts.Log, new PackageCommand(parts), new DebugReload(parts))).Family,
        StandaloneCommands.ClusterFamily,
        ClusterCommands.Family,
        ClusterCommands.SlotFamily,
        new StandaloneCommands(parts.Log, new ReplicationInfo(parts.Replication, parts.Replicas, parts.Configuration, parts.Clock)).Family,
        new RoleCommands(parts.Replication, parts.Replicas.Failover, parts).Family,
        new PersistenceCommands(parts.Durability).Family,
        new BackupCommands(parts.Backup, parts).Family,
        new MonitorCommands(parts.Monitors).Family,
        new SubscriptionCommands(parts.Messages, parts.Buffers).Family,
        new PublishingCommands(parts.Messages).Family,
        new CommandLogCommands(parts).Family,
        new KeyStatisticsCommands(parts).Family,
        new HotKeysCommands(parts).Family,
        new MemoryCommands(() => parts.Metrics, parts.Buffers, parts.Findings, parts.Script, parts.ReplicaStream).Family,
    ];
}
