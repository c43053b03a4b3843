using System.Text;
using RedKite.Differential.Tests.Generators;
using RedKite.Differential.Tests.Streams;
using RedKite.TestSupport;

namespace RedKite.Differential.Tests.Transcripts;

/// <summary>Commands on the server itself and scripts, compared with Redis 8.6: what they refuse, and what Redis 8.0 lacks.</summary>
public sealed class NewerServerTests : IClassFixture<NewerServers>, IDisposable
{
    private const int Requests = 4_000;
    private const int TestSeed = 20261122;

    // What ends, blocks or locks out a client, needs another server, replies more than once, or answers by chance.
    private static readonly HashSet<string> LeftOut =
    [
        "acl|load", "acl|save", "acl|setuser", "bgrewriteaof", "bgsave", "client|kill", "client|no-evict", "client|pause", "client|reply", "client|tracking", "config|rewrite", "debug", "discard", "exec",
        "failover", "function|kill", "hello", "migrate", "module|load", "module|loadex", "monitor", "multi", "psubscribe", "psync", "punsubscribe", "quit", "randomkey", "replconf", "replicaof", "reset",
        "save", "scan", "script|debug", "script|kill", "shutdown", "slaveof", "ssubscribe", "subscribe", "sunsubscribe", "sync", "unsubscribe", "wait", "waitaof", "watch",
        "VRANDMEMBER", // of which a count of -2^63 ends that server
    ];

    private readonly ServerPair _pair;
    private readonly PairedConnection _client;

    public NewerServerTests(NewerServers servers)
    {
        _pair = servers.Pair;
        _pair.Reset();
        _client = new PairedConnection(_pair);
    }

    public void Dispose() => _client.Dispose();

    [Theory]
    [InlineData("server connection scripting pubsub transactions cluster", 120)]
    [InlineData("module", 12)]
    public void Wrong_arguments_are_refused_alike(string groups, int commandsMin)
    {
        var requests = new DocumentedRequestGenerator(_pair.Oracle.Control, groups.Split(' '), LeftOut, TestSeed);
        Assert.InRange(requests.Commands, commandsMin, 1000);
        int errors = 0;
        for (int i = 0; i < Requests; i++)
        {
            if (i % 300 == 0)
            {
                foreach (string line in (string[])["FLUSHALL", "SET k v", "SADD s a b", "VADD v VALUES 2 1 0 e", "VADD v VALUES 2 0 1 f", "ZADD z 1 a", "RPUSH l a b", "HSET h a 1"]) _client.Run(line);
            }

            string[] words = requests.Next();
            byte[][] request = [.. words.Select(Encoding.Latin1.GetBytes)];
            string expected = Kind(_pair.Oracle.Control.Run(request)), actual = Kind(_pair.Subject.Control.Run(request));
            Assert.True(expected == actual, $"{i}: {string.Join(' ', words.Select(word => $"'{word}'"))}\n    {expected} (oracle)\n    {actual}");
            if (expected.Length > 1) errors++;
        }

        Assert.InRange(errors, Requests / 4, Requests);

        // Errors as they are; of other replies the kind.
        static string Kind(RespValue reply) => reply.IsError ? reply.Text : reply.IsNull ? "_" : reply.IsString ? "$" : $"{reply.Marker}";
    }

