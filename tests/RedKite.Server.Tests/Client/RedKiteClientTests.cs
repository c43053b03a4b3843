using System.Buffers;
using System.Text;

namespace RedKite.Server.Tests;

/// <summary>The typed client: each family, results in every form, errors, many threads, and what it allocates.</summary>
public sealed class RedKiteClientTests : IAsyncLifetime
{
    private readonly ManualClock _clock = new();
    private RedKiteServer _server = null!;
    private RedKiteClient _client = null!;

    public async ValueTask InitializeAsync()
    {
        var options = new RedKiteOptions { Port = 0, TimeProvider = _clock };
        options.Settings["loops"] = "1";
        _server = await RedKiteServer.StartAsync(options);
        _client = _server.CreateClient();
    }

    public async ValueTask DisposeAsync()
    {
        await _server.DisposeAsync();
        Assert.Null(_server.Failure);
    }

    [Fact]
    public void Strings_in_every_form()
    {
        _client.Set("k", "grüße");
        Assert.Equal("grüße", _client.GetString("k"u8));
        Assert.Equal(Encoding.UTF8.GetBytes("grüße"), _client.Get(Encoding.UTF8.GetBytes("k")));
        using (RedKitePooledValue pooled = _client.GetPooled("k")!) Assert.Equal(7, pooled.Memory.Length);
        var writer = new ArrayBufferWriter<byte>();
        Assert.True(_client.TryGet("k", writer));
        Assert.Equal(7, writer.WrittenCount);
        byte[] buffer = new byte[4];
        Assert.Equal(7, _client.Get("k", buffer));
        Assert.Equal("grü"u8.ToArray(), buffer);
        Assert.Null(_client.Get("missing"));
        Assert.Null(_client.GetString("missing"));
        Assert.Null(_client.GetPooled("missing"));
        Assert.Equal(-1, _client.Get("missing", buffer));
        Assert.False(_client.TryGet("missing", writer));
        Assert.Equal((string?[])["grüße", null], _client.GetMany("k", "missing").ToStrings());
    }

    [Fact]
    public void Setting_on_conditions_and_with_expiries()
    {
        Assert.False(_client.Set("k", "a", RedKiteWhen.Exists));
        Assert.True(_client.Set("k", "a", RedKiteWhen.Missing, TimeSpan.FromSeconds(10)));
        Assert.False(_client.Set("k", "b", RedKiteWhen.Missing));
        Assert.Equal(TimeSpan.FromSeconds(10), _client.TimeToLive("k"));
        Assert.True(_client.Persist("k"));
        Assert.Null(_client.TimeToLive("k"));
        _client.Set("k", "c", TimeSpan.FromMilliseconds(1.5)); // rounded up
        _clock.Advance(1);
        Assert.Equal("c", _client.GetString("k"));
        _clock.Advance(1);
        Assert.Null(_client.GetString("k"));
        Assert.Null(_client.GetAndSet("k", "d"));
        Assert.Equal("d"u8.ToArray(), _client.GetAndSet("k", "e"));
        Assert.Equal("e"u8.ToArray(), _client.GetAndExpire("k", TimeSpan.FromSeconds(1)));
        Assert.Equal("e"u8.ToArray(), _client.GetAndDelete("k"));
        Assert.False(_client.Exists("k"));
    }

    [Fact]
    public void Counters_bits_and_hyperloglogs()
    {
        Assert.Equal((1, 41), (_client.Increment("n"), _client.Increment("n", 40)));
        Assert.Equal(1.25, _client.IncrementDouble("f", 1.25));
        Assert.Equal((3, 5), (_client.Append("s", "abc"), _client.Append("s", "de")));
        Assert.Equal("bcd"u8.ToArray(), _client.GetRange("s", 1, 3));
        Assert.Equal(6, _client.SetRange("s", 5, "f"));
        Assert.Equal(6, _client.StringLength("s"));
        Assert.False(_client.SetBit("b", 9, true));
        Assert.True(_client.GetBit("b", 9));
        Assert.Equal((1, 9), (_client.CountBits("b"), _client.FindBit("b", true)));
        Assert.True(_client.HyperLogLogAdd("h", "x"));
        Assert.True(_client.HyperLogLogAdd("h2", "y"));
        _client.HyperLogLogMerge("h3", "h", "h2");
        Assert.Equal((2, 2), (_client.HyperLogLogCount("h", "h2"), _client.HyperLogLogCount("h3")));
    }

