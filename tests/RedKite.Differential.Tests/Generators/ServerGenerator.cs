using RedKite.Differential.Tests.Streams;

namespace RedKite.Differential.Tests.Generators;

/// <summary>Server commands. <see cref="Restore"/> lists the parameters that a stream sets.</summary>
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
        new("FLUSHDB", 1, random => Flush(random, "FLUSHDB")),
        new("FLUSHALL", 1, random => Flush(random, "FLUSHALL")),
        new("SWAPDB", 4, random => Episode.Of("SWAPDB", random.Database(), random.Database())),
        new("TIME", 1, _ => Episode.Of("TIME")),
        new("LOLWUT", 1, random => random.Chance(50) ? Episode.Of("LOLWUT") : Episode.Of("LOLWUT", "VERSION", random.Pick<Argument>("5", "6", "1", "abc"))),
        new("MEMORY", 3, Memory),
        new("DEBUG", 4, Debug),
        new("CONFIG GET", 6, random => Episode.Of(["CONFIG", random.Word("GET"), .. random.Several(3, () => random.Word(ReadableParameters))])),
        new("CONFIG GET pattern", 1, random => Episode.Of("CONFIG", "GET", random.Word("slowlog-*", "maxmemory*", "lazyfree-lazy-[eu]*", "nosuch*", "h?"))),
        new("CONFIG SET", 8, ConfigSet),
        new("CONFIG other", 1, random => random.Pick(Episode.Of("CONFIG", "RESETSTAT"), Episode.Of("CONFIG", "REWRITE"), Episode.Of("CONFIG", "HELP"), Episode.Of("CONFIG", random.Junk()))),
        new("COMMAND", 8, Command),
        new("COMMAND GETKEYS", 4, CommandGetKeys),
        new("SLOWLOG", 3, Slowlog),
        new("LATENCY", 2, Latency),
    ]);

    /// <summary>Restores the configuration that streams change, one command each.</summary>
    public static readonly string[] Restore =
    [
        "CONFIG SET maxmemory 0", "CONFIG SET maxmemory-policy noeviction", "CONFIG SET maxmemory-samples 5", "CONFIG SET slowlog-max-len 128",
        "CONFIG SET notify-keyspace-events \"\"", "CONFIG SET lfu-log-factor 10", "CONFIG SET lfu-decay-time 1", "CONFIG SET hz 10",
        "CONFIG SET lazyfree-lazy-user-del no", "CONFIG SET list-max-listpack-size -2", "CONFIG SET stream-node-max-entries 4",
        "CONFIG SET stream-node-max-bytes 4096", "CONFIG RESETSTAT", "DEBUG SET-ACTIVE-EXPIRE 1",
    ];

    private static Episode Flush(RandomSource random, string name) => random.Chance(40) ? Episode.Of(name) : Episode.Of(name, random.Word("ASYNC", "SYNC", "maybe"));

    private static Episode Memory(RandomSource random) => random.Below(7) switch
    {
        0 or 1 => Episode.Of("MEMORY", "USAGE", random.Key()),
        2 => Episode.Of("MEMORY", "USAGE", random.Key(), random.Word("SAMPLES", "maybe"), random.Pick<Argument>("0", "5", "-1", "abc")),
        3 => Episode.Of("MEMORY", "HELP"),
        4 => Episode.Of("MEMORY", "PURGE"),
        5 => Episode.Of("MEMORY", "DOCTOR"),
        _ => Episode.Of("MEMORY", random.Junk()),
    };

    private static Episode Debug(RandomSource random) => random.Below(6) switch
    {
        0 => Episode.Of("DEBUG", "SLEEP", "0"),
        1 => Episode.Of("DEBUG", "SET-ACTIVE-EXPIRE", random.Word("0", "1")),
        2 => Episode.Of("DEBUG", "OBJECT", random.Key()),
        3 => Episode.Of("DEBUG", "STRINGMATCH-LEN", "1000", "*a*a*a*"),
        4 => Episode.Of("DEBUG", "NOSUCH"),
        _ => Episode.Of("DEBUG", "PROTOCOL", random.Word("string", "integer", "double", "null", "array", "set", "map", "attrib", "verbatim", "true", "false", "bignum", "nosuch")),
    };

    private static Episode ConfigSet(RandomSource random)
    {
        List<Argument> words = ["CONFIG", random.Word("SET")];
        int pairs = random.Chance(75) ? 1 : 1 + random.Below(3);
        for (int i = 0; i < pairs; i++)
        {
            // Nothing that RedKite refuses until it is built: limits for a policy that evicts, notifications.
            words.AddRange(random.Below(10) switch
            {
                0 => [random.Word("maxmemory"), random.Word("0", "0mb", "1gbb", "abc", "", "-1")],
                1 => [random.Word("maxmemory-policy"), random.Word("noeviction", "allkeys-lru", "volatile-lru", "allkeys-lfu", "volatile-ttl", "nosuch", "")],
                2 => [random.Word("maxmemory-samples"), random.Word("5", "10", "0", "-1", "abc")],
                3 => [random.Word("slowlog-max-len"), random.Word("128", "0", "64", "-1", "abc")],
                4 => [random.Word("notify-keyspace-events"), random.Word("", "zzz!", "KEAq")],
                5 => [random.Word("lfu-log-factor"), random.Word("10", "0", "-1", "abc", "1.5")],
                6 => [random.Word("hz"), random.Word("10", "100", "0", "501", "abc")],
                7 => [random.Word("lazyfree-lazy-user-del"), random.Word("yes", "no", "maybe", "1")],
                8 => [random.Word("databases", "nosuch", "maxclientsx"), random.Word("16", "x")],
                _ => [random.Word("lfu-decay-time"), random.Word("1", "0", "x")],
            });
        }

        if (random.Chance(4)) words.Add("maxmemory");
        return Episode.Of([.. words]);
    }

    private static Episode Command(RandomSource random) => random.Below(9) switch
    {
        0 => Episode.Of("COMMAND", "COUNT"),
        1 => Episode.Of("COMMAND", "LIST", "FILTERBY", random.Word("ACLCAT", "PATTERN"), random.Word("string", "keyspace", "get*", "nosuch", "config|*")),
        2 => Episode.Of("COMMAND", "LIST", random.Word("FILTERBY", "x"), random.Word("MODULE", "maybe"), random.Word("nosuch")),
        3 => Episode.Of(["COMMAND", "DOCS", .. random.Several(3, () => random.Word(KnownCommands))]),
        4 => Episode.Of("COMMAND", "HELP"),
        5 => Episode.Of("COMMAND", random.Junk()),
        _ => Episode.Of(["COMMAND", "INFO", .. random.Several(3, () => random.Word(KnownCommands))]),
    };

    private static Episode CommandGetKeys(RandomSource random)
    {
        Argument name = random.Word(KnownCommands);
        return Episode.Of(["COMMAND", random.Word("GETKEYS", "GETKEYSANDFLAGS"), name, .. Enumerable.Range(0, random.Below(5)).Select(_ => random.Chance(80) ? random.Key() : random.Word("GET", "NX", "STORE"))]);
    }

    private static Episode Slowlog(RandomSource random) => random.Below(5) switch
    {
        0 => random.Chance(50) ? Episode.Of("SLOWLOG", "GET") : Episode.Of("SLOWLOG", "GET", random.Pick<Argument>("10", "-1", "-2", "0", "abc", "")),
        1 => Episode.Of("SLOWLOG", "LEN"),
        2 => Episode.Of("SLOWLOG", "RESET"),
        3 => Episode.Of("SLOWLOG", "HELP"),
        _ => Episode.Of("SLOWLOG", random.Junk()),
    };

    private static Episode Latency(RandomSource random) => random.Below(7) switch
    {
        0 => Episode.Of("LATENCY", "LATEST"),
        1 => Episode.Of("LATENCY", "HISTORY", random.Word("command", "nosuch")),
        2 => Episode.Of("LATENCY", "RESET", random.Word("command", "nosuch")),
        3 => Episode.Of("LATENCY", "HELP"),
        4 => Episode.Of("LATENCY", "GRAPH", random.Word("nosuch")),
        5 => Episode.Of("LATENCY", "HISTOGRAM", random.Word("get", "set", "nosuch")),
        _ => Episode.Of("LATENCY", random.Junk()),
    };
}
