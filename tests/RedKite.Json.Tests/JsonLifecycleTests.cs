using System.Globalization;
using System.Text;
using System.Text.Json.Nodes;
using RedKite.Persistence.Rdb;
using RedKite.TestSupport;
using RedKite.Types.Tests;

namespace RedKite.Json.Tests;

/// <summary>What a server does with documents by itself, as with all other values.</summary>
public sealed class JsonLifecycleTests
{
    private const int PatienceMs = 60_000;
    private const int LargeItems = 4000;

    private static readonly string[] Keys = ["number", "small", "large", "nested"];

    [Fact]
    public async Task Key_commands_know_the_type()
    {
        await using TypeServer server = await TypeServer.StartAsync();
        Fill(server);
        Assert.Equal("ReJSON-RL", server.Run("TYPE", "large"));
        Assert.Equal("jsonpacked", server.Run("OBJECT", "ENCODING", "small"));
        Assert.Equal("jsonblocks", server.Run("OBJECT", "ENCODING", "large"));
        Assert.Equal("4", server.Client.Run("SCAN 0 COUNT 1000 TYPE ReJSON-RL").Items[1].Items.Count.ToString(CultureInfo.InvariantCulture));
        long usage = long.Parse(server.Run("MEMORY", "USAGE", "large"), CultureInfo.InvariantCulture);
        Assert.InRange(usage, server.Document("large").Length * 3 / 10, server.Document("large").Length * 13 / 10);
        server.Run("SET", "text", "x");
        Assert.Equal("WRONGTYPE Operation against a key holding the wrong kind of value", server.Run("LPUSH", "small", "x"));
    }

    [Fact]
    public async Task Documents_are_copied_renamed_moved_and_freed()
    {
        await using TypeServer server = await TypeServer.StartAsync(guardsMemory: true);
        server.Run("SELECT", "1");
        server.Run("SET", "table", "x");
        server.Run("DEL", "table");
        server.Run("SELECT", "0");
        Fill(server);
        server.Run("FLUSHALL", "SYNC");
        server.Run("SET", "a", "x");
        long usedBefore = server.UsedBytes;
        Fill(server);
        foreach (string key in Keys)
        {
            string digest = server.DigestOf(key);
            Assert.Equal("1", server.Run("COPY", key, "copy"));
            Assert.Equal(digest, server.DigestOf("copy"));
            Assert.Equal(server.Document(key), server.Document("copy"));
            server.Json("JSON.SET", "copy", "$", "[1]");
            Assert.Equal(digest, server.DigestOf(key));
            server.Run("COPY", key, "copy", "REPLACE");
            server.Json("JSON.SET", "copy", "$..name3", "\"changed\"");
            server.Json("JSON.SET", "copy", "$..added", "\"changed\"");
            server.Json("JSON.ARRAPPEND", "copy", "$.list", "\"changed\"");
            Assert.Equal(digest, server.DigestOf(key));
            Assert.Equal("OK", server.Run("RENAME", key, "renamed"));
            Assert.Equal("1", server.Run("MOVE", "renamed", "1"));
            server.Run("SELECT", "1");
            Assert.Equal(digest, server.DigestOf("renamed"));
            Assert.Equal("1", server.Run("UNLINK", "renamed"));
            server.Run("SELECT", "0");
            Assert.Equal("1", server.Run("DEL", "copy"));
        }

        server.WaitForMemory(usedBefore + 8208);
        server.CheckGuards();
    }

    [Fact]
    public async Task Documents_are_dumped_and_restored_as_text()
    {
        await using TypeServer server = await TypeServer.StartAsync();
        Fill(server);
        foreach (string key in Keys)
        {
            byte[] payload = server.Dump(key);
            Assert.Equal((byte)RdbType.Module, payload[0]);
            Assert.Equal("OK", server.Restore("restored", payload));
            Assert.Equal(server.Document(key), server.Document("restored"));
            Assert.Equal(server.DigestOf(key), server.DigestOf("restored"));
        }

        // Module 2, the id of ReJSON-RL in version 3, a string, the end: as Redis 8 writes it.
        byte[] small = server.Dump("number");
        Assert.Equal("07-81-", BitConverter.ToString(small)[..6]);
        Assert.Equal("-05-C0-05-00", BitConverter.ToString(small[..^10])[^12..]);
        Assert.Equal(("ReJSON-RL", 3UL), (RdbModule.NameOf(RdbModule.IdOf("ReJSON-RL", 3)), RdbModule.IdOf("ReJSON-RL", 3) & 1023));
    }