    [Fact]
    public void Hashes()
    {
        Assert.True(_client.HashSet("h", "a", "1"));
        Assert.False(_client.HashSet("h", "a", "2"));
        Assert.Equal(2, _client.HashSetMany("h", new Dictionary<string, string> { ["b"] = "3", ["c"] = "4" }));
        Assert.Equal("2", _client.HashGetString("h", "a"));
        Assert.Equal((string?[])["2", null], _client.HashGetMany("h", "a", "z").ToStrings());
        Assert.Equal("4", _client.HashGetAll("h").ToDictionary()["c"]);
        Assert.Equal(12, _client.HashIncrement("h", "a", 10));
        Assert.True(_client.HashExpire("h", "b", TimeSpan.FromSeconds(1)));
        Assert.False(_client.HashExpire("h", "z", TimeSpan.FromSeconds(1)));
        _clock.Advance(1000);
        Assert.Equal((string?[])["a", "c"], _client.HashFields("h").ToStrings().Order());
        Assert.True(_client.HashDelete("h", "a"));
        Assert.False(_client.HashExists("h", "a"));
        Assert.Equal(1, _client.HashLength("h"));
        _client.HashSet("h", "d", "5", TimeSpan.FromSeconds(1));
        _client.HashSetMany("h", new Dictionary<string, string> { ["e"] = "6", ["f"] = "7" }, TimeSpan.FromSeconds(2));
        _clock.Advance(1000);
        Assert.Equal(["c", "e", "f"], _client.HashGetAll("h").ToDictionary().Keys.Order());
        _clock.Advance(1000);
        Assert.Equal(1, _client.HashLength("h"));
    }

    [Fact]
    public void Lists_and_sets()
    {
        Assert.Equal((1, 2), (_client.ListPushLeft("l", "b"), _client.ListPushLeft("l", "a")));
        Assert.Equal(4, _client.ListPushRightMany("l", "c", "d"));
        Assert.Equal((string?[])["a", "b", "c", "d"], _client.ListRange("l").ToStrings());
        Assert.Equal("a"u8.ToArray(), _client.ListMove("l", "m", RedKiteEnd.Left, RedKiteEnd.Right));
        Assert.Equal("b"u8.ToArray(), _client.ListPopLeft("l"));
        Assert.Equal("d"u8.ToArray(), _client.ListPopRight("l"));
        _client.ListSet("l", 0, "e");
        Assert.Equal("e"u8.ToArray(), _client.ListGet("l", 0));
        Assert.Equal(1, _client.ListRemove("l", "e"));
        Assert.Equal(0, _client.ListLength("l"));
        Assert.Null(_client.ListPopLeft("l"));
        Assert.True(_client.SetAdd("s", "a"));
        Assert.Equal(2, _client.SetAddMany("s", "a", "b", "c"));
        Assert.True(_client.SetContains("s", "b"));
        Assert.True(_client.SetRemove("s", "b"));
        Assert.Equal((string?[])["a", "c"], _client.SetMembers("s").ToStrings().Order());
        _client.SetAddMany("t", "c", "d");
        Assert.Equal((string?[])["c"], _client.SetIntersect("s", "t").ToStrings());
        Assert.Equal((string?[])["a"], _client.SetDifference("s", "t").ToStrings());
        Assert.Equal(3, _client.SetUnion("s", "t").ToStrings().Length);
        Assert.Equal((1, 3, 1), (_client.SetIntersectStore("i", "s", "t"), _client.SetUnionStore("u", "s", "t"), _client.SetDifferenceStore("d", "s", "t")));
        Assert.Equal((string?[])["c"], _client.SetMembers("i").ToStrings());
        Assert.Equal(2, _client.SetLength("s"));
        Assert.Empty(_client.SetMembers("missing").ToStrings());
    }

