namespace RedKite.Server.Tests.Limits;

/// <summary>One kind of what clients can make the server keep beside the data.</summary>
/// <param name="What">What is kept.</param>
/// <param name="Figure">The field of INFO's memory section that counts it, beside used_memory.</param>
/// <param name="Bound">The settings that bound it, and what happens there.</param>
/// <param name="Keep">The command that makes the server keep one; {0} is a number. Empty: none does for sure.</param>
/// <param name="Release">The command that ends all of it, or several with bars between them.</param>
/// <param name="Before">The commands that precede the first one.</param>
internal sealed record KeptRow(string What, string Figure, string Bound, string Keep, string Release, params string[] Before)
{
    /// <summary>Whether one command leaves one in place of another: the name of a client.</summary>
    internal bool IsOne { get; init; }

    /// <summary>Whether the command is refused, which is what is kept.</summary>
    internal bool IsRefused { get; init; }

    /// <summary>Whether the command blocks its client: one is sent with all keys.</summary>
    internal bool Blocks { get; init; }

    /// <summary>The most that one takes; 0: some fifty times its last argument.</summary>
    internal int BytesMax { get; init; }
}

/// <summary>Everything that commands can make the server keep beside the data, as docs/memory.md lists it.</summary>
internal static class KeptTable
{
    private const string Clients = "mem_clients_normal";
    private const string Overhead = "used_memory_overhead";
    private const string Subscriptions = "`max-subscriptions-per-client`, `max-client-state-bytes`: error";

    internal static readonly KeptRow[] Rows =
    [
        new("Commands queued since MULTI", Clients, "`maxmemory`, `max-transaction-commands`: error, and EXEC fails; `client-query-buffer-limit`, `maxmemory-clients`: the client is closed", "SET key:{0} value:{0}", "DISCARD", "MULTI"),
        new("Watched keys", Clients, "`max-watched-keys`, `max-client-state-bytes`: error", "WATCH key:{0}", "UNWATCH"),
        new("A client's subscriptions to channels", Clients, Subscriptions, "SUBSCRIBE channel:{0}", "UNSUBSCRIBE"),
        new("A client's subscriptions to patterns", Clients, Subscriptions, "PSUBSCRIBE pattern:{0}", "PUNSUBSCRIBE"),
        new("A client's subscriptions to sharded channels", Clients, Subscriptions, "SSUBSCRIBE channel:{0}", "SUNSUBSCRIBE"),
        new("Channels with subscribers", Overhead, Subscriptions, "SUBSCRIBE channel:{0}", "UNSUBSCRIBE"),
        new("Sharded channels with subscribers", Overhead, Subscriptions, "SSUBSCRIBE channel:{0}", "SUNSUBSCRIBE"),
        new("Patterns with subscribers", Overhead, Subscriptions, "PSUBSCRIBE pattern:{0}", "PUNSUBSCRIBE"),
        new("Prefixes of CLIENT TRACKING BCAST", Clients, "`max-tracking-prefixes-per-client`, `max-client-state-bytes`: error", "CLIENT TRACKING ON BCAST PREFIX {0}:prefix", "CLIENT TRACKING OFF"),
        new("Lists of fields of HIMPORT", Clients, "`max-client-state-bytes`: error", "HIMPORT PREPARE set:{0} field:{0}", "HIMPORT DISCARDALL"),
        new("Names of a client and its library", Clients, "`max-client-name-bytes`: error", "CLIENT SETNAME " + Name, "CLIENT SETNAME x") { IsOne = true },
        new("Keys that tracking clients have read", Overhead, "`tracking-table-max-keys`, `tracking-table-max-bytes`: some other key is invalidated", "GET key:{0}", "FLUSHALL", "CLIENT TRACKING ON"),
        new("SLOWLOG", Overhead, "`slowlog-max-len`: the oldest entry is dropped", "ECHO text:{0}", "SLOWLOG RESET", "CONFIG SET slowlog-log-slower-than 0 slowlog-max-len 1000"),
        new("COMMANDLOG", Overhead, "`commandlog-large-request-max-len`, `commandlog-large-reply-max-len`: the oldest entry is dropped", "ECHO text:{0}", "COMMANDLOG RESET large-request", "CONFIG SET commandlog-request-larger-than 1 commandlog-large-request-max-len 1000"),
        new("Users and their rules", Overhead, "`max-acl-users`, `max-acl-rules-per-user`, `max-acl-rule-bytes-per-user`: error", "ACL SETUSER user:{0} on >password:{0} ~key:{0}:* &channel:{0} +@all -flushall", "ACL DELUSER " + string.Join(' ', Enumerable.Range(0, 400).Select(i => $"user:{i}"))) { BytesMax = 4096 },
        new("ACL LOG", Overhead, "`acllog-max-len`: the oldest entry is dropped", "GET key:{0}", "ACL LOG RESET", "ACL SETUSER restricted on nopass +@all", "CONFIG SET acllog-max-len 1000", "AUTH restricted any") { IsRefused = true, BytesMax = 1000 },
        new("LATENCY", Overhead, "160 samples of each class of events: the oldest is dropped", "", "LATENCY RESET"),
        new("HOTKEYS", Overhead, "2,048 keys of each measure, 1,024 bytes of each: the one with the smallest sum is dropped", "GET key:{0}", "HOTKEYS STOP|HOTKEYS RESET|HOTKEYS START METRICS 1 CPU", "HOTKEYS START METRICS 1 CPU"),
        new("Requests of blocked clients", Clients, "`client-query-buffer-limit`, `maxmemory-clients`: the client is closed", "BLPOP", "CLIENT UNBLOCK {0}") { Blocks = true, BytesMax = 400 },
        new("Scripts", "used_memory_scripts_eval", "`max-cached-scripts`, `max-cached-script-bytes`: those of EVAL are dropped, then error", "SCRIPT LOAD return({0}+1234567)", "SCRIPT FLUSH"),
    ];

    // Long enough that a change of it is counted at once.
    private const string Name = "name-of-a-client-that-is-long-000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000"
        + "000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000"
        + "000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000"
        + "00000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000";
}