    [Fact]
    public async Task Damaged_payloads_are_refused()
    {
        var random = new Random(TestScale.GivenSeed ?? 20261129);
        await using TypeServer server = await TypeServer.StartAsync(guardsMemory: true, "loops", "1");
        Fill(server);
        foreach (string key in Keys)
        {
            server.RestoreDamaged(server.Dump(key), TestScale.Of(250, 12_500), random, damaged => JsonNode.Parse(server.Document(damaged), documentOptions: new System.Text.Json.JsonDocumentOptions { MaxDepth = 200 }));
        }
    }

    [Fact]
    public async Task Snapshots_have_the_documents_while_they_change()
    {
        await using TypeServer server = await TypeServer.StartAsync();
        Fill(server);
        string digest = server.Digest;
        Assert.Equal("OK", server.Run("DEBUG", "RELOAD"));
        Assert.Equal(digest, server.Digest);
        await server.SaveWhileAsync(() =>
        {
            foreach (string key in Keys)
            {
                server.Json("JSON.SET", key, "$..name3", "\"changed\"");
                server.Json("JSON.SET", key, "$", "{}");
            }
        });
    }

    [Theory]
    [InlineData("yes")]
    [InlineData("no")]
    public async Task Log_has_the_documents(string preamble)
    {
        await using TypeServer server = await TypeServer.StartAsync("appendonly", "yes", "aof-use-rdb-preamble", preamble);
        Fill(server);
        server.Run("PEXPIRE", "small", "100000000");
        server.Json("JSON.SET", "small", "$.a", "\"kept\"");
        Assert.NotEqual("-1", server.Run("PTTL", "small"));
        server.Json("JSON.SET", "small", "$", server.Document("small"));
        Assert.NotEqual("-1", server.Run("PTTL", "small"));
        Change(server);
        string digest = server.Digest;
        await server.RestartAsync();
        Assert.Equal(digest, server.Digest);
        await server.RewriteLogAsync();
        string @base = Encoding.Latin1.GetString(File.ReadAllBytes(Directory.GetFiles(server.Folder, "*.base.*", SearchOption.AllDirectories).Single()));
        Assert.Equal(preamble == "no", @base.Contains("JSON.SET", StringComparison.Ordinal));
    }

    [Fact]
    public async Task Replicas_get_the_documents()
    {
        await using TypeServer primary = await TypeServer.StartAsync("repl-diskless-sync-delay", "0");
        Fill(primary);
        await using TypeServer replica = await primary.StartReplicaAsync();
        Change(primary);
        primary.WaitForReplica();
        Assert.Equal(primary.Digest, replica.Digest);
        Assert.Equal(primary.Document("large"), replica.Document("large"));
    }

    // The replica gets its snapshot, and what follows, while fields change.
    [Fact]
    public async Task Replica_has_the_documents_that_change_meanwhile()
    {
        int seed = TestScale.GivenSeed ?? Environment.TickCount;
        await using TypeServer primary = await TypeServer.StartAsync("repl-diskless-sync-delay", "0");
        Fill(primary);
        await using TypeServer replica = await TypeServer.StartAsync();
        using var stopping = new CancellationTokenSource();
        using RespConnection writer = RespConnection.Connect(primary.Server.Port);
        int written = 0;
        Task writing = Task.Run(() =>
        {
            var random = new Random(seed);
            for (; !stopping.IsCancellationRequested; Volatile.Write(ref written, written + 1)) ChangeAtRandom(writer, random);
        }, TestContext.Current.CancellationToken);
        replica.Run("REPLICAOF", "127.0.0.1", primary.Port);
        Assert.True(SpinWait.SpinUntil(() => replica.Run("INFO", "replication").Contains("master_link_status:up", StringComparison.Ordinal), PatienceMs), replica.Log);
        int before = Volatile.Read(ref written);
        Assert.True(SpinWait.SpinUntil(() => Volatile.Read(ref written) > before + 100, PatienceMs), "changes follow the snapshot");
        await stopping.CancelAsync();
        await writing;
        writer.SetTimeout(PatienceMs);
        Assert.Equal("1", writer.Run("WAIT 1 55000").Text); // for what this client has written
        Assert.Equal(primary.Digest, replica.Digest);
    }

