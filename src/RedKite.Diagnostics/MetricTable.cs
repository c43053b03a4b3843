using RedKite.Server.Diagnostics.Actions;
using RedKite.Server.Metrics;
using RedKite.Server.Model;
using RedKite.Server.Replication;
using static RedKite.Server.Diagnostics.MetricKind;
using static RedKite.Server.Diagnostics.MetricUnit;

namespace RedKite.Server.Diagnostics;

/// <summary>
/// Every metric, one row each: name, what exports call it (<see cref="ExportName"/>; null: they do not have it), kind, unit, meaning, and how it is
/// read. Everything that shows or exports metrics enumerates <see cref="All"/>; findings name the row. docs/reference/metrics.md is
/// generated from this table.
/// </summary>
internal static class MetricTable
{
    private static readonly List<Metric> Rows = [];

    // Load
    internal static readonly Metric CommandsProcessed = Row("total_commands_processed", "redkite.commands.processed", Counter, Count, "Commands executed.", o => o.Totals.Commands);
    internal static readonly Metric ErrorReplies = Row("total_error_replies", null, Counter, Count, "Error replies sent.", o => o.Totals.ErrorReplies);
    internal static readonly Metric NetInput = Row("total_net_input_bytes", "redkite.network.io{direction=receive}", Counter, Bytes, "Bytes received from clients.", o => o.Totals.BytesReceived);
    internal static readonly Metric NetOutput = Row("total_net_output_bytes", "redkite.network.io{direction=transmit}", Counter, Bytes, "Bytes sent to clients.", o => o.Totals.BytesSent);
    internal static readonly Metric Reads = Row("total_reads_processed", "redkite.network.operations{direction=receive}", Counter, Count, "Receives on connections.", o => o.Totals.Reads);
    internal static readonly Metric Writes = Row("total_writes_processed", "redkite.network.operations{direction=transmit}", Counter, Count, "Sends on connections.", o => o.Totals.Writes);
    internal static readonly Metric KeyspaceHits = Row("keyspace_hits", "redkite.keyspace.lookups{result=hit}", Counter, Count, "Lookups that found their key.", o => o.Totals.KeyspaceHits);
    internal static readonly Metric KeyspaceMisses = Row("keyspace_misses", "redkite.keyspace.lookups{result=miss}", Counter, Count, "Lookups that did not find their key.", o => o.Totals.KeyspaceMisses);
    internal static readonly Metric Changes = Row("keyspace_changes", "redkite.keyspace.changes", Counter, Count, "Changes to the data.", o => o.Totals.Changes);

    internal static readonly Metric KeysCalls = Row("keys_command_calls", null, Counter, Count, "Calls of KEYS, which walks over a whole database.", o => o.KeysCalls);

    // Latency of the last second
    internal static readonly Metric LatencyP50 = Row("command_latency_p50", "redkite.latency{phase=executing,percentile=50}", Gauge, Microseconds, "Median execution time of the last second's commands.", o => o.Latency.P50);
    internal static readonly Metric LatencyP99 = Row("command_latency_p99", "redkite.latency{phase=executing,percentile=99}", Gauge, Microseconds, "99th percentile of the last second's execution times.", o => o.Latency.P99);
    internal static readonly Metric LatencyP999 = Row("command_latency_p999", "redkite.latency{phase=executing,percentile=99.9}", Gauge, Microseconds, "99.9th percentile of the last second's execution times.", o => o.Latency.P999);
    internal static readonly Metric LatencyMax = Row("command_latency_max", "redkite.latency{phase=executing,percentile=100}", Gauge, Microseconds, "Longest execution time of the last second.", o => o.Latency.Max);

    internal static readonly Metric LongCallTime = Row("long_command_milliseconds", "redkite.latency.long_commands", Counter, Milliseconds, "Time of the commands that executed for more than 10 ms each, without their waiting for locks.", o => o.LongCallNs / 1e6);

    internal static readonly Metric WaitingP50 = Row("command_waiting_p50", "redkite.latency{phase=waiting,percentile=50}", Gauge, Microseconds, "Median time that the last second's commands waited for their turn on the loop, and for locks where that took long (sampled).", o => o.Waiting.P50);
    internal static readonly Metric WaitingP99 = Row("command_waiting_p99", "redkite.latency{phase=waiting,percentile=99}", Gauge, Microseconds, "99th percentile of the last second's waits (sampled).", o => o.Waiting.P99);
    internal static readonly Metric WaitingP999 = Row("command_waiting_p999", "redkite.latency{phase=waiting,percentile=99.9}", Gauge, Microseconds, "99.9th percentile of the last second's waits (sampled).", o => o.Waiting.P999);
    internal static readonly Metric WaitingMax = Row("command_waiting_max", "redkite.latency{phase=waiting,percentile=100}", Gauge, Microseconds, "Longest wait of the last second (sampled; all waits of 10 ms and more are seen).", o => o.Waiting.Max);
    internal static readonly Metric SendingP50 = Row("command_sending_p50", "redkite.latency{phase=sending,percentile=50}", Gauge, Microseconds, "Median time until the system had taken the replies of the last second's commands (sampled).", o => o.Sending.P50);
    internal static readonly Metric SendingP99 = Row("command_sending_p99", "redkite.latency{phase=sending,percentile=99}", Gauge, Microseconds, "99th percentile of the last second's sending times (sampled).", o => o.Sending.P99);
    internal static readonly Metric SendingP999 = Row("command_sending_p999", "redkite.latency{phase=sending,percentile=99.9}", Gauge, Microseconds, "99.9th percentile of the last second's sending times (sampled).", o => o.Sending.P999);
    internal static readonly Metric SendingMax = Row("command_sending_max", "redkite.latency{phase=sending,percentile=100}", Gauge, Microseconds, "Longest sending time of the last second (sampled).", o => o.Sending.Max);

    /// <summary>By the index in <see cref="CommandFamily.Groups"/>: the metrics of one family's commands.</summary>
    internal static readonly FamilyMetrics[] Families = [.. CommandFamily.Groups.Select((group, index) => FamilyRows(group, index))];

    // Loops and locks
    internal static readonly Metric LoopCycles = Row("eventloop_cycles", "redkite.eventloop.turns", Counter, Count, "Iterations of all event loops.", o => o.Totals.LoopCycles);
    internal static readonly Metric LoopTime = Row("eventloop_duration_sum", "redkite.eventloop.busy", Counter, Microseconds, "Time that all event loops worked.", o => o.Totals.LoopMicroseconds);
    internal static readonly Metric BusiestLoop = Row("eventloop_busiest_percent", "redkite.eventloop.utilization{loop=busiest}", Gauge, Percent, "Share of its time for which the busiest loop worked, without work in slices that it did because it had nothing else to do.", o => o.Loops.BusiestPercent);
    internal static readonly Metric LeastBusyLoop = Row("eventloop_least_busy_percent", "redkite.eventloop.utilization{loop=least_busy}", Gauge, Percent, "Share of its time for which the least busy loop worked, likewise.", o => o.Loops.LeastBusyPercent);
    internal static readonly Metric LongestIteration = Row("eventloop_longest_turn", "redkite.eventloop.longest_turn", Gauge, Microseconds, "Longest iteration of an event loop in the last second, of those that were timed.", o => o.Loops.LongestIterationMicroseconds);
    internal static readonly Metric LoopMessages = Row("eventloop_messages_waiting", "redkite.eventloop.waiting_messages", Gauge, Count, "Messages from other threads that wait for an event loop.", o => o.Loops.MessagesWaiting);
    internal static readonly Metric LockWaits = Row("stripe_lock_waits", "redkite.stripe.lock.waits", Counter, Count, "Times that a thread waited for a stripe's lock.", o => o.Stripes.Waits);
    internal static readonly Metric LockParks = Row("stripe_lock_parks", "redkite.stripe.lock.parks", Counter, Count, "Times that a thread waited so long for a stripe's lock that it slept.", o => o.Stripes.Parks);
    internal static readonly Metric LockWaited = Row("stripe_lock_waited_milliseconds", "redkite.stripe.lock.waited", Counter, Milliseconds, "Time that threads waited for stripes' locks.", o => o.Stripes.WaitedMs);
    internal static readonly Metric HottestStripe = Row("stripe_hottest_held_percent", "redkite.stripe.hottest_held", Gauge, Percent, "Share of samples in which the most contended stripe was locked.", o => o.Stripes.HottestHeldPercent);
    internal static readonly Metric LargestStripe = Row("stripe_largest_share", "redkite.stripe.largest_share", Gauge, Ratio, "Memory of the largest stripe relative to an even share.", o => o.Stripes.LargestMemoryShare);