    [Fact]
    public void Decoded_arrays_are_encoded_as_arrays_if_a_script_wishes()
    {
        foreach (string script in (string[])[
            "return cjson.encode(cjson.decode('[]'))", "return tostring(cjson.decode_array_with_array_mt())", "return cjson.decode_array_with_array_mt(true)", "return tostring(cjson.decode_array_with_array_mt())",
            "return cjson.encode(cjson.decode('[]'))", "return cjson.encode(cjson.decode('{}'))", "return cjson.encode(cjson.decode('[[],{},[1,[]],{\"a\":[]}]'))", "return cjson.encode({})",
            "local t=cjson.decode('[]') t.x=1 return cjson.encode(t)", "local t=cjson.decode('[]') t[3]=1 return cjson.encode(t)", "local t=cjson.decode('[]') t[1]=1 t[2]=2 t[100]=1 return cjson.encode(t)",
            "local t=cjson.decode('[1,2,3]') t[2]=nil return cjson.encode(t)", "local t=cjson.decode('[]') t[0]=1 t[1.5]=1 return cjson.encode(t)",
            "return cjson.encode(setmetatable({x=1}, getmetatable(cjson.decode('[]'))))", "return cjson.encode(setmetatable({x=1}, {__is_cjson_array=true}))", "return cjson.encode(setmetatable({1,2}, {}))",
            "local m=getmetatable(cjson.decode('[]')) m.x=1", "local m=getmetatable(cjson.decode('[]')) rawset(m,'__index',1)", "return getmetatable(cjson.decode('[]')).x", "return type(getmetatable(getmetatable(cjson.decode('[]'))))",
            "local r={} for k,v in pairs(getmetatable(cjson.decode('[]'))) do r[#r+1]=k..tostring(v) end return r", "return cjson.decode('[1,[2,[]],3]')", "return cmsgpack.pack(cjson.decode('[]'))", "return #cjson.decode('[1,2]')",
            "return cjson.decode_array_with_array_mt('on')", "return cjson.decode_array_with_array_mt(1)", "return cjson.decode_array_with_array_mt('x')", "return cjson.decode_array_with_array_mt(true, false)",
            "return tostring(cjson.decode_array_with_array_mt(nil))", "return cjson.decode_array_with_array_mt('off')", "return cjson.encode(cjson.decode('[]'))",
            "local r={} for k in pairs(cjson) do r[#r+1]=k end table.sort(r) return r", "local r={} for k in pairs(redis) do r[#r+1]=k end table.sort(r) return r"])
        {
            _client.Run($"EVAL \"{script.Replace("\"", "\\\"", StringComparison.Ordinal)}\" 0");
        }
    }

    // SCAN and RANDOMKEY find keys that no command names.
    [Theory]
    [InlineData("yes")]
    [InlineData("no")]
    public void Expired_keys_are_removed_in_units_alike(string setting)
    {
        _client.Run("DEBUG SET-ACTIVE-EXPIRE 0");
        _client.Run("CONFIG SET lazyexpire-nested-arbitrary-keys " + setting);
        foreach (string line in (string[])["SCAN 0", "MULTI;SCAN 0;EXEC", "MULTI;RANDOMKEY;EXEC", "MULTI;KEYS *;EXEC", "EVAL \"return redis.call('SCAN', 0)\" 0", "EVAL \"return redis.call('KEYS', '*')\" 0", "MULTI;GET expired;EXEC"])
        {
            if (setting == "yes" && line.Contains("RANDOMKEY", StringComparison.Ordinal)) continue; // whether it meets the expired one is chance
            _client.Run("FLUSHALL");
            _client.Run("CONFIG RESETSTAT");
            _client.Run("SET q v");
            _client.Run("SET expired v PXAT 1000000000000"); // not created
            _client.Run("SET expired v PX 1");
            Thread.Sleep(3);
            foreach (string part in line.Split(';')) _client.Run(part);
            _client.Run("DBSIZE");
            Assert.Equal(Expired(_pair.Oracle), Expired(_pair.Subject));
        }

        _client.Run("CONFIG SET lazyexpire-nested-arbitrary-keys yes");
        _client.Run("DEBUG SET-ACTIVE-EXPIRE 1");

        static (long All, long Active) Expired(ServerPair.Side side) => (ServerPair.Info(side.Control, "stats", "expired_keys"), ServerPair.Info(side.Control, "stats", "expired_keys_active"));
    }

    [Fact]
    public void Subscriptions_are_refused_while_memory_is_full()
    {
        _client.Run("CONFIG SET maxmemory 1");
        foreach (string line in (string[])["SUBSCRIBE c", "PSUBSCRIBE c*", "SSUBSCRIBE c", "UNSUBSCRIBE c", "PUBLISH c x"]) _client.Run(line);
        _client.Run("CONFIG SET maxmemory 0");
        _client.Run("SUBSCRIBE c");
        _client.Run("UNSUBSCRIBE c");
    }
}
