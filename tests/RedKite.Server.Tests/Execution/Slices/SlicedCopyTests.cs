using System.Globalization;
using RedKite.Store.Keyspace;
using RedKite.Store.Values.Copying;
using RedKite.TestSupport;

namespace RedKite.Server.Tests.Execution.Slices;

/// <summary>COPY of large values, slice by slice: commands of other clients in between are steps of the test.</summary>
public sealed class SlicedCopyTests : IAsyncDisposable
{
    // No machine copies them in one slice. Nodes of a list are copied as a whole.
    private const int Members = 20_000;
    private static readonly int Elements = TestScale.Of(gate: 100_000, full: 400_000);

    private readonly RedKiteServer _server = Start();

    public async ValueTask DisposeAsync() => await _server.DisposeAsync();

    // A slice looks at the clock between steps.
    // Slices end by the clock, between steps.
    [Theory]
    [InlineData("set", BlockCopy.PieceBytes)]
    [InlineData("hash", BlockCopy.PieceBytes)]
    [InlineData("zset", BlockCopy.PieceBytes)]
    [InlineData("list", BlockCopy.PieceBytes)]
    [InlineData("stream", BlockCopy.PieceBytes)]
    [InlineData("string", long.MaxValue)] // the copy has its size from the first step on
    [InlineData("intset", long.MaxValue)]
    [InlineData("members of 300 KB", long.MaxValue)]
    public void A_copy_is_many_steps_that_copy_little(string kind, long stepBytesMax)
    {
        Fill("a", kind);
        Keyspace keyspace = _server.Engine.Keyspace;
        Database database = keyspace.Databases[0];
        EntryCopy copy = EntryCopy.Begin(database.FindByHash(keyspace.Hash("a"u8)), database, "b"u8, keyspace.Hash("b"u8));
        long largest = 0;
        int steps = 0;
        for (; !copy.IsComplete; steps++)
        {
            long before = keyspace.UsedBytes;
            copy.Step();
            largest = Math.Max(largest, keyspace.UsedBytes - before);
        }

        copy.Discard();
        Assert.InRange(largest, stepBytesMax == long.MaxValue ? 0 : 1, stepBytesMax);
        Assert.InRange(steps, 3, int.MaxValue);
    }

    [Theory]
    [InlineData("set")]
    [InlineData("hash")]
    [InlineData("zset")]
    [InlineData("list")]
    [InlineData("stream")]
    [InlineData("string")]
    [InlineData("intset")]
    [InlineData("members of 300 KB")]
    public void Copy_equals_its_source(string kind)
    {
        Fill("a", kind);
        Run("PEXPIREAT", "a", "33177117420000");
        long used = _server.Engine.Keyspace.UsedBytes;
        using SlicedCommand copy = Begin("COPY", "a", "b");
        Assert.Equal("0", Run("EXISTS", "b"));
        Assert.Equal(":1", copy.RunToEnd());
        string[] digests = Digests("a", "b");
        Assert.Equal(digests[0], digests[1]);
        Assert.Equal("33177117420000", Run("PEXPIRETIME", "b"));
        Assert.Equal(Run("OBJECT", "ENCODING", "a"), Run("OBJECT", "ENCODING", "b"));
        if (kind != "list") Assert.InRange(_server.Engine.Keyspace.UsedBytes - used, long.Parse(Run("MEMORY", "USAGE", "a", "SAMPLES", "0")!, CultureInfo.InvariantCulture) / 2, long.MaxValue); // lists become compact meanwhile
        Run("UNLINK", "a");
        Assert.Equal(digests[1], Digests("b")[0]); // nothing of it belongs to the source
        Run("UNLINK", "b");
        Assert.Equal("0", Run("DBSIZE"));
    }

    [Fact]
    public void Copy_of_a_stream_has_its_groups_consumers_and_pending_entries()
    {
        Fill("a", "stream");
        Run("XGROUP", "CREATE", "a", "g", "0");
        Run("XGROUP", "CREATE", "a", "idle", "5", "ENTRIESREAD", "7");
        Run("XREADGROUP", "GROUP", "g", "one", "COUNT", "3000", "STREAMS", "a", ">");
        Run("XREADGROUP", "GROUP", "g", "two", "COUNT", "4000", "STREAMS", "a", ">");
        Run("XGROUP", "CREATECONSUMER", "a", "g", "three");
        Run("XDEL", "a", "3-1", "19999-1", "20000-1");
        using SlicedCommand copy = Begin("COPY", "a", "b");
        Assert.Equal(":1", copy.RunToEnd());
        foreach (string[] question in (string[][])[["XINFO", "STREAM"], ["XINFO", "GROUPS"]])
        {
            Assert.Equal(Run([.. question, "a"]), Run([.. question, "b"]));
        }

        Assert.Equal(Run("XPENDING", "a", "g"), Run("XPENDING", "b", "g"));
        Assert.StartsWith("ERR The ID specified in XADD is equal or smaller", Run("XADD", "b", "20000-1", "f", "v"), StringComparison.Ordinal); // the source's last id
    }