    // Clients
    internal static readonly Metric ConnectedClients = Row("connected_clients", "redkite.clients.connected", Gauge, Count, "Connected clients.", o => o.ConnectedClients);
    internal static readonly Metric Subscribers = Row("pubsub_clients", "redkite.clients.subscribed", Gauge, Count, "Clients with subscriptions.", o => o.Messages.Subscribers);
    internal static readonly Metric Channels = Row("pubsub_channels", "redkite.pubsub.channels{kind=global}", Gauge, Count, "Channels with subscribers.", o => o.Messages.Channels);
    internal static readonly Metric ShardChannels = Row("pubsubshard_channels", "redkite.pubsub.channels{kind=sharded}", Gauge, Count, "Sharded channels with subscribers.", o => o.Messages.ShardChannels);
    internal static readonly Metric Patterns = Row("pubsub_patterns", "redkite.pubsub.patterns", Gauge, Count, "Patterns with subscribers.", o => o.Messages.Patterns);
    internal static readonly Metric MessagesPublished = Row("pubsub_messages_published", "redkite.pubsub.messages.published", Counter, Count, "Messages that were published.", o => o.Messages.Published);
    internal static readonly Metric MessagesDelivered = Row("pubsub_messages_delivered", "redkite.pubsub.messages.delivered", Counter, Count, "Messages that were delivered, for each receiver.", o => o.Messages.Delivered);
    internal static readonly Metric SubscribersClosed = Row("pubsub_output_limit_disconnections", "redkite.pubsub.clients_closed", Counter, Count, "Subscribers closed at their output limit.", o => o.Server.SubscriberDisconnections);
    internal static readonly Metric TrackingClients = Row("tracking_clients", "redkite.clients.tracking", Gauge, Count, "Clients that use client-side caching (CLIENT TRACKING).", o => o.Messages.TrackingClients);
    internal static readonly Metric TrackedKeys = Row("tracking_total_keys", "redkite.tracking.keys", Gauge, Count, "Keys that clients may have cached.", o => o.Messages.TrackedKeys);
    internal static readonly Metric TrackedItems = Row("tracking_total_items", "redkite.tracking.items", Gauge, Count, "Pairs of such a key and a client.", o => o.Messages.TrackedItems);
    internal static readonly Metric TrackedPrefixes = Row("tracking_total_prefixes", "redkite.tracking.prefixes", Gauge, Count, "Key prefixes for which clients receive invalidations (CLIENT TRACKING BCAST).", o => o.Messages.TrackedPrefixes);
    internal static readonly Metric Invalidations = Row("tracking_invalidations_sent", "redkite.tracking.invalidations", Counter, Count, "Invalidation messages sent to clients.", o => o.Messages.Invalidations);
    internal static readonly Metric WatchingClients = Row("watching_clients", "redkite.clients.watching", Gauge, Count, "Clients that watch keys.", o => o.WatchingClients);
    internal static readonly Metric WatchedKeys = Row("total_watched_keys", "redkite.watched_keys", Gauge, Count, "Keys that clients watch.", o => o.WatchedKeys);
    internal static readonly Metric MigratedKeys = Row("migrate_keys_accepted", "redkite.migrations.keys", Counter, Count, "Keys that targets of MIGRATE have accepted, each time they were sent.", o => o.Migrations.Keys);
    internal static readonly Metric MigrationTransfers = Row("migrate_transfers", "redkite.migrations.transfers", Counter, Count, "Transfers of MIGRATE; a command has one or several.", o => o.Migrations.Transfers);
    internal static readonly Metric MigrationFailures = Row("migrate_transfers_failed", "redkite.migrations.failures", Counter, Count, "Transfers of MIGRATE that failed: the target was not reached, did not answer, or refused something.", o => o.Migrations.Failures);
    internal static readonly Metric Transactions = Row("transactions_executed", "redkite.transactions{result=executed}", Counter, Count, "Transactions that EXEC executed.", o => o.TransactionsExecuted);
    internal static readonly Metric TransactionsRefused = Row("transactions_refused", "redkite.transactions{result=refused}", Counter, Count, "Transactions that EXEC refused: a watched key had changed, or a command could not be queued.", o => o.TransactionsRefused);
    internal static readonly Metric Scripts = Row("scripts_executed", "redkite.scripts.executed", Counter, Count, "Scripts and functions that were run.", o => o.ScriptsExecuted);
    internal static readonly Metric ScriptsKilled = Row("scripts_killed", "redkite.scripts.killed", Counter, Count, "Scripts and functions that SCRIPT KILL and FUNCTION KILL ended.", o => o.ScriptsKilled);
    internal static readonly Metric LongestScript = Row("script_max_microseconds", "redkite.scripts.longest_run", Gauge, Microseconds, "The longest run of a script or function that ended within the last second, or how long the running one has run.", o => o.LongestScriptMicroseconds);
    internal static readonly Metric CachedScripts = Row("number_of_cached_scripts", "redkite.scripts.cached", Gauge, Count, "Cached scripts.", o => o.ScriptFigures.Scripts);
    internal static readonly Metric Functions = Row("number_of_functions", "redkite.scripts.functions", Gauge, Count, "Functions of libraries.", o => o.ScriptFigures.Functions);
    internal static readonly Metric ScriptMemory = Row("used_memory_vm_total", "redkite.scripts.memory", Gauge, Bytes, "Memory of the interpreters of scripts and functions.", o => o.ScriptFigures.EvalBytes + o.ScriptFigures.FunctionBytes);
    internal static readonly Metric LargestTransaction = Row("transaction_commands_max", "redkite.transaction.largest", Gauge, Count, "Commands of the last second's largest transaction.", o => o.LargestTransaction);
    internal static readonly Metric MaxClients = Row("maxclients", "redkite.clients.limit", Gauge, Count, "The limit of connected clients.", o => o.MaxClients);
    internal static readonly Metric Blocked = Row("blocked_clients", "redkite.clients.blocked", Gauge, Count, "Clients whose command blocks, or that CLIENT PAUSE holds.", o => o.Blocked.Clients);
    internal static readonly Metric SuspendedClients = Row("suspended_clients", "redkite.clients.suspended", Gauge, Count, "Clients that the server has stopped reading from because they do not read their replies.", o => o.Totals.SuspendedClients);
    internal static readonly Metric OutputBytes = Row("client_output_bytes", "redkite.clients.output", Gauge, Bytes, "Bytes that wait to be sent to clients.", o => o.Totals.OutputBytes);
    internal static readonly Metric LargestInput = Row("client_largest_input_bytes", "redkite.clients.largest_input", Gauge, Bytes, "The largest unfinished request.", o => o.Totals.RecentInputBytesMax);
    internal static readonly Metric LargestOutput = Row("client_largest_output_bytes", "redkite.clients.largest_output", Gauge, Bytes, "The largest output that waits to be sent to one client.", o => o.Totals.RecentOutputBytesMax);
    internal static readonly Metric ConnectionsReceived = Row("total_connections_received", "redkite.connections.received", Counter, Count, "Connections accepted.", o => o.Server.ConnectionsReceived);
    internal static readonly Metric ConnectionsRejected = Row("rejected_connections", "redkite.connections.rejected", Counter, Count, "Connections refused, because of maxclients, protected mode or shed-connections-per-second.", o => o.Server.ConnectionsRejected);
    internal static readonly Metric OutputDisconnections = Row("client_output_buffer_limit_disconnections", "redkite.clients.closed{reason=output_limit}", Counter, Count, "Clients closed at their output limit.", o => o.Server.OutputBufferDisconnections);
    internal static readonly Metric QueryDisconnections = Row("client_query_buffer_limit_disconnections", "redkite.clients.closed{reason=request_limit}", Counter, Count, "Clients closed because a request was too large.", o => o.Server.QueryBufferDisconnections);
    internal static readonly Metric EvictedClients = Row("evicted_clients", "redkite.clients.closed{reason=memory_limit}", Counter, Count, "Clients closed because all together exceeded maxmemory-clients.", o => o.Server.EvictedClients);
    internal static readonly Metric AuthenticationsDenied = Row("acl_access_denied_auth", "redkite.acl.denied{reason=auth}", Counter, Count, "Failed logins.", o => o.Totals.AuthenticationsDenied);
    internal static readonly Metric CommandsDenied = Row("acl_access_denied_cmd", "redkite.acl.denied{reason=command}", Counter, Count, "Commands that their users may not execute.", o => o.Totals.CommandsDenied);
    internal static readonly Metric KeysDenied = Row("acl_access_denied_key", "redkite.acl.denied{reason=key}", Counter, Count, "Commands with keys that their users may not access.", o => o.Totals.KeysDenied);
    internal static readonly Metric ChannelsDenied = Row("acl_access_denied_channel", "redkite.acl.denied{reason=channel}", Counter, Count, "Commands with channels that their users may not access.", o => o.Totals.ChannelsDenied);

