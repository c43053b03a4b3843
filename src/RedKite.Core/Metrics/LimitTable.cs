namespace RedKite.Server.Metrics;

/// <summary>One limit of what clients can make the server keep.</summary>
/// <param name="Kept">What is kept.</param>
/// <param name="Setting">The setting; null: the limit is fixed.</param>
/// <param name="Fixed">A fixed limit, or what part of the setting's value is meant.</param>
/// <param name="AtLimit">What happens at the limit.</param>
/// <param name="MetricName">The metric that counts that.</param>
/// <param name="Counter">Where it is counted; null: the metric is one of its own in the table of metrics.</param>
/// <param name="Help">The metric's meaning; empty without a counter.</param>
internal sealed record LimitRow(string Kept, string? Setting, string Fixed, string AtLimit, string MetricName, Limit? Counter = null, string Help = "");

/// <summary>
/// Every limit of what clients can make the server keep, one row each. Metrics, INFO limits and the table of docs/security.md are made
/// from it, and a test provokes each row.
/// </summary>
internal static class LimitTable
{
    internal static IReadOnlyList<LimitRow> Rows { get; } =
    [
        // Requests
        new("Requests that are incomplete or queued", "client-query-buffer-limit", "", "the client is closed", "client_query_buffer_limit_disconnections"),
        new("Arguments of a request", "max-request-arguments", "", "error, closed", "limit_request_arguments", Limit.RequestArguments, "Clients closed because a request had more arguments than max-request-arguments."),
        new("One argument", "proto-max-bulk-len", "", "error, closed", "limit_argument_bytes", Limit.ArgumentBytes, "Clients closed because an argument was longer than proto-max-bulk-len."),
        new("A request before the login", null, "10 arguments of 16 KiB", "error, closed", "limit_unauthenticated_request", Limit.UnauthenticatedRequest, "Clients closed because a request before the login was too large."),

        // Output
        new("Replies that are not read", "client-output-buffer-limit", "class `normal`", "the client is closed", "client_output_buffer_limit_disconnections"),
        new("Replies before the login that are not read", null, "1 KiB, as in Redis", "the client is closed", "client_output_buffer_limit_disconnections"),
        new("Messages that are not read", "client-output-buffer-limit", "class `pubsub`", "the client is closed", "pubsub_output_limit_disconnections"),
        new("Lines of MONITOR that are not read", "client-output-buffer-limit", "class `normal`; `pubsub` where that has no limit", "the client is closed", "limit_monitor_output", Limit.MonitorOutput, "Clients of MONITOR closed at their output limit."),
        new("All buffers and state of all clients", "maxmemory-clients", "", "the largest clients are closed", "evicted_clients"),

        // State of a client
        new("Queued commands of a transaction", "max-transaction-commands", "", "error, EXEC fails", "limit_transaction_commands", Limit.QueuedCommands, "Commands that were not queued because of max-transaction-commands."),
        new("Bytes of queued commands", "client-query-buffer-limit", "", "the client is closed", "limit_transaction_bytes", Limit.QueuedBytes, "Clients closed because their transactions exceeded client-query-buffer-limit."),
        new("Watched keys", "max-watched-keys", "", "error", "limit_watched_keys", Limit.KeysWatched, "WATCH refused because of max-watched-keys."),
        new("Channels and patterns of a client", "max-subscriptions-per-client", "", "error", "limit_subscriptions", Limit.Subscriptions, "Subscriptions refused because of max-subscriptions-per-client."),
        new("Prefixes that a client follows", "max-tracking-prefixes-per-client", "", "error", "limit_tracking_prefixes", Limit.TrackedPrefixes, "CLIENT TRACKING refused because of max-tracking-prefixes-per-client."),
        new("Names of watched keys, channels, patterns and prefixes", "max-client-state-bytes", "", "error", "limit_client_state_bytes", Limit.ClientStateBytes, "Requests refused because names of watched keys, channels, patterns and prefixes exceeded max-client-state-bytes."),
        new("Keys that a client is blocked on", "max-blocked-keys", "", "error", "limit_blocked_keys", Limit.BlockedKeys, "Blocking commands refused because of max-blocked-keys."),
        new("A client's name, library and version", "max-client-name-bytes", "", "error", "limit_client_name_bytes", Limit.ClientNameBytes, "Names of clients and libraries refused because of max-client-name-bytes."),

        // Shared
        new("Tracked keys", "tracking-table-max-keys", "", "some other key is invalidated", "limit_tracked_keys", Limit.KeysTracked, "Keys invalidated early because of tracking-table-max-keys."),
        new("Names of tracked keys", "tracking-table-max-bytes", "", "some other keys are invalidated", "limit_tracked_key_bytes", Limit.TrackedNameBytes, "Keys invalidated early because of tracking-table-max-bytes."),
        new("Scripts of EVAL", null, "500, as in Redis", "the least recently used one is dropped", "evicted_scripts"),
        new("Scripts of SCRIPT LOAD", "max-cached-scripts", "", "error", "limit_cached_scripts", Limit.CachedScripts, "SCRIPT LOAD refused because of max-cached-scripts."),
        new("Text of scripts", "max-cached-script-bytes", "", "those of EVAL are dropped, then error", "limit_cached_script_bytes", Limit.CachedScriptBytes, "Scripts refused because of max-cached-script-bytes."),
        new("Functions of libraries", "max-functions", "", "error", "limit_functions", Limit.Functions, "Libraries refused because of max-functions."),
        new("Text of libraries", "max-function-bytes", "", "error", "limit_function_bytes", Limit.FunctionBytes, "Libraries refused because of max-function-bytes."),
        new("Memory of an interpreter", "script-memory-limit", "", "error in the script", "limit_script_memory", Limit.ScriptMemory, "Times that a script was refused memory because of script-memory-limit."),
        new("Users", "max-acl-users", "", "error", "limit_acl_users", Limit.Users, "ACL SETUSER refused because of max-acl-users."),
        new("Rules of a user", "max-acl-rules-per-user", "", "error", "limit_acl_rules", Limit.RulesPerUser, "ACL SETUSER refused because of max-acl-rules-per-user."),
        new("Name and rules of a user, in bytes", "max-acl-rule-bytes-per-user", "", "error", "limit_acl_rule_bytes", Limit.RuleBytesPerUser, "ACL SETUSER refused because of max-acl-rule-bytes-per-user."),
        new("ACL LOG", "acllog-max-len", "", "the oldest entry is dropped", "limit_acl_log", Limit.AclLogEntries, "Entries of ACL LOG dropped because of acllog-max-len."),
        new("SLOWLOG", "slowlog-max-len", "", "the oldest entry is dropped", "limit_request_logs", Limit.RequestLogEntries, "Entries of SLOWLOG and COMMANDLOG dropped because the log was full."),
        new("COMMANDLOG, large requests", "commandlog-large-request-max-len", "", "the oldest entry is dropped", "limit_request_logs"),
        new("COMMANDLOG, large replies", "commandlog-large-reply-max-len", "", "the oldest entry is dropped", "limit_request_logs"),

        // Connections
        new("Connections", "maxclients", "", "error, closed", "limit_connections", Limit.Connections, "Connections refused because of maxclients."),
        new("TLS handshakes in progress", "tls-handshakes-max", "", "the oldest of the address with most is closed", "tls_handshakes_refused"),
        new("Time of a TLS handshake", "tls-handshake-timeout", "", "closed", "tls_handshakes_failed"),
        new("Failed logins of an address in a minute", "failed-logins-per-minute", "", "further ones are refused", "logins_refused"),
        new("Addresses with failed logins", null, "10,000", "the oldest is forgotten", "limit_login_addresses", Limit.LoginAddresses, "Addresses with failed logins that were forgotten because there were too many."),
    ];
}
