namespace RedKite.Server.Tests;

/// <summary>What waits without a thread: blocking commands, subscriptions, streams, scans, the log; and transactions and batches.</summary>
public sealed class WaitingCallsTests : IAsyncLifetime
{
    private readonly ManualClock _clock = new();
    private RedKiteServer _server = null!;
    private RedKiteClient _client = null!;

    private static CancellationToken Token => TestContext.Current.CancellationToken;

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
    public async Task A_pop_that_need_not_wait_is_complete_at_once()
    {
        _client.ListPushRightMany("l", "a", "b");
        ValueTask<byte[]?> pop = _client.ListPopLeftAsync("l", cancellationToken: Token);
        Assert.True(pop.IsCompleted);
        Assert.Equal("a"u8.ToArray(), await pop);
        Assert.Equal("b"u8.ToArray(), await _client.ListPopRightAsync("l", cancellationToken: Token));
    }

    // Its work is done in slices, as that of a synchronous call.
    [Fact]
    public async Task A_copy_of_a_large_value_completes()
    {
        _client.Execute("SETRANGE", "a", "20000000", "x");
        Assert.Equal(1, (await _client.ExecuteAsync(["COPY", "a", "b"], Token)).Integer);
        Assert.Equal(20000001, _client.Execute("STRLEN", "b").Integer);
        Assert.Equal((0, 0), (_server.Engine.Blocked.Count, _server.Clients.Waits.Count));
        Assert.DoesNotContain(_server.Engine.Keyspace.Stripes, static stripe => stripe.HasCopies);
    }

    [Fact]
    public async Task A_thousand_pops_wait_without_a_thread()
    {
        Task<byte[]?>[] pops = [.. Enumerable.Range(0, 1000).Select(_ => _client.ListPopLeftAsync("l", cancellationToken: Token).AsTask())];
        Assert.Equal((1000, 1), (_server.Engine.Blocked.Count, _server.Clients.Callers.Count));
        for (int i = 0; i < pops.Length; i++) _client.ListPushRight("l", "x");
        Assert.All(await Task.WhenAll(pops), value => Assert.Equal("x"u8.ToArray(), value));
        Assert.Equal((0, 0), (_server.Engine.Blocked.Count, _server.Clients.Waits.Count));
        Assert.Contains("cmdstat_blpop:calls=1000,", _client.Execute("INFO", "commandstats").Text, StringComparison.Ordinal);
    }

    [Fact]
    public async Task A_timeout_is_by_the_servers_clock()
    {
        Task<byte[]?> pop = _client.ListPopLeftAsync("l", TimeSpan.FromHours(1), cancellationToken: Token).AsTask();
        Task<RedKiteScoredMember?> member = _client.SortedSetPopAsync("z", TimeSpan.FromHours(2), cancellationToken: Token).AsTask();
        _clock.Advance(1L * 3600_000);
        Assert.Null(await pop);
        Assert.False(member.IsCompleted);
        _client.SortedSetAdd("z", "a", 2);
        Assert.Equal(2, (await member)!.Score);
    }

    [Fact]
    public async Task A_token_ends_a_wait_and_removes_nothing()
    {
        using var source = new CancellationTokenSource();
        Task<byte[]?> pop = _client.ListPopLeftAsync("l", cancellationToken: source.Token).AsTask();
        await source.CancelAsync();
        await Assert.ThrowsAnyAsync<OperationCanceledException>(() => pop);
        Assert.Equal(0, _server.Engine.Blocked.Count);
        Assert.Equal(1, _client.ListPushRight("l", "x"));
        Assert.Equal("x"u8.ToArray(), await _client.ListMoveAsync("l", "m", RedKiteEnd.Left, RedKiteEnd.Left, cancellationToken: Token));
        Assert.Equal(1, _client.ListLength("m"));
    }

    [Fact]
    public async Task The_servers_end_ends_all_waits()
    {
        Task<byte[]?> pop = _client.ListPopLeftAsync("l", cancellationToken: Token).AsTask();
        using RedKiteSubscription subscription = _client.Subscribe("c");
        ValueTask<bool> next = subscription.GetAsyncEnumerator(Token).MoveNextAsync();
        await _server.StopAsync();
        await Assert.ThrowsAsync<ObjectDisposedException>(() => pop);
        await Assert.ThrowsAsync<ObjectDisposedException>(async () => await next);
    }