    [Fact]
    public void Sorted_sets_and_places()
    {
        Assert.True(_client.SortedSetAdd("z", "a", 1.5));
        Assert.True(_client.SortedSetAdd("z", "b", double.PositiveInfinity));
        Assert.Equal(3.5, _client.SortedSetIncrement("z", "a", 2));
        Assert.Equal((3.5, double.PositiveInfinity, null), (_client.SortedSetScore("z", "a"), _client.SortedSetScore("z", "b"), _client.SortedSetScore("z", "c")));
        Assert.Equal((0L, 1L, null), (_client.SortedSetRank("z", "a"), _client.SortedSetRank("z", "a", fromHighest: true), _client.SortedSetRank("z", "c")));
        var scores = new List<double>();
        using (RedKitePairs pairs = _client.SortedSetRangeByRank("z"))
        {
            foreach ((RedKiteItem member, RedKiteItem score) in pairs)
            {
                Assert.Equal(1, member.Bytes.Length);
                scores.Add(score.ToDouble());
                Assert.Equal($"{member.Text}={score.Text}, {scores.Count}", $"{member}={score}, {scores.Count}");
            }
        }

        Assert.Equal([3.5, double.PositiveInfinity], scores);
        Assert.Equal([KeyValuePair.Create("a", "3.5")], _client.SortedSetRangeByScore("z", 0, 10).ToArray());
        Assert.Equal(double.PositiveInfinity, Assert.Single(_client.SortedSetPop("z", fromHighest: true).ToScoredMembers()).Score);
        Assert.Equal(1, _client.SortedSetRemoveByScore("z", double.NegativeInfinity, 100));
        Assert.Equal(0, _client.SortedSetLength("z"));
        Assert.True(_client.GeoAdd("g", "Palermo", 13.361389, 38.115556));
        Assert.True(_client.GeoAdd("g", "Catania", 15.087269, 37.502669));
        Assert.InRange(_client.GeoDistanceOf("g", "Palermo", "Catania")!.Value, 166274, 166275);
        Assert.Equal(2, _client.SortedSetAddMany("many", new("a"u8.ToArray(), 1), new("b"u8.ToArray(), -0.5)));
        Assert.Equal(["b", "a"], _client.SortedSetRangeByRank("many").ToArray().Select(static pair => pair.Key));
        Assert.Equal((string?[])["Catania", "Palermo"], _client.GeoSearch("g", 15, 37, 200_000).ToStrings());
    }

    [Fact]
    public void Streams()
    {
        string id = _client.StreamAdd("s", "a", "1");
        _client.StreamAdd("s", 10, "b", "2", "c", "3");
        IReadOnlyList<RedKiteStreamEntry> entries = _client.StreamRange("s");
        Assert.Equal((id, 2), (entries[0].Id, entries[1].Fields.Count));
        _client.StreamCreateGroup("s", "g", "0");
        Assert.Equal(2, _client.StreamReadGroup("s", "g", "me").Count);
        Assert.Empty(_client.StreamReadGroup("s", "g", "me"));
        RedKiteClaimedEntries claimed = _client.StreamAutoClaim("s", "g", "you", TimeSpan.Zero, count: 1);
        Assert.Equal((id, true, 0), (Assert.Single(claimed.Entries).Id, claimed.Next != "0-0", claimed.DeletedIds.Count));
        Assert.Equal("0-0", _client.StreamAutoClaim("s", "g", "you", TimeSpan.Zero, claimed.Next).Next);
        Assert.True(_client.StreamAcknowledge("s", "g", id));
        Assert.True(_client.StreamDelete("s", id));
        Assert.Equal((1, 1), (_client.StreamLength("s"), _client.StreamTrim("s", 0)));
    }