    internal static readonly Metric LoginsRefused = Row("logins_refused", "redkite.acl.logins_refused", Counter, Count, "Logins refused because too many from the address had failed.", o => o.Users.LoginsRefused);
    internal static readonly Metric Users = Row("acl_users", "redkite.acl.users", Gauge, Count, "Users, the default one included.", o => o.Users.All);
    internal static readonly Metric OpenUsers = Row("acl_users_without_password", "redkite.acl.open_users", Gauge, Count, "Users, except the default one, that are on and need no password.", o => o.Users.Open);
    internal static readonly Metric DefaultUserOpen = Row("acl_default_user_open", "redkite.acl.default_user_open", Gauge, Count, "Whether clients need not log in: 1, or 0.", o => o.Users.IsDefaultOpen ? 1 : 0);
    internal static readonly Metric TlsHandshakes = Row("tls_handshakes", "redkite.tls.handshakes{result=completed}", Counter, Count, "TLS handshakes that succeeded.", o => o.Tls.Completed);
    internal static readonly Metric TlsHandshakesFailed = Row("tls_handshakes_failed", "redkite.tls.handshakes{result=failed}", Counter, Count, "TLS handshakes that failed or took longer than tls-handshake-timeout.", o => o.Tls.Failed);
    internal static readonly Metric TlsHandshakesRefused = Row("tls_handshakes_refused", "redkite.tls.handshakes{result=refused}", Counter, Count, "Connections closed because tls-handshakes-max handshakes were in progress.", o => o.Tls.Refused);
    internal static readonly Metric TlsHandshakesInProgress = Row("tls_handshakes_in_progress", "redkite.tls.pending_handshakes", Gauge, Count, "TLS handshakes in progress.", o => o.Tls.InProgress);
    internal static readonly Metric TlsCertificateTime = Row("tls_certificate_seconds", "redkite.tls.certificate_time_left", Gauge, Seconds, "Time until the certificate of the TLS port expires.", o => o.Tls.CertificateSeconds);

    // Limits of what clients can make the server keep
    internal static readonly Metric EvictedScripts = Row("evicted_scripts", "redkite.scripts.evicted", Counter, Count, "Scripts dropped from the cache because EVAL had loaded more than 500.", o => o.ScriptFigures.Evicted);
    internal static readonly IReadOnlyList<Metric> Limits = [.. LimitTable.Rows.Where(row => row.Counter is not null).Select(row => Row(row.MetricName, $"redkite.limit.hits{{limit={row.MetricName["limit_".Length..]}}}", Counter, Count, row.Help, o => o.Server.Limits[row.Counter!.Value]))];

    // Data
    internal static readonly Metric Keys = Row("keys", "redkite.keyspace.keys", Gauge, Count, "Keys in all databases.", o => o.Keys);
    internal static readonly Metric LargestKey = Row("largest_key_bytes", "redkite.keyspace.largest_key", Gauge, Bytes, "Memory of the largest key, as the last survey saw it.", o => o.LargestKeyBytes);
    internal static readonly Metric LargestDocument = Row("largest_document_bytes", "redkite.keyspace.largest_document", Gauge, Bytes, "Memory of the largest JSON document, as the last survey saw it.", o => o.LargestDocumentBytes);
    internal static readonly Metric HottestKey = Row("hottest_key_percent", "redkite.keyspace.hottest_key_share", Gauge, Percent, "Share of the requests with keys that used the hottest key, in the last ten seconds (sampled).", o => o.HottestKeyPercent);
    internal static readonly Metric ExpiringKeys = Row("expires", "redkite.keyspace.expiring_keys", Gauge, Count, "Keys that have an expiry.", o => o.ExpiringKeys);
    internal static readonly Metric ExpiredKeys = Row("expired_keys", "redkite.keyspace.removed_keys{reason=expired}", Counter, Count, "Keys removed because they had expired.", o => o.ExpiredKeys);
    internal static readonly Metric ExpiredFields = Row("expired_subkeys", "redkite.keyspace.expired_fields", Counter, Count, "Hash fields removed because they had expired.", o => o.ExpiredFields);

    internal static readonly Metric ExpiredStale = Row("expired_stale_perc", "redkite.keyspace.stale_keys", Gauge, Percent, "Estimated share of the keys with an expiry that have expired but are not removed yet.", o => o.ExpiredStalePercent);

    internal static readonly Metric EvictedKeys = Row("evicted_keys", "redkite.keyspace.removed_keys{reason=evicted}", Counter, Count, "Keys removed because memory exceeded maxmemory.", o => o.Totals.EvictedKeys);
    internal static readonly Metric EvictedYoungKeys = Row("evicted_young_keys", "redkite.keyspace.evicted_young_keys", Counter, Count, "Keys removed because memory exceeded maxmemory although they had been used within the last minute.", o => o.Totals.EvictedYoungKeys);
    internal static readonly Metric VectorSearches = Row("vector_searches", "redkite.vectors.searches", Counter, Count, "Searches of vector sets that have ended: of VSIM, and of VADD for neighbours.", o => o.Totals.VectorSearches);
    internal static readonly Metric VectorBytesRead = Row("vector_bytes_read", "redkite.vectors.read", Counter, Bytes, "Bytes of vectors and links that these searches read.", o => o.Totals.VectorBytesRead);
    internal static readonly Metric FilterAdditionsRefused = Row("filter_additions_refused", "redkite.filters.refused_additions", Counter, Count, "Elements that a Bloom or cuckoo filter had no room for.", o => o.Totals.FilterAdditionsRefused);
    internal static readonly Metric SeriesSamples = Row("series_samples", "redkite.series.samples", Counter, Count, "Samples stored in time series.", o => o.Totals.SeriesSamples);
    internal static readonly Metric SeriesSamplesLate = Row("series_samples_late", "redkite.series.late_samples", Counter, Count, "Samples stored in time series that were not newer than all others there, so that a chunk was rewritten.", o => o.Totals.SeriesSamplesLate);