    [Fact]
    public async Task An_error_of_a_waiting_command_is_thrown()
    {
        _client.Set("k", "v");
        Assert.Equal("WRONGTYPE", (await Assert.ThrowsAsync<RedKiteException>(async () => await _client.ListPopLeftAsync("k", cancellationToken: Token))).ErrorClass);
        Assert.True((await _client.ExecuteAsync(["BLPOP", "k", "0"], Token)).IsError);
        Assert.Equal(0, await _client.WaitForReplicasAsync(0, TimeSpan.FromSeconds(1), Token));
    }

    [Fact]
    public async Task Messages_are_read_in_order_until_the_subscription_ends()
    {
        RedKiteSubscription subscription = _client.Subscribe("a", "b");
        using RedKiteSubscription pattern = _client.SubscribePatterns("?");
        for (int i = 0; i < 10; i++) Assert.Equal(2, _client.Publish(i % 2 == 0 ? "a" : "b", $"{i}"));
        var texts = new List<string>();
        await foreach (RedKiteMessage message in subscription.WithCancellation(Token))
        {
            Assert.Null(message.Pattern);
            texts.Add(message.Channel + message.Text);
            if (texts.Count == 10) subscription.Dispose();
        }

        Assert.Equal(["a0", "b1", "a2", "b3", "a4", "b5", "a6", "b7", "a8", "b9"], texts);
        Assert.Equal(1, _client.Publish("a", "x"));
        IAsyncEnumerator<RedKiteMessage> matches = pattern.GetAsyncEnumerator(Token);
        Assert.True(await matches.MoveNextAsync());
        Assert.Equal("?", matches.Current.Pattern);
    }

    [Fact]
    public async Task Messages_of_sharded_channels_are_read_until_the_subscription_ends()
    {
        RedKiteSubscription subscription = _client.SubscribeSharded("c");
        Assert.Equal((1, 0), (_client.PublishSharded("c", "1"), _client.Publish("c", "2")));
        IAsyncEnumerator<RedKiteMessage> messages = subscription.GetAsyncEnumerator(Token);
        Assert.True(await messages.MoveNextAsync());
        Assert.Equal(("c", "1"), (messages.Current.Channel, messages.Current.Text));
        subscription.Dispose();
        Assert.Equal(0, _client.PublishSharded("c", "3"));
    }

    [Fact]
    public async Task A_consumer_waits_for_entries_of_its_group()
    {
        _client.StreamCreateGroup("x", "g");
        Task<IReadOnlyList<RedKiteStreamEntry>> read = _client.StreamReadGroupAsync("x", "g", "me", cancellationToken: Token).AsTask();
        Assert.False(read.IsCompleted);
        string id = _client.StreamAdd("x", "job", "1");
        Assert.Equal(id, Assert.Single(await read).Id);
        read = _client.StreamReadGroupAsync("x", "g", "me", timeout: TimeSpan.FromHours(1), cancellationToken: Token).AsTask();
        _clock.Advance(1L * 3600_000);
        Assert.Empty(await read);
    }

    [Fact]
    public async Task A_reader_that_is_too_slow_ends_its_subscription()
    {
        _client.Execute("CONFIG", "SET", "client-output-buffer-limit", "pubsub 1000 0 0");
        using RedKiteSubscription subscription = _client.Subscribe("c");
        for (int i = 0; i < 100; i++) _client.Publish("c", new string('x', 100));
        IAsyncEnumerator<RedKiteMessage> messages = subscription.GetAsyncEnumerator(Token);
        Assert.Equal("OVERFLOW", (await Assert.ThrowsAsync<RedKiteException>(async () => await messages.MoveNextAsync())).ErrorClass);
        Assert.InRange(_server.Engine.Buffers.UsedBytes, 0, 16 * 1024); // the block of the next messages
    }