    [Fact]
    public void Scripts_keys_and_raw_commands()
    {
        Assert.Equal("v", _client.Eval("redis.call('set', KEYS[1], ARGV[1]); return redis.call('get', KEYS[1])", ["k"], ["v"]).Text);
        Assert.Equal("NOSCRIPT", Assert.Throws<RedKiteException>(() => _client.EvalSha(new string('0', 40))).ErrorClass);
        Assert.Equal("2", _client.EvalSha(_client.ScriptLoad("return 1 + 1")).Text);
        Assert.Equal("string", _client.TypeOf("k"));
        _client.SetMany(new Dictionary<string, string> { ["m1"] = "1", ["m2"] = "2" });
        _client.SetMany("m2"u8.ToArray(), "3"u8.ToArray());
        Assert.Equal((string?[])["1", "3"], _client.GetMany("m1", "m2").ToStrings());
        Assert.Throws<ArgumentException>(() => _client.SetMany(new Dictionary<string, string> { ["m1"] = null! }));
        _client.Rename("k", "l");
        Assert.True(_client.Copy("l", "m"));
        Assert.False(_client.Copy("l", "m"));
        Assert.NotNull(_client.Dump("m"));
        Assert.Equal(2, _client.DeleteMany("l", "m", "n"));
        Assert.Equal("PONG", _client.Execute("PING").Text);
        Assert.True(_client.Execute("NOSUCH").IsError);
    }

    [Fact]
    public void An_error_reply_is_an_exception_with_its_class()
    {
        _client.ListPushLeft("l", "x");
        byte[] buffer = new byte[8];
        foreach (Action call in (Action[])[() => _client.Get("l"), () => _client.Get("l", buffer), () => _client.Increment("l"), () => _client.HashGetAll("l"), () => _client.Set("k", "v", TimeSpan.FromSeconds(-1))])
        {
            RedKiteException error = Assert.Throws<RedKiteException>(call);
            Assert.Equal(error.Message.Split(' ')[0], error.ErrorClass);
        }

        Assert.Equal("WRONGTYPE", Assert.Throws<RedKiteException>(() => _client.GetString("l")).ErrorClass);
        Assert.Throws<ArgumentNullException>(() => _client.Get((string)null!));
        Assert.Throws<ArgumentException>(() => _client.DeleteMany("a", null!));
        Assert.Equal(1, _server.Clients.Callers.Count); // each of them has returned it
    }

    [Fact]
    public void Databases_are_objects()
    {
        RedKiteClient third = _client.Database(3);
        third.Set("k", "3");
        _client.Set("k", "0");
        Assert.Equal(("3", "0"), (third.GetString("k"), _client.GetString("k")));
        Assert.Equal("3", third.Execute("GET", "k").Text);
        Assert.StartsWith("ERR SELECT has no effect here", third.Execute("SELECT", "5").Text, StringComparison.Ordinal);
        Assert.Equal(("3", "0"), (third.GetString("k"), _client.GetString("k")));
        Assert.Throws<ArgumentOutOfRangeException>(() => _client.Database(16));
    }

    [Fact]
    public void A_get_into_a_buffer_and_a_set_allocate_nothing()
    {
        byte[] value = new byte[32];
        byte[] buffer = new byte[64];
        var writer = new ArrayBufferWriter<byte>(1024);
        Calls(1000);
        Assert.Equal(0, TestSupport.Allocations.LeastBytes(() => Calls(1000)));

        void Calls(int count)
        {
            for (int i = 0; i < count; i++)
            {
                _client.Set("key"u8, value);
                _client.Set("text", "text");
                Assert.True(_client.Get("key"u8, buffer) == 32);
                Assert.True(_client.Get("missing", buffer) == -1);
                writer.ResetWrittenCount();
                Assert.True(_client.TryGet("key", writer));
                _client.Increment("n");
                _client.HashSet("h", "f", "v");
                _client.Delete("text");
            }
        }
    }

    [Fact]
    public void One_client_serves_many_threads()
    {
        const int Threads = 16, Each = 500;
        var threads = Enumerable.Range(0, Threads).Select(_ => new Thread(() =>
        {
            for (int i = 0; i < Each; i++)
            {
                _client.Increment("shared");
                _client.Set("k" + i, "v");
            }
        })).ToList();
        threads.ForEach(thread => thread.Start());
        threads.ForEach(thread => thread.Join());
        Assert.Equal(Threads * Each, _client.Increment("shared", 0));
        Assert.InRange(_server.Clients.Callers.Count, 1, Threads);
        Assert.Contains($"cmdstat_incrby:calls={(Threads * Each) + 1},", _client.Execute("INFO", "commandstats").Text, StringComparison.Ordinal);
    }