    // Memory
    internal static readonly Metric UsedMemory = Row("used_memory", "redkite.memory.used", Gauge, Bytes, "Memory in use: the process itself, data, tables, connections, scripts.", o => o.Memory.Used);
    internal static readonly Metric Resident = Row("used_memory_rss", "redkite.memory.resident", Gauge, Bytes, "Resident memory of the process.", o => o.Memory.Resident);
    internal static readonly Metric PeakMemory = Row("used_memory_peak", "redkite.memory.peak", Gauge, Bytes, "Peak memory in use.", o => o.Memory.Peak);
    internal static readonly Metric Dataset = Row("used_memory_dataset", "redkite.memory.dataset", Gauge, Bytes, "Memory of keys and values.", o => o.Memory.Dataset);
    internal static readonly Metric TableBytes = Row("table_bytes", "redkite.memory.tables", Gauge, Bytes, "Memory of the keyspace's tables.", o => o.Memory.Tables);
    internal static readonly Metric BufferBytes = Row("mem_clients_normal", "redkite.memory.clients", Gauge, Bytes, "Memory of connections and their buffers.", o => o.Memory.Clients);
    internal static readonly Metric AllocatorAllocated = Row("allocator_allocated", "redkite.allocator.allocated", Gauge, Bytes, "Memory of blocks in use.", o => o.Memory.Allocated);
    internal static readonly Metric AllocatorActive = Row("allocator_active", "redkite.allocator.active", Gauge, Bytes, "Memory that the store holds from the system.", o => o.Memory.Active);
    internal static readonly Metric DefragmentedBlocks = Row("active_defrag_hits", "redkite.defragmentation.moved_blocks", Counter, Count, "Blocks that active defragmentation moved.", o => o.Totals.Defragmentation.Hits);
    internal static readonly Metric DefragmentationShare = Row("active_defrag_running", "redkite.defragmentation.share", Gauge, Percent, "Share of a loop's time that active defragmentation may take now.", o => o.Totals.DefragmentationCpuPercent);
    internal static readonly Metric MaxMemory = Row("maxmemory", "redkite.memory.limit", Gauge, Bytes, "The limit of memory; 0: none.", o => o.MaxMemoryBytes);

    internal static readonly Metric MemoryExceeded = Row("total_eviction_exceeded_time", "redkite.memory.exceeded", Counter, Milliseconds, "Time that memory exceeded maxmemory after eviction.", o => o.Server.ExceededMs);
    internal static readonly Metric MemoryRefusals = Row("maxmemory_refused_commands", "redkite.commands.refused{reason=maxmemory}", Counter, Count, "Commands refused with OOM, because memory exceeds maxmemory.", o => o.MemoryRefusals);

    // The runtime
    internal static readonly Metric ManagedHeap = Row("managed_heap_bytes", "redkite.dotnet.heap", Gauge, Bytes, "Managed heap in use after the last collection.", o => o.Runtime.HeapBytes);
    internal static readonly Metric ManagedCommitted = Row("managed_committed_bytes", "redkite.dotnet.committed", Gauge, Bytes, "Memory that the managed heap has committed.", o => o.Runtime.CommittedBytes);
    internal static readonly Metric Allocated = Row("managed_allocated_bytes", "redkite.dotnet.allocated", Counter, Bytes, "Bytes allocated on the managed heap.", o => o.Runtime.AllocatedBytes);
    internal static readonly Metric Collections0 = Row("gc_gen0_collections", "redkite.dotnet.gc.collections{generation=0}", Counter, Count, "Garbage collections of generation 0.", o => o.Runtime.Gen0);
    internal static readonly Metric Collections1 = Row("gc_gen1_collections", "redkite.dotnet.gc.collections{generation=1}", Counter, Count, "Garbage collections of generation 1.", o => o.Runtime.Gen1);
    internal static readonly Metric Collections2 = Row("gc_gen2_collections", "redkite.dotnet.gc.collections{generation=2}", Counter, Count, "Garbage collections of generation 2.", o => o.Runtime.Gen2);
    internal static readonly Metric PauseTime = Row("gc_pause_milliseconds", "redkite.dotnet.gc.pause", Counter, Milliseconds, "Time that garbage collections stopped all threads.", o => o.Runtime.PauseMs);
    internal static readonly Metric ThreadPoolThreads = Row("threadpool_threads", "redkite.dotnet.thread_pool.threads", Gauge, Count, "Threads of the thread pool.", o => o.Runtime.PoolThreads);
    internal static readonly Metric ThreadPoolQueue = Row("threadpool_queue", "redkite.dotnet.thread_pool.queue", Gauge, Count, "Work items that wait for the thread pool.", o => o.Runtime.PoolQueue);

    // The process
    internal static readonly Metric CpuUser = Row("used_cpu_user", "redkite.process.cpu.time{mode=user}", Counter, Seconds, "CPU time of the process in user mode.", o => o.Runtime.CpuUserSeconds);
    internal static readonly Metric CpuSystem = Row("used_cpu_sys", "redkite.process.cpu.time{mode=system}", Counter, Seconds, "CPU time of the process in the kernel.", o => o.Runtime.CpuSystemSeconds);
    internal static readonly Metric OpenFiles = Row("process_open_files", "redkite.process.open_files", Gauge, Count, "Open files and sockets of the process.", o => o.Machine.OpenFiles);
    internal static readonly Metric OpenFilesMax = Row("process_open_files_max", "redkite.process.open_files_limit", Gauge, Count, "The system's limit of open files for the process.", o => o.Machine.OpenFilesMax);
    internal static readonly Metric MajorFaults = Row("process_major_faults", "redkite.process.major_faults", Counter, Count, "Page faults of the process that read from disk.", o => o.Machine.MajorFaults);
    internal static readonly Metric SwapBytes = Row("process_swap_bytes", "redkite.process.swap", Gauge, Bytes, "Memory of the process that is swapped out.", o => o.Machine.SwapBytes);
    internal static readonly Metric Uptime = Row("uptime_in_seconds", "redkite.uptime", Gauge, Seconds, "Time since the server started.", o => o.UptimeSeconds);