    [Fact]
    public void Fields_keep_their_expiries()
    {
        Fill("a", "hash");
        Run("HPEXPIREAT", "a", "33177117420000", "FIELDS", "2", "f1", "f2");
        Run("HPEXPIREAT", "a", "33177117400000", "FIELDS", "1", "f3");
        using SlicedCommand copy = Begin("COPY", "a", "b");
        Assert.Equal(":1", copy.RunToEnd());
        Assert.Equal("33177117420000 33177117400000 -1", Run("HPEXPIRETIME", "b", "FIELDS", "3", "f1", "f3", "f4"));
        string[] digests = Digests("a", "b");
        Assert.Equal(digests[0], digests[1]);
    }

    [Theory]
    [InlineData("SADD a new", ":1")]
    [InlineData("SREM a m7", ":1")]
    [InlineData("EXPIRE a 100", ":1")]
    [InlineData("DEL a", ":0")]
    [InlineData("RENAME a c", ":0")]
    [InlineData("MOVE a 1", ":0")]
    [InlineData("FLUSHALL", ":0")]
    [InlineData("FLUSHDB", ":0")]
    [InlineData("SWAPDB 0 1", ":0")]
    [InlineData("SET a text", ":1")]
    [InlineData("PEXPIREAT a 1", ":0")]
    public void Source_that_changes_meanwhile_is_copied_in_its_final_state(string change, string reply)
    {
        Fill("a", "set");
        using SlicedCommand copy = Begin("COPY", "a", "b");
        Assert.True(copy.RunSlice());
        Run(change.Split(' '));
        Assert.Equal(reply, copy.RunToEnd());
        if (reply == ":1")
        {
            string[] digests = Digests("a", "b");
            Assert.Equal(digests[0], digests[1]);
        }
        else
        {
            Assert.Equal("0", Run("EXISTS", "b"));
        }

        NothingIsLeft();
    }

    [Fact]
    public void Source_that_keeps_changing_is_finally_copied_at_once()
    {
        Fill("a", "set");
        using SlicedCommand copy = Begin("COPY", "a", "b");
        int changes = 0;
        while (copy.RunSlice()) Run("SADD", "a", $"new{changes++}");
        Assert.Equal(":1", copy.Reply);
        Assert.InRange(changes, 2, 4);
        string[] digests = Digests("a", "b");
        Assert.Equal(digests[0], digests[1]);
        NothingIsLeft();
    }

    [Fact]
    public void Reads_and_changes_of_other_keys_do_not_disturb()
    {
        Fill("a", "list");
        using SlicedCommand copy = Begin("COPY", "a", "b");
        int slices = 0;
        do
        {
            Run("LINDEX", "a", "77");
            Run("LRANGE", "a", "-50", "-1");
            Run("SET", $"other{slices}", "x");
            Run("DEL", $"other{slices - 1}");
            slices++;
        }
        while (copy.RunSlice());
        Assert.Equal((":1", 0), (copy.Reply, copy.Restarts));
        string[] digests = Digests("a", "b");
        Assert.Equal(digests[0], digests[1]);
    }

    [Fact]
    public void Destination_that_appears_meanwhile_stays_without_replace()
    {
        Fill("a", "zset");
        using SlicedCommand copy = Begin("COPY", "a", "b");
        Assert.True(copy.RunSlice());
        Run("SET", "b", "mine");
        Assert.Equal(":0", copy.RunToEnd());
        Assert.Equal("mine", Run("GET", "b"));
        NothingIsLeft();
    }

    [Fact]
    public void Destination_is_replaced_at_the_end()
    {
        Fill("a", "zset");
        Run("SET", "b", "old", "EX", "100");
        using SlicedCommand copy = Begin("COPY", "a", "b", "REPLACE");
        Assert.Equal("old", Run("GET", "b"));
        Assert.True(copy.RunSlice());
        Run("SADD", "b:2", "x");
        Run("RENAME", "b:2", "b");
        Assert.Equal(":1", copy.RunToEnd());
        Assert.Equal(("zset", "-1"), (Run("TYPE", "b"), Run("TTL", "b")));
        Run("COPY", "a", "a", "DB", "3");
        NothingIsLeft();
    }

    [Fact]
    public void Disconnected_client_leaves_no_state()
    {
        Fill("a", "members of 300 KB");
        long used = _server.Engine.Keyspace.UsedBytes;
        using SlicedCommand copy = Begin("COPY", "a", "b");
        while (_server.Engine.Keyspace.UsedBytes <= used + 100_000) Assert.True(copy.RunSlice()); // a slice is short
        copy.Client.TryEnd();
        Assert.False(copy.RunSlice());
        NothingIsLeft();
        Assert.Equal((used, "0"), (_server.Engine.Keyspace.UsedBytes, Run("EXISTS", "b")));
    }