    [Fact]
    public async Task A_stream_is_read_as_it_grows()
    {
        _client.StreamAdd("s", "n", "0");
        using var source = CancellationTokenSource.CreateLinkedTokenSource(Token);
        int expected = 0;
        await Assert.ThrowsAnyAsync<OperationCanceledException>(async () =>
        {
            await foreach (RedKiteStreamEntry entry in _client.StreamReadAsync("s", cancellationToken: source.Token))
            {
                Assert.Equal($"{expected}", System.Text.Encoding.UTF8.GetString(entry.Fields[0].Value.Span));
                if (++expected == 5) await source.CancelAsync();
                else ThreadPool.QueueUserWorkItem(_ => _client.StreamAdd("s", "n", $"{expected}"));
            }
        });
        Assert.Equal(5, expected);
    }

    [Fact]
    public async Task Scans_see_everything()
    {
        for (int i = 0; i < 1000; i++)
        {
            _client.Set($"k{i}", "v");
            _client.HashSet("h", $"f{i}", $"{i}");
            _client.SetAdd("s", $"m{i}");
            _client.SortedSetAdd("z", $"m{i}", i);
        }

        var keys = new HashSet<string>();
        await foreach (string key in _client.ScanKeysAsync("k*", Token)) keys.Add(key);
        var fields = new Dictionary<string, string>();
        await foreach ((string field, ReadOnlyMemory<byte> value) in _client.HashScanAsync("h", cancellationToken: Token)) fields[field] = System.Text.Encoding.UTF8.GetString(value.Span);
        var members = new HashSet<string>();
        await foreach (string member in _client.SetScanAsync("s", cancellationToken: Token)) members.Add(member);
        double sum = 0;
        await foreach (RedKiteScoredMember member in _client.SortedSetScanAsync("z", cancellationToken: Token)) sum += member.Score;
        Assert.Equal((1000, 1000, 1000, 499500), (keys.Count, fields.Count, members.Count, sum));
        Assert.Equal("17", fields["f17"]);
    }

    [Fact]
    public void A_transaction_is_executed_whole_or_not_at_all()
    {
        using RedKiteTransaction transaction = _client.CreateTransaction();
        transaction.Set("a", "1");
        RedKiteQueued sum = transaction.Increment("a", 5);
        RedKiteQueued wrong = transaction.Queue("LPUSH", "a", "x");
        Assert.False(sum.HasReply);
        Assert.Throws<InvalidOperationException>(() => sum.Reply);
        Assert.True(transaction.Execute());
        Assert.Equal((6, true), (sum.Reply.Integer, wrong.Reply.IsError));

        using RedKiteTransaction overtaken = _client.CreateTransaction();
        overtaken.Watch("a");
        RedKiteQueued late = overtaken.Set("a", "7");
        _client.Set("a", "8");
        Assert.False(overtaken.Execute());
        Assert.False(late.HasReply);
        Assert.Equal("8", _client.GetString("a"));

        using RedKiteTransaction refused = _client.CreateTransaction();
        refused.Set("a", "9");
        refused.Queue("NOSUCH");
        Assert.Contains("unknown command", Assert.Throws<RedKiteException>(() => refused.Execute()).Message, StringComparison.Ordinal);
        Assert.Equal("8", _client.GetString("a"));
        using RedKiteTransaction empty = _client.CreateTransaction();
        Assert.True(empty.Execute());
        Assert.Equal(0, _server.Engine.Watched.Count);
    }

    [Fact]
    public void A_batch_replies_to_each_command()
    {
        RedKiteBatch batch = _client.Database(2).CreateBatch();
        batch.Set("k", new byte[300_000]);
        RedKiteQueued[] gets = [.. Enumerable.Range(0, 50).Select(_ => batch.Get("k"))];
        RedKiteQueued hash = batch.HashSet("h", "f", "v");
        RedKiteQueued wrong = batch.Increment("h");
        batch.Execute();
        Assert.All(gets, get => Assert.Equal(300_000, get.Reply.Bytes.Length));
        Assert.Equal((1, true), (hash.Reply.Integer, wrong.Reply.IsError));
        Assert.False(_client.Exists("k"));
        batch.Queue("SELECT", "3");
        Assert.Throws<InvalidOperationException>(batch.Execute);
        batch.Expire("k", TimeSpan.FromSeconds(1));
        batch.Delete("h");
        batch.Execute();
        Assert.Equal(TimeSpan.FromSeconds(1), _client.Database(2).TimeToLive("k"));
    }
}