    // The machine
    internal static readonly Metric MachineCpu = Row("system_cpu_percent", "redkite.system.cpu.utilization", Gauge, Percent, "Use of all CPUs of the machine.", o => o.Machine.CpuPercent);
    internal static readonly Metric MachineSteal = Row("system_cpu_steal_percent", "redkite.system.cpu.steal", Gauge, Percent, "CPU time that the hypervisor gave to other machines.", o => o.Machine.StealPercent);
    internal static readonly Metric MachineMemory = Row("total_system_memory", "redkite.system.memory.limit", Gauge, Bytes, "Memory of the machine.", o => o.Machine.MemoryTotalBytes);
    internal static readonly Metric MachineAvailable = Row("system_memory_available", "redkite.system.memory.available", Gauge, Bytes, "Memory that the machine can provide without swapping.", o => o.Machine.MemoryAvailableBytes);
    internal static readonly Metric MachineSwapUsed = Row("system_swap_used", "redkite.system.swap.used", Gauge, Bytes, "Swap space in use on the machine.", o => o.Machine.SwapUsedBytes);
    internal static readonly Metric CpuPressure = Row("pressure_cpu_percent", "redkite.system.pressure{resource=cpu}", Gauge, Percent, "Share of time that some task waited for a CPU (PSI, 10 s).", o => o.Machine.CpuPressure);
    internal static readonly Metric MemoryPressure = Row("pressure_memory_percent", "redkite.system.pressure{resource=memory}", Gauge, Percent, "Share of time that some task waited for memory (PSI, 10 s).", o => o.Machine.MemoryPressure);
    internal static readonly Metric IoPressure = Row("pressure_io_percent", "redkite.system.pressure{resource=io}", Gauge, Percent, "Share of time that some task waited for disks (PSI, 10 s).", o => o.Machine.IoPressure);
    internal static readonly Metric CgroupMemoryLimit = Row("cgroup_memory_limit", "redkite.container.memory.limit", Gauge, Bytes, "The container's memory limit.", o => o.Machine.CgroupMemoryLimitBytes);
    internal static readonly Metric CgroupMemory = Row("cgroup_memory_used", "redkite.container.memory.used", Gauge, Bytes, "Memory of the container, without the pages of files that the kernel can drop.", o => o.Machine.CgroupMemoryBytes);
    internal static readonly Metric CgroupCpuLimit = Row("cgroup_cpu_limit", "redkite.container.cpu.limit", Gauge, Count, "CPUs that the container may use.", o => o.Machine.CgroupCpus);
    internal static readonly Metric Throttled = Row("cgroup_throttled_seconds", "redkite.container.cpu.throttled", Counter, Seconds, "Time that the container was stopped because it had used its share of CPU.", o => o.Machine.ThrottledSeconds);
    internal static readonly Metric DiskReadBytes = Row("disk_read_bytes", "redkite.disk.io{direction=read}", Counter, Bytes, "Bytes read from the data folder's disk, by all processes.", o => o.Machine.DiskReadBytes);
    internal static readonly Metric DiskWriteBytes = Row("disk_written_bytes", "redkite.disk.io{direction=write}", Counter, Bytes, "Bytes written to the data folder's disk, by all processes.", o => o.Machine.DiskWrittenBytes);
    internal static readonly Metric DiskBusy = Row("disk_busy_milliseconds", "redkite.disk.busy", Counter, Milliseconds, "Time that the data folder's disk worked.", o => o.Machine.DiskBusyMs);
    internal static readonly Metric DiskReadLatency = Row("disk_read_latency", "redkite.disk.latency{direction=read}", Gauge, Microseconds, "How long a read from the data folder's disk took on average in the last second; unknown without one.", o => o.Machine.DiskReadMicroseconds);
    internal static readonly Metric DiskWriteLatency = Row("disk_write_latency", "redkite.disk.latency{direction=write}", Gauge, Microseconds, "How long a write to the data folder's disk took on average in the last second; unknown without one.", o => o.Machine.DiskWriteMicroseconds);
    internal static readonly Metric DiskFree = Row("disk_free_bytes", "redkite.disk.free", Gauge, Bytes, "Free space of the data folder's disk.", o => o.Machine.DiskFreeBytes);
    internal static readonly Metric ClockJump = Row("clock_jump_milliseconds", "redkite.system.clock_jump", Gauge, Milliseconds, "How far the wall clock moved against the monotonic clock in the last second.", o => o.Machine.ClockJumpMs);
    internal static readonly Metric Stall = Row("process_stall_milliseconds", "redkite.process.stall", Gauge, Milliseconds, "How much later than planned the sampling thread woke in the last second, at worst.", o => o.Machine.StallMs);

    // Durability: the append-only file, snapshots, and commands that write and must wait or are refused
    internal static readonly Metric LogBytes = Row("aof_written_bytes", "redkite.aof.written", Counter, Bytes, "Bytes written to the append-only file.", o => o.Durability.LogBytes);
    internal static readonly Metric LogWrites = Row("aof_writes", "redkite.aof.writes", Counter, Count, "Writes to the append-only file, each of everything that was complete.", o => o.Durability.LogWrites);
    internal static readonly Metric LogSyncs = Row("aof_syncs", "redkite.aof.syncs", Counter, Count, "Syncs of the append-only file.", o => o.Durability.LogSyncs);
    internal static readonly Metric LogSyncP99 = Row("aof_sync_p99", "redkite.aof.sync_latency{percentile=99}", Gauge, Microseconds, "99th percentile of the syncs that ended within the last second.", o => o.Durability.LogSync.P99);
    internal static readonly Metric LogSyncMax = Row("aof_sync_max", "redkite.aof.sync_latency{percentile=100}", Gauge, Microseconds, "Longest sync that ended within the last second, or how long the one in progress has taken.", o => o.Durability.LogSync.Max);
    internal static readonly Metric LogPending = Row("aof_buffer_length", "redkite.aof.buffer", Gauge, Bytes, "Bytes of the append-only file that wait in memory to be written.", o => o.Durability.LogPendingBytes);
    internal static readonly Metric LogDelayedSyncs = Row("aof_delayed_fsync", "redkite.aof.delayed_syncs", Counter, Count, "Times that commands that write waited because a sync took more than two seconds.", o => o.Durability.LogDelayedSyncs);
    internal static readonly Metric LogSize = Row("aof_current_size", "redkite.aof.size", Gauge, Bytes, "Size of the append-only file, with its base.", o => o.Durability.LogSizeBytes);
    internal static readonly Metric LogBase = Row("aof_base_size", "redkite.aof.base_size", Gauge, Bytes, "Size of the append-only file after the last rewrite or at the start, from which growth is counted.", o => o.Durability.LogBaseBytes);
    internal static readonly Metric Rewrites = Row("aof_rewrites", "redkite.aof.rewrites", Counter, Count, "Rewrites of the append-only file that succeeded.", o => o.Durability.Rewrites);
    internal static readonly Metric RewriteFailuresInARow = Row("aof_rewrites_consecutive_failures", "redkite.aof.consecutive_rewrite_failures", Gauge, Count, "Rewrites that have failed since the last one that succeeded.", o => o.Durability.RewriteFailuresInARow);
    internal static readonly Metric SnapshotRuns = Row("snapshot_in_progress", "redkite.snapshot.in_progress", Gauge, Count, "What is being written: 1 a save, 2 a rewrite of the append-only file, 0 neither.", o => (int)o.Durability.Running);
    internal static readonly Metric Saves = Row("rdb_saves", "redkite.rdb.saves", Counter, Count, "Saves of the data to the dump file that succeeded.", o => o.Durability.Saves);
    internal static readonly Metric SaveFailuresInARow = Row("rdb_saves_consecutive_failures", "redkite.rdb.consecutive_save_failures", Gauge, Count, "Saves that have failed since the last one that succeeded.", o => o.Durability.SaveFailuresInARow);
    internal static readonly Metric SaveAge = Row("rdb_last_save_age_seconds", "redkite.rdb.last_save_age", Gauge, Seconds, "Time since the data was last saved; without a save, since the start.", o => o.Durability.SaveAgeSeconds);
    internal static readonly Metric SaveBytes = Row("rdb_last_save_bytes", "redkite.rdb.last_save_size", Gauge, Bytes, "Size of the last dump file that was written; 0: none was.", o => o.Durability.SaveBytes);
    internal static readonly Metric ChangesSinceSave = Row("rdb_changes_since_last_save", "redkite.rdb.unsaved_changes", Gauge, Count, "Changes since the data was last saved.", o => o.Durability.ChangesSinceSave);
    internal static readonly Metric SnapshotSeconds = Row("snapshot_seconds", "redkite.snapshot.duration", Gauge, Seconds, "How long the save or rewrite in progress has taken; 0: none is.", o => o.Durability.SnapshotSeconds);
    internal static readonly Metric SnapshotKeysLeft = Row("snapshot_keys_left", "redkite.snapshot.keys_left", Gauge, Count, "Keys that the snapshot in progress has not written yet.", o => o.Durability.SnapshotKeysLeft);
    internal static readonly Metric SnapshotSideBytes = Row("snapshot_side_bytes", "redkite.snapshot.side_buffer", Gauge, Bytes, "Old values in memory that wait to be written to the snapshot in progress.", o => o.Durability.SnapshotSideBytes);
    internal static readonly Metric SnapshotPointTime = Row("snapshot_cut_microseconds", "redkite.snapshot.cut", Gauge, Microseconds, "How long all stripes were locked when the last snapshot began; unknown without one.", o => o.Durability.SnapshotPointMicroseconds);
    internal static readonly Metric WritesHeld = Row("writes_held_milliseconds", "redkite.writes.held", Counter, Milliseconds, "Time that commands that write had to wait for the disk.", o => o.Durability.WritesPausedMs);
    internal static readonly Metric WritersWaiting = Row("writes_held_clients", "redkite.clients.held", Gauge, Count, "Clients whose command waits for the disk, or for a key that MIGRATE sends.", o => o.Durability.ClientsPaused);
    internal static readonly Metric WritesRefused = Row("writes_refused", "redkite.writes.refusal", Gauge, Count, "Why commands that write are refused: 1 the last save failed, 2 the append-only file cannot be written, 0 they are not.", o => (int)o.Durability.Refusal);
    internal static readonly Metric WriteRefusals = Row("writes_refused_commands", "redkite.commands.refused{reason=disk}", Counter, Count, "Commands refused with MISCONF.", o => o.Durability.CommandsRefused);
    internal static readonly Metric Backup = Row("backup_state", "redkite.backup.state", Gauge, Count, "How far the backup of BACKUP is: 0 there is none, 1 pending, 2 snapshotting, 3 incrementing, 4 sealed, 5 failed.", o => (int)o.Durability.Backup);
    internal static readonly Metric BackupSeconds = Row("backup_seconds", "redkite.backup.duration", Gauge, Seconds, "How long ago the backup that is neither sealed nor given up began; 0: there is none.", o => o.Durability.BackupSeconds);
    internal static readonly Metric BackupWritten = Row("backup_written_bytes", "redkite.backup.written", Counter, Bytes, "Bytes of commands written to backups behind their bases.", o => o.Durability.BackupIncrementBytes);
    internal static readonly Metric LoadSeconds = Row("load_seconds", "redkite.load.duration", Gauge, Seconds, "How long loading the data took at the start, or has taken so far; 0: there was nothing to load.", o => o.Durability.LoadSeconds);
    internal static readonly Metric LoadKeys = Row("load_keys", "redkite.load.keys", Gauge, Count, "Keys that were loaded from RDB data at the start.", o => o.Durability.LoadKeys);
    internal static readonly Metric LoadBytes = Row("load_bytes", "redkite.load.size", Gauge, Bytes, "Bytes of files that were loaded at the start.", o => o.Durability.LoadBytes);

