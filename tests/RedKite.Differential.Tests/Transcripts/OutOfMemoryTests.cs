using System.Text;
using RedKite.Differential.Tests.Streams;
using RedKite.TestSupport;

namespace RedKite.Differential.Tests.Transcripts;

/// <summary>
/// What transactions, scripts and functions may do while used memory exceeds maxmemory, on both servers: with noeviction, and with a policy that
/// finds nothing to evict.
/// </summary>
[Collection(TranscriptCollection.Name)]
public sealed class OutOfMemoryTests(TranscriptServers servers) : TranscriptTests(servers)
{
    // How a script begins, or "" for one without flags. As a function it has the same flags.
    private static readonly string[] Shebangs = ["", "#!lua\n", "#!lua flags=allow-oom\n", "#!lua flags=no-writes\n", "#!lua flags=allow-oom,no-writes\n", "#!lua flags=allow-stale\n"];

    private static readonly string[] Bodies =
    [
        "return 1", "return redis.call('GET','k')", "return redis.call('SET','k','w')", "return redis.pcall('SET','k','w')", "redis.pcall('SET','k','w') return redis.call('GET','k')",
        "redis.call('DEL','k') return redis.call('SET','k','w')", "redis.call('DEL','nosuch') return redis.call('SET','k','w')", "redis.pcall('SET','k','w') redis.call('DEL','k') return redis.pcall('SET','k','w')",
        "redis.call('EXPIRE','k',1000) return redis.call('APPEND','k','w')", "redis.call('PUBLISH','c','m') return redis.call('SET','k','w')", "return redis.call('SORT','l')", "return redis.call('SORT','l','STORE','d')",
        "return redis.pcall('SET','k')", "return redis.pcall('PFCOUNT','nosuch')", "return redis.call('BITFIELD','b','GET','u8','0')", "return redis.call('DEL','k')",
    ];

    public static TheoryData<string, string> Transactions => new()
    {
        { "what is refused at queueing refuses all", """
            A: MULTI
            A: GET k
            A: SET k w
            A: DEL k
            A: EXEC
            A: GET k
            """ },
        { "reads and removals only", """
            A: MULTI
            A: GET k
            A: DEL k
            A: EXPIRE l 100
            A: EXEC
            A: EXISTS k
            A: MULTI
            A: EXEC
            """ },
        { "memory runs out after queueing", """
            B: CONFIG SET maxmemory 0
            A: WATCH k
            A: MULTI
            A: SET k w
            A: GET k
            B: CONFIG SET maxmemory 1
            A: EXEC
            A: EXEC
            A: GET k
            A: WATCH k
            A: MULTI
            A: GET k
            A: EXEC
            """ },
        { "memory runs out after reads were queued", """
            B: CONFIG SET maxmemory 0
            A: MULTI
            A: GET k
            A: DEL k
            B: CONFIG SET maxmemory 1
            A: EXEC
            """ },
        { "memory becomes free before EXEC", """
            A: MULTI
            A: GET k
            B: CONFIG SET maxmemory 0
            A: SET k w
            A: EXEC
            A: GET k
            """ },
        { "the limit falls inside", """
            B: CONFIG SET maxmemory 0
            A: MULTI
            A: SET k 1
            A: CONFIG SET maxmemory 1
            A: SET k 2
            A: EVAL "return redis.pcall('SET', KEYS[1], 3)" 1 k
            A: GET k
            A: EXEC
            A: GET k
            A: SET k 4
            """ },
        { "the limit rises inside", """
            A: MULTI
            A: CONFIG SET maxmemory 0
            A: EVAL "return redis.pcall('SET', KEYS[1], 3)" 1 k
            A: EXEC
            A: GET k
            """ },
        { "scripts inside", """
            A: MULTI
            A: EVAL "return redis.call('SET', KEYS[1], 1)" 1 k
            A: EVAL "return redis.pcall('SET', KEYS[1], 1)" 1 k
            A: EVAL "redis.call('DEL', KEYS[1]) return redis.call('SET', KEYS[1], 2)" 1 k
            A: DEL k
            A: EVAL "return redis.pcall('SET', KEYS[1], 3)" 1 k
            A: EVAL_RO "return redis.call('GET', KEYS[1])" 1 k
            A: EVAL "#!lua\nreturn redis.call('GET', KEYS[1])" 1 k
            A: EVAL "#!lua flags=allow-oom\nreturn redis.call('SET', KEYS[1], 4)" 1 k
            A: EXEC
            A: GET k
            """ },
        { "a script that was queued while there was memory", """
            B: CONFIG SET maxmemory 0
            A: MULTI
            A: EVAL "return redis.call('SET', KEYS[1], 1)" 1 k
            A: EVAL "#!lua\nreturn redis.call('GET', KEYS[1])" 1 k
            A: GET k
            B: CONFIG SET maxmemory 1
            A: EXEC
            B: CONFIG SET maxmemory 0
            A: MULTI
            A: SET k 5
            A: EVAL "return redis.pcall('SET', KEYS[1], 1)" 1 k
            B: CONFIG SET maxmemory 1
            A: EXEC
            A: GET k
            """ },
        { "libraries", """
            A: FUNCTION LOAD "#!lua name=oom\nredis.register_function('oom', function() return 1 end)"
            A: FUNCTION LIST
            A: FUNCTION FLUSH
            A: FUNCTION RESTORE x
            A: SCRIPT LOAD "return 1"
            A: SCRIPT FLUSH
            A: MULTI
            A: FUNCTION LOAD "#!lua name=oom\nredis.register_function('oom', function() return 1 end)"
            A: EXEC
            """ },
        { "errors are counted", """
            A: CONFIG RESETSTAT
            A: MULTI
            A: SET k w
            A: EXEC
            A: EVAL "return redis.pcall('SET', KEYS[1], 3)" 1 k
            A: EVAL "#!lua\nreturn 1" 0
            A: INFO errorstats
            """ },
    };