    [Fact]
    public async Task Documents_are_evicted_and_leave_no_memory_behind()
    {
        const int Room = 8 << 20;
        await using TypeServer server = await TypeServer.StartAsync(guardsMemory: true, "loops", "1");
        server.Run("SET", "a", "x");
        server.Run("FLUSHALL", "SYNC");
        server.Run("SET", "a", "x");
        long usedBefore = server.UsedBytes;
        long maxMemory = long.Parse(server.Run("INFO", "memory").Split("used_memory:")[1].Split('\r')[0], CultureInfo.InvariantCulture) + Room;
        server.Run("CONFIG", "SET", "maxmemory", maxMemory.ToString(CultureInfo.InvariantCulture));
        server.Run("CONFIG", "SET", "maxmemory-policy", "allkeys-random");
        string text = JsonModel.Text(JsonMemoryTests.Of("profile", 20_000)), small = JsonModel.Text(JsonMemoryTests.Of("orders", 900));
        long most = 0;
        for (int i = 0; i < 3000; i++)
        {
            Assert.Equal("OK", server.Json("JSON.SET", "doc:" + i.ToString(CultureInfo.InvariantCulture), "$", i % 2 == 0 ? text : small));
            server.Json("JSON.SET", "doc:" + (i / 2).ToString(CultureInfo.InvariantCulture), "$.field0", "\"changed\"");
            most = Math.Max(most, server.UsedBytes);
        }

        Assert.InRange(most, usedBefore + (Room / 2), usedBefore + Room + (1 << 20));
        Assert.DoesNotContain("evicted_keys:0\r", server.Run("INFO", "stats"), StringComparison.Ordinal);
        server.Run("CONFIG", "SET", "maxmemory", "0");
        for (int i = 0; i < 3000; i++) server.Run("DEL", "doc:" + i.ToString(CultureInfo.InvariantCulture));
        server.Run("SET", "a", "x");
        server.Run("FLUSHALL", "SYNC");
        server.Run("SET", "a", "x");
        server.WaitForMemory(usedBefore + 8208);
        server.CheckGuards();
    }

    // Of the largest document the depth, as far as the first values show it.
    [Theory]
    [InlineData(10, "1", "4")]
    [InlineData(10_000, "2", "2")]
    public async Task Reports_count_the_documents(int items, string withBlocks, string depth)
    {
        await using TypeServer server = await TypeServer.StartAsync("diagnostics", "yes", "key-survey-cpu-percent", "0"); // no walk has begun yet
        server.Json("JSON.SET", "deep", "$", "[[[[[[[1]]]]]]]");
        server.Json("JSON.SET", "large", "$", $$"""{"text":"{{new string('x', 5000)}}","a":[1,{"b":{} }]}""");
        server.Json("JSON.SET", "wide", "$", $"[[1],{string.Join(',', Enumerable.Repeat("1", items))},[[[1]]]]");
        server.Run("CONFIG", "SET", "key-survey-cpu-percent", "100");
        Assert.True(SpinWait.SpinUntil(() => server.Server.Diagnostics!.Survey.Latest is not null, PatienceMs), "a survey has ended");
        JsonNode document = JsonNode.Parse(server.Server.Reports!.Read("big-keys", TestContext.Current.CancellationToken)!)!["types"]!["document"]!;
        Assert.Equal(("3", withBlocks, depth), ($"{document["keys"]}", $"{document["facts"]!["with_blocks"]}", $"{document["facts"]!["largest_depth"]}"));
    }

    [Fact]
    public async Task Digest_does_not_depend_on_parts()
    {
        await using TypeServer server = await TypeServer.StartAsync();
        Fill(server);
        Assert.InRange(server.CheckDigestOfParts("large"), 100, LargeItems);
    }

    [Fact]
    public async Task Defragmentation_moves_every_block_and_keeps_the_documents()
    {
        await using TypeServer server = await TypeServer.StartAsync(guardsMemory: true, "loops", "1");
        Fill(server);
        for (int i = 0; i < 3; i++)
        {
            server.MoveBlocks(80);
            Change(server);
        }
    }

    [Fact]
    public async Task Events_of_documents_are_published()
    {
        await using TypeServer server = await TypeServer.StartAsync("notify-keyspace-events", "KEA");
        using RespConnection subscriber = RespConnection.Connect(server.Server.Port);
        subscriber.Run("PSUBSCRIBE __keyspace@0__:doc");
        (string Command, string Event)[] rows =
        [
            ("JSON.SET doc $ {\"n\":1,\"a\":[1,2,3],\"s\":\"x\",\"b\":true}", "json.set"), ("JSON.NUMINCRBY doc $.n 1", "json.numincrby"), ("JSON.NUMMULTBY doc $.n 2", "json.nummultby"),
            ("JSON.ARRAPPEND doc $.a 4", "json.arrappend"), ("JSON.ARRINSERT doc $.a 0 0", "json.arrinsert"), ("JSON.ARRPOP doc $.a", "json.arrpop"), ("JSON.ARRTRIM doc $.a 1 2", "json.arrtrim"),
            ("JSON.STRAPPEND doc $.s \"y\"", "json.strappend"), ("JSON.TOGGLE doc $.b", "json.toggle"), ("JSON.MERGE doc $ {\"c\":1}", "json.merge"), ("JSON.CLEAR doc $.a", "json.clear"),
            ("JSON.MSET doc $.z 1", "json.mset"), ("JSON.DEL doc $.z", "json.del"), ("JSON.DEL doc", "json.del"),
        ];
        foreach ((string command, string keyEvent) in rows)
        {
            server.Json(command.Split(' '));
            Assert.Equal(keyEvent, subscriber.Read().Items[3].Text);
        }
    }