    // Replicas
    internal static readonly Metric Replicas = Row("replicas", "redkite.replicas", Gauge, Count, "Replicas that get the stream.", o => o.Replication.Online);
    internal static readonly Metric ReplicaLag = Row("replica_lag_bytes", "redkite.replica.lag", Gauge, Bytes, "Bytes of the stream that the slowest replica has not acknowledged.", o => o.Replication.LagBytes);
    internal static readonly Metric ReplicaLagPercent = Row("replica_lag_percent", "redkite.replica.limit_used", Gauge, Percent, "How far a replica has used up what client-output-buffer-limit allows it to be behind.", o => o.Replication.LagPercent);
    internal static readonly Metric ReplicaSilence = Row("replica_lag_seconds", "redkite.replica.silence", Gauge, Seconds, "How long ago the most silent replica acknowledged something.", o => o.Replication.LagSeconds);
    internal static readonly Metric ReplicationBytes = Row("replication_stream_bytes", "redkite.replication.stream", Counter, Bytes, "Bytes of the stream for replicas.", o => o.Replication.Offset);
    internal static readonly Metric BacklogSize = Row("replication_backlog_bytes", "redkite.replication.backlog", Gauge, Bytes, "What is kept of the stream for replicas that come back; 0: nothing.", o => o.Replication.BacklogBytes);
    internal static readonly Metric BacklogWindow = Row("replication_backlog_window_seconds", "redkite.replication.backlog.window", Gauge, Seconds, "How long a replica may be away at the rate of the last minute without copying everything; unknown while nothing is written or kept.", o => o.Replication.WindowSeconds);
    internal static readonly Metric SyncsFull = Row("replica_syncs_full", "redkite.replication.full_syncs", Counter, Count, "Replicas that got all data.", o => o.Replication.Counts.Full);
    internal static readonly Metric SyncsPartial = Row("replica_syncs_partial", "redkite.replication.partial_syncs", Counter, Count, "Replicas that went on with what was kept for them.", o => o.Replication.Counts.Partial);
    internal static readonly Metric SyncsRefusedHistory = Row("replica_syncs_refused_history", "redkite.replication.refused_syncs{reason=history}", Counter, Count, "Replicas that wanted to go on and could not, because their data is of another history.", o => o.Replication.Counts.RefusedFor(RefusalReason.History));
    internal static readonly Metric SyncsRefusedBacklog = Row("replica_syncs_refused_backlog", "redkite.replication.refused_syncs{reason=backlog}", Counter, Count, "Replicas that wanted to go on and could not, because the backlog no longer had what they lacked.", o => o.Replication.Counts.RefusedFor(RefusalReason.Backlog));
    internal static readonly Metric ReplicasClosed = Row("replicas_closed", "redkite.replication.overflows{phase=stream}", Counter, Count, "Replicas that got the stream and were closed because they were too far behind.", o => o.Replication.Counts.OverflowsInStream);
    internal static readonly Metric SyncsOverflowed = Row("replicas_closed_in_sync", "redkite.replication.overflows{phase=sync}", Counter, Count, "Replicas that were closed before they had loaded the data, because too much was written meanwhile.", o => o.Replication.Counts.OverflowsInSync);
    internal static readonly Metric SyncsFailedInARow = Row("replica_syncs_failed_in_a_row", "redkite.replication.failed_syncs_in_a_row", Gauge, Count, "Synchronizations in a row that one replica was too slow for; of the worst replica.", o => o.Replication.FailedSyncsInARow);
    internal static readonly Metric ReplicasLost = Row("replica_connections_lost", "redkite.replication.lost_connections", Counter, Count, "Connections of replicas that ended.", o => o.Replication.Counts.Lost);
    internal static readonly Metric GoodReplicas = Row("replicas_good", "redkite.replicas.good", Gauge, Count, "Replicas that have acknowledged something within min-replicas-max-lag.", o => o.Replication.GoodReplicas);
    internal static readonly Metric LacksReplicas = Row("writes_refused_replicas", "redkite.replicas.too_few", Gauge, Count, "1 while writes are refused because there are fewer good replicas than min-replicas-to-write.", o => o.Replication.WritesRefused ? 1 : 0);

    internal static readonly Metric UnackedReplies = Row("unacknowledged_replies", "redkite.replica_acks.waiting", Gauge, Count, "Replies that wait until replicas have acknowledged what was written (replica-acks).", o => o.Replication.Acks.Replies);
    internal static readonly Metric UnackedSeconds = Row("unacknowledged_seconds", "redkite.replica_acks.oldest", Gauge, Seconds, "How long the oldest of them has waited; 0: none waits.", o => o.Replication.Acks.OldestMs / 1000.0);
    internal static readonly Metric AckWaits = Row("replica_ack_waits", "redkite.replica_acks.waits", Counter, Count, "Waits of clients for replicas that have ended; replies that a client is sent at once wait together.", o => o.Replication.Acks.Waits);
    internal static readonly Metric AckWaitTime = Row("replica_ack_wait_microseconds", "redkite.replica_acks.wait_time", Counter, Microseconds, "How long these waits took together.", o => o.Replication.Acks.Microseconds);
    internal static readonly Metric UnackedErrors = Row("unacknowledged_errors", "redkite.replica_acks.errors", Counter, Count, "Replies that became the error NOREPLICAS, because too few replicas had acknowledged what was written: it may be lost.", o => o.Replication.Acks.Failed);