    [Theory]
    [MemberData(nameof(Transactions))]
    public void Transactions_are_refused_as_in_redis(string what, string script)
    {
        Assert.NotEmpty(what);
        foreach (string policy in (string[])["noeviction", "volatile-lru", "allkeys-lru"])
        {
            RunOutOfMemory(policy, () => ClientScript.Run(Pair, script));
        }
    }

    [Theory]
    [InlineData("noeviction")]
    [InlineData("volatile-lru")]
    [InlineData("allkeys-lru")]
    public void Scripts_and_functions_are_refused_as_in_redis(string policy)
    {
        PairedConnection client = Open();
        foreach (string shebang in Shebangs)
        {
            foreach (string body in Bodies)
            {
                string script = shebang + body;
                string name = Run(client, "SCRIPT", "LOAD", script).Text;
                Run(client, "FUNCTION", "LOAD", "REPLACE", Library(shebang, body));
                RunOutOfMemory(policy, () =>
                {
                    Run(client, "EVAL", script, "0");
                    Run(client, "EVAL", script, "2", "k", "l");
                    Run(client, "EVAL_RO", script, "0");
                    Run(client, "EVALSHA", name, "0");
                    Run(client, "EVALSHA_RO", name, "1", "k");
                    Run(client, "FCALL", "f", "1", "k");
                    Run(client, "FCALL_RO", "f", "0");
                    Run(client, "GET", "k");
                });
            }
        }

        Run(client, "FUNCTION", "FLUSH");
        Assert.Null(StatisticsComparison.Compare(Pair, 0));
    }

    private void RunOutOfMemory(string policy, Action action)
    {
        using PairedConnection control = new(Pair);
        control.Run("FLUSHALL");
        control.Run("CONFIG SET maxmemory-policy " + policy);
        control.Run("CONFIG SET maxmemory-eviction-tenacity 100"); // an eviction that runs out of time lets the command pass, on both servers
        if (policy != "allkeys-lru")
        {
            control.Run("SET k v");
            control.Run("RPUSH l 2 1");
        }

        control.Run("CONFIG SET maxmemory 1");
        try
        {
            action();
        }
        finally
        {
            foreach (ServerPair.Side side in (ServerPair.Side[])[Pair.Oracle, Pair.Subject])
            {
                side.Control.Run("CONFIG SET maxmemory 0");
                side.Control.Run("CONFIG SET maxmemory-policy noeviction");
                side.Control.Run("CONFIG SET maxmemory-eviction-tenacity 10");
            }
        }
    }

    private static string Library(string shebang, string body)
    {
        string[] flags = shebang.Contains('=', StringComparison.Ordinal) ? shebang.Trim().Split('=')[1].Split(',') : [];
        return $"#!lua name=lib\nredis.register_function{{function_name='f', callback=function(keys, args) {body} end, flags={{{string.Join(',', flags.Select(flag => $"'{flag}'"))}}}}}";
    }

    private static RespValue Run(PairedConnection client, params string[] words) => client.Run(CommandLine.Format([.. words.Select(Encoding.Latin1.GetBytes)]));
}