    [Fact]
    public async Task Transactions_scripts_and_users_know_the_commands()
    {
        await using TypeServer server = await TypeServer.StartAsync();
        server.Run("MULTI");
        server.Json("JSON.SET", "doc", "$", """{"a":1}""");
        server.Json("JSON.NUMINCRBY", "doc", "$.a", "1");
        Assert.Equal("OK [2]", server.Run("EXEC"));
        Assert.Equal("""{"a":2}""", server.Run("EVAL", "return redis.call('JSON.GET', KEYS[1])", "1", "doc"));
        server.Run("ACL", "SETUSER", "reader", "on", "nopass", "~*", "-@all", "+@json", "-@write");
        Assert.Contains("json.set", server.Run("ACL", "CAT", "json"), StringComparison.Ordinal);
        using RespConnection reader = RespConnection.Connect(server.Server.Port);
        reader.Run("AUTH reader x");
        Assert.Equal("""{"a":2}""", reader.Json("JSON.GET", "doc"));
        Assert.StartsWith("NOPERM", reader.Json("JSON.SET", "doc", "$", "1"), StringComparison.Ordinal);
        Assert.Contains("ReJSON", server.Run("INFO", "modules"), StringComparison.Ordinal);
        server.Run("WATCH", "doc");
        server.Json("JSON.SET", "doc", "$.a", "3");
        server.Run("MULTI");
        server.Run("PING");
        Assert.Equal("(nil)", server.Run("EXEC"));
    }

    private static void ChangeAtRandom(RespConnection client, Random random)
    {
        string item = $"$[{random.Next(LargeItems)}]";
        string[] command = random.Next(7) switch
        {
            0 => ["JSON.SET", "large", $"{item}.name3", $"\"{new string('x', random.Next(2000))}\""],
            1 => ["JSON.NUMINCRBY", "large", $"{item}.id", "1.5"],
            2 => ["JSON.ARRAPPEND", "nested", "$.list[*].inner", "1"],
            3 => ["JSON.ARRPOP", "nested", "$.list[3:9].inner", "0"],
            4 => ["JSON.STRAPPEND", "nested", "$.list[*].name3", "\"y\""],
            5 => ["JSON.MERGE", "small", "$", $$"""{"k{{random.Next(50)}}":{{random.Next(2)}}}"""],
            _ => ["JSON.DEL", "small", $"$.k{random.Next(50)}"],
        };
        client.Json(command);
    }

    private static void Change(TypeServer server)
    {
        server.Json("JSON.SET", "large", "$[5].name3", "\"changed\"");
        server.Json("JSON.ARRAPPEND", "large", "$", """{"name1":[1,2,3]}""");
        server.Json("JSON.DEL", "large", "$[17]");
        server.Json("JSON.NUMINCRBY", "large", "$[*].id", "1");
        server.Json("JSON.MERGE", "small", "$", """{"x":{"y":[1,2]},"a":null}""");
        server.Json("JSON.ARRTRIM", "nested", "$.list", "3", "40");
        server.Json("JSON.CLEAR", "nested", "$.list[2]");
    }

    private static void Fill(TypeServer server)
    {
        server.Json("JSON.SET", "number", "$", "5");
        server.Json("JSON.SET", "small", "$", """{"a":"text","b":[1,2.5,null],"c":{"name3":true}}""");
        var list = new JsonArray();
        for (int i = 0; i < LargeItems; i++) list.Add(new JsonObject { ["id"] = i, ["name1"] = "value" + i.ToString(CultureInfo.InvariantCulture), ["name3"] = i % 2 == 0, ["price"] = i + 0.25 });
        server.Json("JSON.SET", "large", "$", JsonModel.Text(list));
        var nested = new JsonObject { ["list"] = new JsonArray(), ["text"] = new string('x', 200_000) };
        for (int i = 0; i < 60; i++) ((JsonArray)nested["list"]!).Add(new JsonObject { ["name3"] = new string('y', 1500 + i), ["inner"] = new JsonArray([.. Enumerable.Range(0, 900).Select(n => (JsonNode)n)]) });
        server.Json("JSON.SET", "nested", "$", JsonModel.Text(nested));
    }
}