    // Being a replica
    internal static readonly Metric LinkUp = Row("primary_link_up", "redkite.primary_link.up", Gauge, Count, "1 while this replica gets its primary's stream, otherwise 0; unknown on a primary.", o => o.Replication.Link is { } link ? link.IsUp ? 1 : 0 : double.NaN);
    internal static readonly Metric LinkDown = Row("primary_link_down_seconds", "redkite.primary_link.down", Gauge, Seconds, "How long this replica has had neither its primary's stream nor a synchronization; unknown on a primary.", o => o.Replication.Link?.DownSeconds ?? double.NaN);
    internal static readonly Metric LinkWaiting = Row("primary_link_waiting_bytes", "redkite.primary_link.waiting", Gauge, Bytes, "What this replica has received of the stream and not executed yet; unknown on a primary.", o => o.Replication.Link?.WaitingBytes ?? double.NaN);
    internal static readonly Metric LinkBreaks = Row("primary_link_breaks", "redkite.primary_link.breaks", Counter, Count, "Connections to the primary that broke.", o => o.Link.Breaks);
    internal static readonly Metric LinkApplied = Row("primary_link_applying_microseconds", "redkite.primary_link.applying", Counter, Microseconds, "Time that executing the primary's stream took.", o => o.Link.Applied.TotalMicroseconds);
    internal static readonly Metric LinkFullSyncs = Row("primary_syncs_full", "redkite.primary_link.syncs{result=full}", Counter, Count, "Full synchronizations with the primary that were loaded.", o => o.Link.FullSyncs);
    internal static readonly Metric LinkPartialSyncs = Row("primary_syncs_partial", "redkite.primary_link.syncs{result=partial}", Counter, Count, "Times that the primary's stream went on where it was.", o => o.Link.PartialSyncs);
    internal static readonly Metric LinkFailedSyncs = Row("primary_syncs_failed", "redkite.primary_link.syncs{result=failed}", Counter, Count, "Full synchronizations with the primary that began and were not loaded.", o => o.Link.FailedSyncs);
    internal static readonly Metric LinkFailedSyncsInARow = Row("primary_syncs_failed_in_a_row", "redkite.primary_link.failed_syncs_in_a_row", Gauge, Count, "The same since the last one that was loaded.", o => o.Link.FailedSyncsInARow);
    internal static readonly Metric StreamErrors = Row("primary_stream_errors", "redkite.primary_link.stream_errors", Gauge, Count, "Errors of commands of the primary's stream since the last full synchronization: the data may differ.", o => o.Link.ErrorsSinceSync);

    // A cluster, and this node in it
    internal static readonly Metric ClusterLease = Row("cluster_lease_seconds", "redkite.cluster.lease.left", Gauge, Seconds, "How long this node of a cluster may serve without another renewal of its lease; 0: it may not. Unknown without a store, and before the first lease.", o => o.Cluster.LeaseSeconds);
    internal static readonly Metric ClusterRenewals = Row("cluster_lease_renewals", "redkite.cluster.lease.renewals", Counter, Count, "Renewals of leases that the cluster's store has answered: the node's, and its controller's.", o => o.Cluster.Renewals);
    internal static readonly Metric ClusterRenewalTime = Row("cluster_lease_renewal_microseconds", "redkite.cluster.lease.renewal_time", Counter, Microseconds, "How long these renewals took together.", o => o.Cluster.RenewalMicroseconds);
    internal static readonly Metric ClusterLastRenewal = Row("cluster_lease_last_renewal", "redkite.cluster.lease.round_trip", Gauge, Microseconds, "How long the last of them took; unknown without one.", o => o.Cluster.LastRenewalMicroseconds);
    internal static readonly Metric ClusterStoreRequests = Row("cluster_store_requests", "redkite.cluster.store.requests", Counter, Count, "Requests to the cluster's store.", o => o.Cluster.StoreRequests);
    internal static readonly Metric ClusterStoreErrors = Row("cluster_store_errors", "redkite.cluster.store.errors", Counter, Count, "Requests to the cluster's store that failed: it was not reached, or refused.", o => o.Cluster.StoreErrors);
    internal static readonly Metric ClusterStoreTime = Row("cluster_store_microseconds", "redkite.cluster.store.time", Counter, Microseconds, "How long the requests to the cluster's store took together.", o => o.Cluster.StoreMicroseconds);
    internal static readonly Metric ClusterStoreAway = Row("cluster_store_away_seconds", "redkite.cluster.store.away", Gauge, Seconds, "How long the cluster's store has answered nothing since a request failed; 0: the last one was answered. Unknown without a store.", o => o.Cluster.StoreAwaySeconds);
    internal static readonly Metric ClusterVersion = Row("cluster_topology_version", "redkite.cluster.topology.version", Gauge, Count, "The version of the topology that this node goes by.", o => o.Cluster.Version);
    internal static readonly Metric ClusterVersionsBehind = Row("cluster_topology_versions_behind", "redkite.cluster.topology.versions_behind", Gauge, Count, "By how many versions the topology in the store is newer than that.", o => o.Cluster.VersionsBehind);
    internal static readonly Metric ClusterSlotsOwned = Row("cluster_slots_owned", "redkite.cluster.slots.owned", Gauge, Count, "Slots that this node has.", o => o.Cluster.OwnedSlots);
    internal static readonly Metric ClusterSlotsUncovered = Row("cluster_slots_uncovered", "redkite.cluster.slots.uncovered", Gauge, Count, "Slots that no node has.", o => o.Cluster.UncoveredSlots);
    internal static readonly Metric ClusterSlotsDoubtful = Row("cluster_slots_doubtful", "redkite.cluster.slots.doubtful", Gauge, Count, "Slots that this node refuses, because it is not known whether another node has taken them.", o => o.Cluster.DoubtfulSlots);
    internal static readonly Metric ClusterSlotsAwaited = Row("cluster_slots_awaited_seconds", "redkite.cluster.slots.awaited", Gauge, Seconds, "How long slots have waited at most for their former owner, which may still serve them; 0: none do.", o => o.Cluster.AwaitedSeconds);
    internal static readonly Metric ClusterHottestSlot = Row("cluster_hottest_slot", null, Gauge, Count, "The slot whose keys were used most in the last ten to twenty seconds (sampled); -1: none was.", o => o.Cluster.HottestSlot);
    internal static readonly Metric ClusterHottestSlotPercent = Row("cluster_hottest_slot_percent", "redkite.cluster.slots.hottest_share", Gauge, Percent, "Share of this node's requests with keys that used that slot (sampled).", o => o.Cluster.HottestSlotPercent);
    internal static readonly Metric SlotMovesActive = Row("cluster_slot_moves_active", "redkite.cluster.moves.active", Gauge, Count, "Moves of slots as a whole from and to this node that have not ended.", o => o.SlotMoves.Active);
    internal static readonly Metric SlotMovesCompleted = Row("cluster_slot_moves_completed", "redkite.cluster.moves{result=completed}", Counter, Count, "Those that have ended with another owner.", o => o.SlotMoves.Completed);
    internal static readonly Metric SlotMovesFailed = Row("cluster_slot_moves_failed", "redkite.cluster.moves{result=failed}", Counter, Count, "Those that failed or were canceled.", o => o.SlotMoves.Failed);
    internal static readonly Metric SlotMovesWaiting = Row("cluster_slot_moves_waiting_bytes", "redkite.cluster.moves.waiting", Gauge, Bytes, "Bytes of effects on slots that move which wait for the destination.", o => o.SlotMoves.WaitingBytes);
    internal static readonly Metric SlotMovesSent = Row("cluster_slot_moves_sent_bytes", "redkite.cluster.moves.sent", Counter, Bytes, "Bytes that moves from this node have sent.", o => o.SlotMoves.SentBytes);
    internal static readonly Metric ClusterOldestMove = Row("cluster_slot_move_seconds", "redkite.cluster.moves.oldest", Gauge, Seconds, "How long the oldest move of slots in progress has run, as a whole or key by key; 0: there is none.", o => o.Cluster.OldestMoveSeconds);
    internal static readonly Metric RedirectsMoved = Row("cluster_redirects_moved", "redkite.cluster.redirects{kind=moved}", Counter, Count, "Replies MOVED: another node has the slot.", o => o.Redirects.Moved);
    internal static readonly Metric RedirectsAsk = Row("cluster_redirects_ask", "redkite.cluster.redirects{kind=ask}", Counter, Count, "Replies ASK: the slot moves key by key, and the key is not here.", o => o.Redirects.Ask);
    internal static readonly Metric RedirectsTryAgain = Row("cluster_redirects_tryagain", "redkite.cluster.redirects{kind=tryagain}", Counter, Count, "Replies TRYAGAIN: the slot moves, and not all of the command's keys are on one node.", o => o.Redirects.TryAgain);
    internal static readonly Metric RefusedCrossSlot = Row("cluster_refused_crossslot", "redkite.cluster.refused{kind=crossslot}", Counter, Count, "Replies CROSSSLOT: the command's keys are in several slots.", o => o.Redirects.CrossSlot);
    internal static readonly Metric RefusedDown = Row("cluster_refused_down", "redkite.cluster.refused{kind=clusterdown}", Counter, Count, "Replies CLUSTERDOWN: the lease has ended, or no node has the slot.", o => o.Redirects.Down);
    internal static readonly Metric ClusterLate = Row("cluster_deadline_disconnections", "redkite.cluster.clients_closed{reason=deadline}", Counter, Count, "Clients closed without their replies, and calls in the process that failed, because the lease ended before the replies could leave.", o => o.Cluster.LateDisconnections);
    internal static readonly Metric ClusterLostWrites = Row("cluster_lost_writes", "redkite.cluster.lost_writes", Gauge, Count, "1 while this node has discarded writes that its successor as a primary lacks: as long as the file lost-writes-*.aof is in its folder, or for an hour if it could not be told what they were.", o => o.Cluster.LostWrites);
    internal static readonly Metric ClusterElections = Row("cluster_elections", "redkite.cluster.elections", Counter, Count, "Changes of a shard's primary that this node has seen.", o => o.Cluster.Elections);
    internal static readonly Metric ClusterTakeovers = Row("cluster_takeovers", "redkite.cluster.takeovers", Counter, Count, "Those that made this node the primary.", o => o.Cluster.Takeovers);
    internal static readonly Metric ClusterNodes = Row("cluster_nodes", "redkite.cluster.nodes", Gauge, Count, "Nodes of the topology.", o => o.Cluster.Nodes);
    internal static readonly Metric ClusterNodesAlive = Row("cluster_nodes_alive", "redkite.cluster.nodes_alive", Gauge, Count, "Nodes of the topology whose leases last. This and the following are of the whole cluster, as its store was read last; unknown without one.", o => o.Cluster.NodesAlive);
    internal static readonly Metric ClusterControllers = Row("cluster_controllers", "redkite.cluster.controllers", Gauge, Count, "1 while a controller is active, otherwise 0.", o => o.Cluster.Controllers);
    internal static readonly Metric ClusterNodesBehind = Row("cluster_nodes_behind", "redkite.cluster.nodes_behind", Gauge, Count, "Nodes that go by a topology older than the one of five seconds before.", o => o.Cluster.NodesBehind);
    internal static readonly Metric ClusterShardsDown = Row("cluster_shards_down", "redkite.cluster.shards.down", Gauge, Count, "Shards with slots whose primary does not serve.", o => o.Cluster.ShardsDown);
    internal static readonly Metric ClusterShardsAtRisk = Row("cluster_shards_at_risk", "redkite.cluster.shards.at_risk", Gauge, Count, "Shards with replicas of which none could be made the primary now.", o => o.Cluster.ShardsAtRisk);
    internal static readonly Metric ClusterBusiestShard = Row("cluster_busiest_shard_commands", "redkite.cluster.shards.busiest", Gauge, Count, "Commands a second of the busiest shard's primary.", o => o.Cluster.BusiestShard);
    internal static readonly Metric ClusterLoadUneven = Row("cluster_load_uneven", "redkite.cluster.shards.load_uneven", Gauge, Ratio, "That relative to the mean of the other shards with slots, up to 100.", o => o.Cluster.LoadUneven);
    internal static readonly Metric ClusterFullestShard = Row("cluster_fullest_shard_bytes", "redkite.cluster.shards.fullest", Gauge, Bytes, "Memory in use of the fullest shard's primary.", o => o.Cluster.FullestShardBytes);
    internal static readonly Metric ClusterMemoryUneven = Row("cluster_memory_uneven", "redkite.cluster.shards.memory_uneven", Gauge, Ratio, "That relative to the mean of the other shards with slots, up to 100.", o => o.Cluster.MemoryUneven);
    internal static readonly Metric ClusterClockSkew = Row("cluster_clock_skew_seconds", "redkite.cluster.clock_skew", Gauge, Seconds, "How far the wall clocks of two nodes are apart at least.", o => o.Cluster.ClockSkewSeconds);