    [Fact]
    public async Task Calls_are_counted_and_seen_by_monitor_and_notifications()
    {
        _client.Execute("CONFIG", "SET", "notify-keyspace-events", "KEA");
        using RedKiteSubscription subscription = _client.SubscribePatterns("__keyspace@0__:*");
        _client.Set("k", "v");
        _client.Get("k");
        _client.Get("missing");
        string stats = _client.Execute("INFO", "stats", "commandstats").Text!;
        Assert.Contains("keyspace_hits:1", stats, StringComparison.Ordinal);
        Assert.Contains("cmdstat_get:calls=2,", stats, StringComparison.Ordinal);
        IAsyncEnumerator<RedKiteMessage> messages = subscription.GetAsyncEnumerator(TestContext.Current.CancellationToken);
        Assert.True(await messages.MoveNextAsync());
        Assert.Equal(("__keyspace@0__:k", "set"), (messages.Current.Channel, messages.Current.Text));
    }

    [Fact]
    public void Large_values_are_whole()
    {
        byte[] value = new byte[3 << 20];
        Random.Shared.NextBytes(value);
        _client.Set("k", value);
        byte[] buffer = new byte[value.Length];
        Assert.Equal(value.Length, _client.Get("k", buffer));
        Assert.True(value.AsSpan().SequenceEqual(buffer));
        Assert.True(value.AsSpan().SequenceEqual(_client.Get("k")));
        var writer = new ArrayBufferWriter<byte>();
        Assert.True(_client.TryGet("k", writer));
        Assert.True(value.AsSpan().SequenceEqual(writer.WrittenSpan));
        Assert.Equal(0, _server.Engine.Buffers.UsedBytes);
    }

    [Fact]
    public void Arguments_have_the_limit_of_the_protocol()
    {
        _client.Execute("CONFIG", "SET", "proto-max-bulk-len", "1mb");
        byte[] large = new byte[(1 << 20) + 1];
        Assert.Equal("ERR an argument is larger than proto-max-bulk-len", Assert.Throws<RedKiteException>(() => _client.Set("k", large)).Message);
        RedKiteBatch batch = _client.CreateBatch();
        batch.Set("k", large);
        Assert.Contains("invalid bulk length", Assert.Throws<RedKiteException>(batch.Execute).Message, StringComparison.Ordinal);
        _client.Set("k", large.AsSpan(1));
        Assert.Equal(1 << 20, _client.StringLength("k"));
    }

    [Fact]
    public async Task A_value_is_gone_when_its_time_has_passed_although_the_clock_is_seldom_read()
    {
        await using RedKiteServer server = await RedKiteServer.StartAsync(cancellationToken: TestContext.Current.CancellationToken);
        RedKiteClient client = server.CreateClient();
        byte[] buffer = new byte[8];
        for (int i = 0; i < 20; i++)
        {
            client.Set("k", "v", TimeSpan.FromMilliseconds(1));
            long set = System.Diagnostics.Stopwatch.GetTimestamp();
            while (System.Diagnostics.Stopwatch.GetElapsedTime(set).TotalMilliseconds < 5) Thread.SpinWait(10);
            Assert.Equal(-1, client.Get("k", buffer));
        }

        Assert.Contains("keyspace_misses:20", client.Execute("INFO", "stats").Text, StringComparison.Ordinal);
    }

    [Fact]
    public async Task Without_a_port_there_is_no_listener()
    {
        await using RedKiteServer server = await RedKiteServer.StartAsync(cancellationToken: TestContext.Current.CancellationToken);
        Assert.Equal(0, server.Port);
        server.CreateClient().Set("k", "v");
        Assert.Equal("v", server.CreateClient().GetString("k"));
    }

    [Fact]
    public async Task A_stopped_server_refuses_calls()
    {
        _client.Set("k", "v");
        await _server.StopAsync();
        Assert.Throws<ObjectDisposedException>(() => _client.Get("k"));
        Assert.Throws<ObjectDisposedException>(() => _client.Execute("PING"));
        Assert.Throws<ObjectDisposedException>(() => _client.Subscribe("c"));
        await Assert.ThrowsAsync<ObjectDisposedException>(async () => await _client.ListPopLeftAsync("l", cancellationToken: TestContext.Current.CancellationToken));
    }
}