    [Fact]
    public void Wait_is_not_ended_by_client_unblock()
    {
        Fill("a", "set");
        using SlicedCommand copy = Begin("COPY", "a", "b");
        Assert.Equal("0", Run("CLIENT", "UNBLOCK", copy.Client.Session.Id.ToString(CultureInfo.InvariantCulture), "ERROR"));
        Assert.Equal(":1", copy.RunToEnd());
    }

    [Fact]
    public async Task One_change_is_counted_and_blocked_clients_of_the_destination_are_served()
    {
        Fill("a", "list");
        long changes = Number("INFO", "persistence", "rdb_changes_since_last_save:");
        long hits = Number("INFO", "stats", "keyspace_hits:");
        Task<RedKiteReply> popped = Task.Run(() => _server.Execute("BLPOP", "b", "60"), TestContext.Current.CancellationToken);
        NetworkTests.WaitFor(() => _server.Engine.Blocked.Count == 1, "it waits");
        using (SlicedCommand copy = Begin("COPY", "a", "b")) Assert.Equal(":1", copy.RunToEnd());
        Assert.Equal("e1", (await popped).Items[1].Text);
        Assert.Equal(changes + 2, Number("INFO", "persistence", "rdb_changes_since_last_save:"));
        Assert.Equal(hits + 1, Number("INFO", "stats", "keyspace_hits:"));
    }

    [Fact]
    public void Caller_in_process_gets_its_reply()
    {
        Fill("a", "hash");
        Assert.Equal("1", Run("COPY", "a", "b"));
        Assert.Equal("0", Run("COPY", "a", "b"));
        Assert.Equal("1", Run("COPY", "a", "b", "REPLACE"));
        Assert.Equal("1", Run("COPY", "a", "a", "DB", "2"));
        string[] digests = Digests("a", "b");
        Assert.Equal(digests[0], digests[1]);
        NothingIsLeft();
    }

    private static RedKiteServer Start()
    {
        var options = new RedKiteOptions { Port = 0 };
        options.Settings["bind"] = "127.0.0.1";
        options.Settings["enable-debug-command"] = "yes";
        return RedKiteServer.StartAsync(options).GetAwaiter().GetResult();
    }

    // Everything that a copy holds is freed or belongs to a key, and no stripe is watched.
    private void NothingIsLeft()
    {
        Assert.All(_server.Engine.Keyspace.Stripes, stripe => Assert.False(stripe.HasCopies));
        NetworkTests.WaitFor(() => _server.Engine.Keyspace.FreeingBytes == 0 && _server.Engine.Keyspace.Stripes.All(stripe => !stripe.HasDropped), "released memory is freed");
    }

    private SlicedCommand Begin(params string[] command) => new(_server.Engine, command);

    private string? Run(params string[] command) => Text(_server.Execute(command));

    private static string? Text(RedKiteReply reply) => reply.Items.Count > 0 ? string.Join(' ', reply.Items.Select(Text)) : reply.Text;

    private string[] Digests(params string[] keys) => Run(["DEBUG", "DIGEST-VALUE", .. keys])!.Split(' ');

    private long Number(string command, string section, string field) =>
        long.Parse(Run(command, section)!.Split("\r\n").Single(line => line.StartsWith(field, StringComparison.Ordinal))[field.Length..], CultureInfo.InvariantCulture);

    private void Fill(string key, string kind)
    {
        switch (kind)
        {
            case "string":
                Run("SETRANGE", key, "5000000", "end");
                Run("SETRANGE", key, "1234567", "middle");
                break;
            case "members of 300 KB":
                for (int i = 0; i < 10; i++) Run("SADD", key, new string((char)('a' + i), 300_000));
                break;
            case "intset":
                Run("CONFIG", "SET", "set-max-intset-entries", "1000000");
                Run(["SADD", key, .. Enumerable.Range(0, TestScale.Of(gate: 200_000, full: 900_000)).Select(i => (i * 3L * int.MaxValue).ToString(CultureInfo.InvariantCulture))]);
                break;
            case "stream":
                for (int i = 1; i <= Members; i++) Run("XADD", key, $"{i}-1", "field", $"v{i}" + new string('x', 200)); // nodes are copied as a whole
                break;
            default:
                Run([kind switch { "set" => "SADD", "hash" => "HSET", "zset" => "ZADD", _ => "RPUSH" }, key, .. Enumerable.Range(1, kind == "list" ? Elements : Members).SelectMany<int, string>(i => kind switch
                {
                    "set" => [$"m{i}"],
                    "hash" => [$"f{i}", $"v{i}"],
                    "zset" => [((i * 7919) % 1000).ToString(CultureInfo.InvariantCulture), $"m{i}"],
                    _ => [$"e{i}"],
                })]);
                break;
        }
    }
}