    // What the server did by itself
    internal static readonly Metric ActionsShedConnections = Row("action_shed_connections", "redkite.actions{action=shed_connections}", Counter, Count, "Clients refused by shed-connections-per-second.", o => o.Actions.CountOf(ActionTable.ShedConnections));
    internal static readonly Metric ActionsCloseHogs = Row("action_close_hogs", "redkite.actions{action=close_hogs}", Counter, Count, "Clients closed by close-hogs-above.", o => o.Actions.CountOf(ActionTable.CloseHogs));
    internal static readonly Metric ActionsRefuseCommands = Row("action_refuse_commands", "redkite.actions{action=refuse_commands}", Counter, Count, "Commands refused by refuse-dangerous-commands.", o => o.Actions.CountOf(ActionTable.RefuseCommands));
    internal static readonly Metric ActionsReturnMemory = Row("action_return_memory", "redkite.actions{action=return_memory}", Counter, Count, "Times that memory was returned to the system by return-memory-below.", o => o.Actions.CountOf(ActionTable.ReturnMemory));
    internal static readonly Metric ActionsSlowBackgroundWork = Row("action_slow_background_work", "redkite.actions{action=slow_background_work}", Counter, Count, "Times that background work was slowed by slow-background-work-above.", o => o.Actions.CountOf(ActionTable.SlowBackgroundWork));
    internal static readonly Metric ActionsWritePackage = Row("action_write_package", "redkite.actions{action=write_package}", Counter, Count, "Debug packages written because a finding became critical.", o => o.Actions.CountOf(ActionTable.WritePackage));

    // The dashboard
    internal static readonly Metric HttpRequestCount = Row("http_requests", "redkite.http.requests", Counter, Count, "Requests to the dashboard's page and endpoints.", o => o.Server.Http.Requests);
    internal static readonly Metric HttpFailures = Row("http_failures", "redkite.http.failures", Counter, Count, "Requests to the dashboard that ended with a status of 400 or above.", o => o.Server.Http.Failures);
    internal static readonly Metric HttpExceptions = Row("http_exceptions", "redkite.http.exceptions", Counter, Count, "Requests to the dashboard that ended because of an exception.", o => o.Server.Http.Exceptions);

    /// <summary>Every metric, by <see cref="Metric.Index"/>.</summary>
    internal static IReadOnlyList<Metric> All => Rows;

    internal static Metric? Find(string name) => Rows.Find(metric => metric.Name == name);

    private static FamilyMetrics FamilyRows(string group, int index)
    {
        string name = $"family_{group.Replace('-', '_')}";
        return new FamilyMetrics(
            Row($"{name}_calls", null, Counter, Count, $"Calls of commands of the family {group}.", o => o.Families[index].Calls),
            Row($"{name}_errors", null, Counter, Count, $"Calls of commands of the family {group} that failed or were refused.", o => o.Families[index].Errors),
            Row($"{name}_milliseconds", null, Counter, Milliseconds, $"Time that commands of the family {group} executed.", o => o.Families[index].Milliseconds),
            Row($"{name}_p99", null, Gauge, Microseconds, $"99th percentile of the last second's execution times of commands of the family {group}.", o => o.Families[index].Latency.P99));
    }

    // Exports have calls and times of each command with its family instead, and error replies by their first word: rows without an export.
    private static Metric Row(string name, string? export, MetricKind kind, MetricUnit unit, string help, Func<Observation, double> read)
    {
        var metric = new Metric(Rows.Count, name, kind, unit, help, read, export);
        Rows.Add(metric);
        return metric;
    }
}

/// <summary>The metrics of one family of commands.</summary>
internal sealed record FamilyMetrics(Metric Calls, Metric Errors, Metric Milliseconds, Metric P99);
