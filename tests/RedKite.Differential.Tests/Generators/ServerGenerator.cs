using RedKite.Differential.Tests.Streams;

namespace RedKite.Differential.Tests.Generators;

/// <summary>Commands about the server. Parameters that a stream sets are in <see cref="Restore"/>.</summary>
internal static class ServerGenerator
{
    private static readonly string[] KnownCommands =
    [
        "get", "set", "setnx", "setex", "psetex", "getex", "getdel", "getset", "mset", "msetnx", "mget", "append", "strlen", "setrange", "getrange",
        "substr", "incr", "decr", "incrby", "decrby", "incrbyfloat", "lcs", "del", "unlink", "exists", "type", "expire", "pexpire", "expireat",
        "pexpireat", "ttl", "pttl", "expiretime", "pexpiretime", "persist", "rename", "renamenx", "copy", "move", "randomkey", "keys", "scan",
        "touch", "object", "auth", "hello", "ping", "echo", "select", "quit", "reset", "client", "dbsize", "flushdb", "flushall", "swapdb", "time",
        "config", "command", "object|encoding", "config|get", "client|setname", "nosuch", "nosuch|sub", "get|sub", "",
    ];

    private static readonly string[] ReadableParameters =
    [
        "maxmemory", "maxmemory-policy", "maxmemory-samples", "appendonly", "appendfsync", "timeout", "tcp-keepalive", "databases", "requirepass",
        "slowlog-log-slower-than", "slowlog-max-len", "latency-monitor-threshold", "maxclients", "notify-keyspace-events", "proto-max-bulk-len",
        "client-query-buffer-limit", "client-output-buffer-limit", "lfu-log-factor", "lfu-decay-time", "hz", "lazyfree-lazy-eviction",
        "lazyfree-lazy-expire", "lazyfree-lazy-user-del", "lazyfree-lazy-user-flush", "activedefrag", "save", "nosuch", "",
    ];

    public static readonly CommandFamily Family = new("server",
    [
        new("DBSIZE", 6, _ => Episode.Of("DBSIZE")),
        new("FLUSHDB", 1, d => Flush(d, "FLUSHDB")),
        new("FLUSHALL", 1, d => Flush(d, "FLUSHALL")),
        new("SWAPDB", 4, d => Episode.Of("SWAPDB", d.Database(), d.Database())),
        new("TIME", 1, _ => Episode.Of("TIME")),
        new("LOLWUT", 1, d => d.Chance(50) ? Episode.Of("LOLWUT") : Episode.Of("LOLWUT", "VERSION", d.Pick<Argument>("5", "6", "1", "abc"))),
        new("MEMORY", 3, Memory),
        new("DEBUG", 4, Debug),
        new("CONFIG GET", 6, d => Episode.Of(["CONFIG", d.Word("GET"), .. d.Several(3, () => d.Word(ReadableParameters))])),
        new("CONFIG GET pattern", 1, d => Episode.Of("CONFIG", "GET", d.Word("slowlog-*", "maxmemory*", "lazyfree-lazy-[eu]*", "nosuch*", "h?"))),
        new("CONFIG SET", 8, ConfigSet),
        new("CONFIG other", 1, d => d.Pick(Episode.Of("CONFIG", "RESETSTAT"), Episode.Of("CONFIG", "REWRITE"), Episode.Of("CONFIG", "HELP"), Episode.Of("CONFIG", d.Junk()))),
        new("COMMAND", 8, Command),
        new("COMMAND GETKEYS", 4, CommandGetKeys),
        new("SLOWLOG", 3, Slowlog),
        new("LATENCY", 2, Latency),
    ]);

    /// <summary>Puts back what streams change in the configuration, one command each.</summary>
    public static readonly string[] Restore =
    [
        "CONFIG SET maxmemory 0", "CONFIG SET maxmemory-policy noeviction", "CONFIG SET maxmemory-samples 5", "CONFIG SET slowlog-max-len 128",
        "CONFIG SET notify-keyspace-events \"\"", "CONFIG SET lfu-log-factor 10", "CONFIG SET lfu-decay-time 1", "CONFIG SET hz 10",
        "CONFIG SET lazyfree-lazy-user-del no", "CONFIG SET list-max-listpack-size -2", "CONFIG SET stream-node-max-entries 4",
        "CONFIG SET stream-node-max-bytes 4096", "CONFIG RESETSTAT", "DEBUG SET-ACTIVE-EXPIRE 1",
    ];

    private static Episode Flush(Draw d, string name) => d.Chance(40) ? Episode.Of(name) : Episode.Of(name, d.Word("ASYNC", "SYNC", "maybe"));

    private static Episode Memory(Draw d) => d.Below(7) switch
    {
        0 or 1 => Episode.Of("MEMORY", "USAGE", d.Key()),
        2 => Episode.Of("MEMORY", "USAGE", d.Key(), d.Word("SAMPLES", "maybe"), d.Pick<Argument>("0", "5", "-1", "abc")),
        3 => Episode.Of("MEMORY", "HELP"),
        4 => Episode.Of("MEMORY", "PURGE"),
        5 => Episode.Of("MEMORY", "DOCTOR"),
        _ => Episode.Of("MEMORY", d.Junk()),
    };

