using System.Diagnostics;
using RedKite.Server.Diagnostics;
using RedKite.Server.Metrics;
using RedKite.Store.Keyspace;

namespace RedKite.Server.Commands.Server;

/// <summary>INFO's stats section: counts since the start or the last CONFIG RESETSTAT.</summary>
internal static class StatsInfo
{
    internal static void Write(ServerParts parts, InfoText text)
    {
        ServerCore core = parts.Core;
        MetricsRegistry registry = core.Metrics;
        ServerTotals totals = ServerTotals.Of(registry);
        ServerMetrics stats = registry.Server;
        (double commands, double received, double sent) = stats.Rates;
        text.Section("Stats"u8);
        text.Line("total_connections_received"u8, stats.ConnectionsReceived);
        text.Line("total_commands_processed"u8, totals.Commands);
        text.Line("instantaneous_ops_per_sec"u8, (long)commands);
        text.Line("total_net_input_bytes"u8, totals.BytesReceived);
        text.Line("total_net_output_bytes"u8, totals.BytesSent);
        text.Line("total_net_repl_input_bytes"u8, 0);
        text.Line("total_net_repl_output_bytes"u8, parts.Replicas.StreamedBytesSinceReset);
        text.Line("instantaneous_input_kbps"u8, received / 1024, 2);
        text.Line("instantaneous_output_kbps"u8, sent / 1024, 2);
        text.Line("instantaneous_input_repl_kbps"u8, 0, 2);
        text.Line("instantaneous_output_repl_kbps"u8, 0, 2);
        text.Line("rejected_connections"u8, stats.ConnectionsRejected);
        (long full, long partial, long refused) = parts.Replicas.Counts.SinceReset;
        text.Line("sync_full"u8, full);
        text.Line("sync_partial_ok"u8, partial);
        text.Line("sync_partial_err"u8, refused);
        text.Line("expired_subkeys"u8, registry.Keyspace.ExpiredFields - stats.ExpiredFieldsAtReset);
        text.Line("expired_subkeys_active"u8, registry.Keyspace.SweptFields - stats.SweptFieldsAtReset);
        text.Line("expired_keys"u8, registry.Keyspace.ExpiredKeys - stats.ExpiredKeysAtReset);
        text.Line("expired_keys_active"u8, registry.Keyspace.SweptKeys - stats.SweptKeysAtReset);
        text.Line("expired_stale_perc"u8, StalePercent(registry), 2);
        text.Line("expired_time_cap_reached_count"u8, totals.SweepsCut);
        text.Line("expire_cycle_cpu_milliseconds"u8, totals.SweepTicks * 1000 / Stopwatch.Frequency);
        text.Line("evicted_keys"u8, totals.EvictedKeys);
        text.Line("evicted_clients"u8, stats.EvictedClients);
        text.Line("evicted_scripts"u8, core.Script.Figures().Evicted);
        text.Line("total_eviction_exceeded_time"u8, stats.ExceededMs);
        text.Line("current_eviction_exceeded_time"u8, stats.CurrentExceededMs);
        text.Line("keyspace_hits"u8, totals.KeyspaceHits);
        text.Line("keyspace_misses"u8, totals.KeyspaceMisses);
        text.Line("pubsub_channels"u8, core.Messages.Channels.Count);
        text.Line("pubsub_patterns"u8, core.Messages.Patterns);
        text.Line("pubsubshard_channels"u8, core.Messages.ShardChannels.Count);
        text.Line("latest_fork_usec"u8, (long)parts.Durability.LastSnapshotPoint.TotalMicroseconds);
        text.Line("total_forks"u8, parts.Durability.SnapshotPointsSinceReset);
        text.Line("migrate_cached_sockets"u8, parts.Migrations.IdleConnections);
        text.Line("slave_expires_tracked_keys"u8, core.LocalExpiries.Count);
        text.Line("active_defrag_hits"u8, totals.Defragmentation.Hits);
        text.Line("active_defrag_misses"u8, totals.Defragmentation.Misses);
        text.Line("active_defrag_key_hits"u8, totals.Defragmentation.KeyHits);
        text.Line("active_defrag_key_misses"u8, totals.Defragmentation.KeyMisses);
        text.Line("total_active_defrag_time"u8, totals.Defragmentation.Ticks * 1000 / Stopwatch.Frequency);
        text.Line("current_active_defrag_time"u8, 0); // work is not divided into runs that have a duration
        text.Line("tracking_total_keys"u8, core.Tracking.Keys);
        text.Line("tracking_total_items"u8, core.Tracking.Items);
        text.Line("tracking_total_prefixes"u8, core.Tracking.Prefixes);
        text.Line("unexpected_error_replies"u8, totals.UnexpectedErrorReplies);
        text.Line("total_error_replies"u8, totals.ErrorReplies);
        text.Line("dump_payload_sanitizations"u8, totals.PayloadsChecked);
        text.Line("total_reads_processed"u8, totals.Reads);
        text.Line("total_writes_processed"u8, totals.Writes);
        text.Line("io_threaded_reads_processed"u8, totals.ThreadedReads);
        text.Line("io_threaded_writes_processed"u8, totals.ThreadedWrites);
        text.Line("io_threaded_total_prefetch_batches"u8, 0); // every loop prefetches for itself, and does not count it
        text.Line("io_threaded_total_prefetch_entries"u8, 0);
        text.Line("client_query_buffer_limit_disconnections"u8, stats.QueryBufferDisconnections);
        text.Line("client_output_buffer_limit_disconnections"u8, stats.OutputBufferDisconnections);
        text.Line("reply_buffer_shrinks"u8, 0);
        text.Line("reply_buffer_expands"u8, 0);
        WriteLoops(registry, totals, text);
        text.Line("acl_access_denied_auth"u8, totals.AuthenticationsDenied);
        text.Line("acl_access_denied_cmd"u8, totals.CommandsDenied);
        text.Line("acl_access_denied_key"u8, totals.KeysDenied);
        text.Line("acl_access_denied_channel"u8, totals.ChannelsDenied);
        text.Line("acl_access_denied_tls_cert"u8, 0); // certificates do not name users
    }

    private static void WriteLoops(MetricsRegistry registry, in ServerTotals totals, InfoText text)
    {
        text.Line("eventloop_cycles"u8, totals.LoopCycles - registry.Server.LoopCyclesAtReset);
        text.Line("eventloop_duration_sum"u8, totals.LoopMicroseconds - registry.Server.LoopMicrosecondsAtReset);
        text.Line("eventloop_duration_cmd_sum"u8, CommandMicroseconds(registry));
        text.Line("instantaneous_eventloop_cycles_per_sec"u8, (long)registry.Server.LoopCyclesPerSecond);
        text.Line("instantaneous_eventloop_duration_usec"u8, (long)registry.Server.LoopCycleMicroseconds);
    }

    private static long CommandMicroseconds(MetricsRegistry registry)
    {
        long ns = 0;
        foreach (ExecutorMetrics metrics in registry.Executors) ns += metrics.CommandNs;
        return ns / 1000;
    }

    private static double StalePercent(MetricsRegistry registry)
    {
        double stale = 0;
        long keys = 0;
        foreach (Database database in registry.Keyspace.Databases)
        {
            stale += database.StaleKeys;
            keys += database.Expiring;
        }

        return keys == 0 ? 0 : stale * 100 / keys;
    }
}
