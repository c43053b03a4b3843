using System.Net;
using System.Text.Json;

namespace RedKite.Dashboard.Tests;

/// <summary>The browser of keys over HTTP. Looking changes nothing.</summary>
public class KeyBrowserTests
{
    [Fact]
    public async Task Keys_are_listed_and_values_shown_on_request()
    {
        await using PageServer server = await PageServer.StartAsync();
        server.Server.Execute("RPUSH", "list", "a", "b");
        server.Server.Execute("SET", "text", "value");
        JsonElement key = Assert.Single((await GetAsync(server, "/api/keys?pattern=li*&count=1000")).GetProperty("keys").EnumerateArray());
        Assert.Equal("""{"key":"list","database":0,"type":"list","ttl_ms":-1,"size":2}""", key.GetRawText());
        Assert.Equal("""{"type":"list","size":2,"elements":["a","b"]}""", (await GetAsync(server, "/api/keys/value?key=list")).GetRawText());
        Assert.Equal("""{"type":"string","size":5,"elements":["value"]}""", (await GetAsync(server, "/api/keys/value?key=text")).GetRawText());
        using HttpResponseMessage none = await server.Http.GetAsync("/api/keys/value?key=none", TestContext.Current.CancellationToken);
        Assert.Equal(HttpStatusCode.NotFound, none.StatusCode);
    }

    // Access times, from idle times that are restored with the keys; then frequencies, where every access would count.
    [Fact]
    public async Task Browsing_changes_no_access_time_and_no_frequency()
    {
        await using PageServer server = await PageServer.StartAsync("maxmemory-policy", "allkeys-lru", "lfu-log-factor", "0");
        string[] keys = Fill(server.Server);
        foreach (string key in keys) Restore(server.Server, key, "IDLETIME", "1000");
        await LookAsync(server, keys, times: 3);
        Assert.All(keys, key => Assert.InRange(server.Server.Execute("OBJECT", "IDLETIME", key).Integer, 1000, 1100));
        foreach (string key in keys) server.Server.Execute("TOUCH", key);
        Assert.All(keys, key => Assert.InRange(server.Server.Execute("OBJECT", "IDLETIME", key).Integer, 0, 60));

        server.Server.Execute("CONFIG", "SET", "maxmemory-policy", "allkeys-lfu");
        foreach (string key in keys) Restore(server.Server, key, "FREQ", "100");
        await LookAsync(server, keys, times: 3);
        Assert.All(keys, key => Assert.Equal(100, server.Server.Execute("OBJECT", "FREQ", key).Integer));
        foreach (string key in keys) server.Server.Execute("TOUCH", key);
        Assert.All(keys, key => Assert.Equal(101, server.Server.Execute("OBJECT", "FREQ", key).Integer));
    }

    [Fact]
    public async Task Browsing_counts_no_call_no_hit_and_no_use_of_a_key()
    {
        await using PageServer server = await PageServer.StartAsync();
        string[] keys = Fill(server.Server);
        server.Server.Execute("CONFIG", "RESETSTAT");
        await LookAsync(server, [.. keys, "missing"], times: 200);
        Assert.Empty(server.Server.Execute("BUSYKEYS").Items);
        string stats = server.Server.Execute("INFO", "stats").Text!;
        Assert.Contains("keyspace_hits:0\r\n", stats, StringComparison.Ordinal);
        Assert.Contains("keyspace_misses:0\r\n", stats, StringComparison.Ordinal);
        string calls = server.Server.Execute("INFO", "commandstats").Text!;
        foreach (string command in new[] { "scan", "type", "pttl", "strlen", "getrange", "lrange", "hscan", "xrange", "select" }) Assert.DoesNotContain($"cmdstat_{command}:", calls, StringComparison.Ordinal);
        Assert.Equal(keys.Length, server.Server.Execute("DBSIZE").Integer);
        Assert.InRange(server.Server.Execute("PTTL", "string").Integer, 1, 1_000_000);
        Assert.Equal(-1, server.Server.Execute("PTTL", "hash").Integer);
    }

    // A key of each type, made by scripts that do not declare their keys: these are no uses of keys.
    private static string[] Fill(RedKiteServer server)
    {
        Call(server, "SET", "string", "value");
        Call(server, "PEXPIRE", "string", "1000000");
        Call(server, "RPUSH", "list", "a", "b");
        Call(server, "SADD", "set", "a", "b");
        Call(server, "HSET", "hash", "field", "value");
        Call(server, "ZADD", "zset", "1", "a");
        Call(server, "XADD", "stream", "1-1", "field", "value");
        return ["string", "list", "set", "hash", "zset", "stream"];
    }

    private static void Call(RedKiteServer server, params string[] command) => Assert.False(server.Execute(["EVAL", "return redis.call(unpack(ARGV))", "0", .. command]).IsError);

    private static void Restore(RedKiteServer server, string key, string option, string value)
    {
        using RedKiteSession client = server.CreateSession();
        byte[] dump = client.Execute("DUMP", key).Bytes.ToArray();
        RedKiteReply reply = client.Execute("RESTORE"u8.ToArray(), System.Text.Encoding.UTF8.GetBytes(key), "0"u8.ToArray(), dump, "REPLACE"u8.ToArray(), System.Text.Encoding.UTF8.GetBytes(option), System.Text.Encoding.UTF8.GetBytes(value));
        Assert.Equal("OK", reply.Text);
    }

    private static async Task LookAsync(PageServer server, string[] keys, int times)
    {
        for (int i = 0; i < times; i++)
        {
            await GetAsync(server, "/api/keys?count=1000");
            foreach (string key in keys)
            {
                using HttpResponseMessage value = await server.Http.GetAsync($"/api/keys/value?key={key}", TestContext.Current.CancellationToken);
                Assert.Equal(key == "missing" ? HttpStatusCode.NotFound : HttpStatusCode.OK, value.StatusCode);
            }
        }
    }

    private static async Task<JsonElement> GetAsync(PageServer server, string path) => JsonDocument.Parse(await server.Http.GetStringAsync(path, TestContext.Current.CancellationToken)).RootElement;
}