    private static Episode Debug(Draw d) => d.Below(6) switch
    {
        0 => Episode.Of("DEBUG", "SLEEP", "0"),
        1 => Episode.Of("DEBUG", "SET-ACTIVE-EXPIRE", d.Word("0", "1")),
        2 => Episode.Of("DEBUG", "OBJECT", d.Key()),
        3 => Episode.Of("DEBUG", "STRINGMATCH-LEN", "1000", "*a*a*a*"),
        4 => Episode.Of("DEBUG", "NOSUCH"),
        _ => Episode.Of("DEBUG", "PROTOCOL", d.Word("string", "integer", "double", "null", "array", "set", "map", "attrib", "verbatim", "true", "false", "bignum", "nosuch")),
    };

    private static Episode ConfigSet(Draw d)
    {
        List<Argument> words = ["CONFIG", d.Word("SET")];
        int pairs = d.Chance(75) ? 1 : 1 + d.Below(3);
        for (int i = 0; i < pairs; i++)
        {
            words.AddRange(d.Below(10) switch
            {
                0 => [d.Word("maxmemory"), d.Word("0", "100mb", "1gb", "1048576kb", "1gbb", "abc", "", "99999999999999999999", "-1")],
                1 => [d.Word("maxmemory-policy"), d.Word("noeviction", "allkeys-lru", "volatile-lru", "allkeys-lfu", "volatile-ttl", "nosuch", "")],
                2 => [d.Word("maxmemory-samples"), d.Word("5", "10", "0", "-1", "abc")],
                3 => [d.Word("slowlog-max-len"), d.Word("128", "0", "64", "-1", "abc")],
                4 => [d.Word("notify-keyspace-events"), d.Word("", "KEA", "Ex", "gxE$", "zzz!", "AKE")],
                5 => [d.Word("lfu-log-factor"), d.Word("10", "0", "-1", "abc", "1.5")],
                6 => [d.Word("hz"), d.Word("10", "100", "0", "501", "abc")],
                7 => [d.Word("lazyfree-lazy-user-del"), d.Word("yes", "no", "maybe", "1")],
                8 => [d.Word("databases", "nosuch", "maxclientsx"), d.Word("16", "x")],
                _ => [d.Word("lfu-decay-time"), d.Word("1", "0", "x")],
            });
        }

        if (d.Chance(4)) words.Add("maxmemory");
        return Episode.Of([.. words]);
    }

    private static Episode Command(Draw d) => d.Below(9) switch
    {
        0 => Episode.Of("COMMAND", "COUNT"),
        1 => Episode.Of("COMMAND", "LIST", "FILTERBY", d.Word("ACLCAT", "PATTERN"), d.Word("string", "keyspace", "get*", "nosuch", "config|*")),
        2 => Episode.Of("COMMAND", "LIST", d.Word("FILTERBY", "x"), d.Word("MODULE", "maybe"), d.Word("nosuch")),
        3 => Episode.Of(["COMMAND", "DOCS", .. d.Several(3, () => d.Word(KnownCommands))]),
        4 => Episode.Of("COMMAND", "HELP"),
        5 => Episode.Of("COMMAND", d.Junk()),
        _ => Episode.Of(["COMMAND", "INFO", .. d.Several(3, () => d.Word(KnownCommands))]),
    };

    private static Episode CommandGetKeys(Draw d)
    {
        Argument name = d.Word(KnownCommands);
        return Episode.Of(["COMMAND", d.Word("GETKEYS", "GETKEYSANDFLAGS"), name, .. Enumerable.Range(0, d.Below(5)).Select(_ => d.Chance(80) ? d.Key() : d.Word("GET", "NX", "STORE"))]);
    }

    private static Episode Slowlog(Draw d) => d.Below(5) switch
    {
        0 => d.Chance(50) ? Episode.Of("SLOWLOG", "GET") : Episode.Of("SLOWLOG", "GET", d.Pick<Argument>("10", "-1", "-2", "0", "abc", "")),
        1 => Episode.Of("SLOWLOG", "LEN"),
        2 => Episode.Of("SLOWLOG", "RESET"),
        3 => Episode.Of("SLOWLOG", "HELP"),
        _ => Episode.Of("SLOWLOG", d.Junk()),
    };

    private static Episode Latency(Draw d) => d.Below(7) switch
    {
        0 => Episode.Of("LATENCY", "LATEST"),
        1 => Episode.Of("LATENCY", "HISTORY", d.Word("command", "nosuch")),
        2 => Episode.Of("LATENCY", "RESET", d.Word("command", "nosuch")),
        3 => Episode.Of("LATENCY", "HELP"),
        4 => Episode.Of("LATENCY", "GRAPH", d.Word("nosuch")),
        5 => Episode.Of("LATENCY", "HISTOGRAM", d.Word("get", "set", "nosuch")),
        _ => Episode.Of("LATENCY", d.Junk()),
    };
}
