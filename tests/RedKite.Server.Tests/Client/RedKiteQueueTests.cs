using System.Reflection;
using System.Text;

namespace RedKite.Server.Tests;

/// <summary>The methods of batches and transactions: those of the typed client, with its results.</summary>
public sealed class RedKiteQueueTests : IAsyncLifetime
{
    private RedKiteServer _server = null!;
    private RedKiteClient _client = null!;
    private RedKiteBatch _batch = null!;

    public async ValueTask InitializeAsync()
    {
        _server = await RedKiteServer.StartAsync();
        _client = _server.CreateClient();
        _batch = _client.Database(1).CreateBatch();
    }

    public ValueTask DisposeAsync() => _server.DisposeAsync();

    [Fact]
    public void Every_command_of_the_typed_client_can_be_queued()
    {
        string[] queued = [.. typeof(RedKiteQueue).GetMethods().Where(static method => method.DeclaringType == typeof(RedKiteQueue) && !method.IsSpecialName).Select(Text)];
        string[] called = [.. typeof(RedKiteCommands).GetMethods().Where(static method => method.DeclaringType == typeof(RedKiteCommands) && !method.IsSpecialName && method.Name != "Execute" && !UsesMemory(method)).Select(Text)];
        Assert.Equal(called.Order(StringComparer.Ordinal), queued.Where(static text => !text.StartsWith("Queue(", StringComparison.Ordinal)).Order(StringComparer.Ordinal));

        static string Text(MethodInfo method) => $"{method.Name}({string.Join(", ", method.GetParameters().Select(static parameter => $"{parameter.ParameterType} {parameter.Name} {parameter.RawDefaultValue}"))})";

        // Of the caller or the pool.
        static bool UsesMemory(MethodInfo method) => method.Name == "GetPooled" || method.GetParameters().Any(static parameter => parameter.ParameterType == typeof(Span<byte>) || parameter.ParameterType == typeof(System.Buffers.IBufferWriter<byte>));
    }

    [Fact]
    public void Results_are_those_of_the_typed_client()
    {
        Same(static client => client.Set("s", "value", RedKiteWhen.Missing), static queue => queue.Set("s", "value", RedKiteWhen.Missing));
        Same(static client => client.Set("s", "value", RedKiteWhen.Missing), static queue => queue.Set("s", "value", RedKiteWhen.Missing));
        Same(static client => client.GetString("s"), static queue => queue.GetString("s"));
        Same(static client => client.GetString("missing"), static queue => queue.GetString("missing"));
        Same(static client => client.Get("s"), static queue => queue.Get("s"));
        Same(static client => client.GetRange("missing", 0, 1), static queue => queue.GetRange("missing", 0, 1));
        Same(static client => client.GetMany("s", "missing"), static queue => queue.GetMany("s", "missing"));
        Same(static client => client.GetAndExpire("s", TimeSpan.FromDays(2)), static queue => queue.GetAndExpire("s", TimeSpan.FromDays(2)));
        Same(static client => client.TimeToLive("s")!.Value.TotalDays > 1, static queue => queue.TimeToLive("s"), static time => time!.Value.TotalDays > 1);
        Same(static client => client.TimeToLive("missing"), static queue => queue.TimeToLive("missing"));
        Same(static client => client.Increment("n", -3), static queue => queue.Increment("n", -3));
        Same(static client => client.IncrementDouble("d", 0.1), static queue => queue.IncrementDouble("d", 0.1));
        Same(static client => client.TypeOf("n"), static queue => queue.TypeOf("n"));
        Same(static client => client.HashSetMany("h", new Dictionary<string, string> { ["a"] = "1", ["b"] = "2" }), static queue => queue.HashSetMany("h", new Dictionary<string, string> { ["a"] = "1", ["b"] = "2" }));
        Same(static client => client.HashSetMany("h", "c"u8.ToArray(), "3"u8.ToArray()), static queue => queue.HashSetMany("h", "c"u8.ToArray(), "3"u8.ToArray()));
        Same(static client => client.HashExpire("h", "a", TimeSpan.FromDays(1)), static queue => queue.HashExpire("h", "a", TimeSpan.FromDays(1)));
        Same(static client => client.HashExpire("h", "missing", TimeSpan.FromDays(1)), static queue => queue.HashExpire("h", "missing", TimeSpan.FromDays(1)));
        Same(static client => client.HashGetAll("h"), static queue => queue.HashGetAll("h"));
        Same(static client => client.ListPushRightMany("l", "a", "b", "c"), static queue => queue.ListPushRightMany("l", "a", "b", "c"));
        Same(static client => client.ListMove("l", "l2", RedKiteEnd.Right, RedKiteEnd.Left), static queue => queue.ListMove("l", "l2", RedKiteEnd.Right, RedKiteEnd.Left));
        Same(static client => client.ListRange("l"), static queue => queue.ListRange("l"));
        Same(static client => client.SortedSetAdd("z", "m", double.PositiveInfinity), static queue => queue.SortedSetAdd("z", "m", double.PositiveInfinity));
        Same(static client => client.SortedSetIncrement("z", "o", 1.5), static queue => queue.SortedSetIncrement("z", "o", 1.5));
        Same(static client => client.SortedSetScore("z", "m"), static queue => queue.SortedSetScore("z", "m"));
        Same(static client => client.SortedSetScore("z", "missing"), static queue => queue.SortedSetScore("z", "missing"));
        Same(static client => client.SortedSetRank("z", "m", fromHighest: true), static queue => queue.SortedSetRank("z", "m", fromHighest: true));
        Same(static client => client.SortedSetRank("z", "missing"), static queue => queue.SortedSetRank("z", "missing"));
        Same(static client => client.SortedSetRangeByScore("z", double.NegativeInfinity, 2), static queue => queue.SortedSetRangeByScore("z", double.NegativeInfinity, 2));
        Same(static client => client.GeoAdd("g", "Rome", 12.5, 41.9), static queue => queue.GeoAdd("g", "Rome", 12.5, 41.9));
        Same(static client => client.GeoSearch("g", 12, 42, 100_000), static queue => queue.GeoSearch("g", 12, 42, 100_000));
        Same(static client => client.StreamAdd("x", null, "a", "1").Length > 3, static queue => queue.StreamAdd("x", null, "a", "1"), static id => id.Length > 3);
        Same(static client => Shown(client.StreamRange("x")), static queue => queue.StreamRange("x"), Shown);
        Same(static client => client.Eval("return {KEYS[1], ARGV[1]}", ["k"], ["a"]).Text, static queue => queue.Eval("return {KEYS[1], ARGV[1]}", ["k"], ["a"]), static reply => reply.Text);
        Same(static client => client.DeleteMany("s", "n", "missing"), static queue => queue.DeleteMany("s", "n", "missing"));
    }

    [Fact]
    public void Group_of_a_stream_is_read_in_a_transaction()
    {
        using RedKiteTransaction transaction = _client.CreateTransaction();
        RedKiteQueued created = transaction.StreamCreateGroup("x", "workers", "0");
        RedKiteQueued<string> id = transaction.StreamAdd("x", "job", "1");
        RedKiteQueued<IReadOnlyList<RedKiteStreamEntry>> taken = transaction.StreamReadGroup("x", "workers", "ann");
        Assert.True(transaction.Execute());
        Assert.Equal("OK", created.Reply.Text);
        Assert.Equal(id.Value, Assert.Single(taken.Value).Id);
    }

    [Fact]
    public void An_error_is_thrown_when_its_value_is_read()
    {
        RedKiteQueued<long> sum = _batch.Increment("text");
        Assert.Throws<InvalidOperationException>(() => sum.Value);
        _client.Database(1).Set("text", "a");
        _batch.Execute();
        Assert.Equal("ERR", Assert.Throws<RedKiteException>(() => sum.Value).ErrorClass);
    }

    [Fact]
    public void A_transaction_says_why_its_commands_have_no_values_and_executes_once()
    {
        using RedKiteTransaction transaction = _client.CreateTransaction();
        transaction.Watch("k");
        RedKiteQueued<long> sum = transaction.Increment("n");
        Assert.Contains("not executed", Assert.Throws<InvalidOperationException>(() => sum.Value).Message, StringComparison.Ordinal);
        _client.Set("k", "changed");
        Assert.False(transaction.Execute());
        Assert.Contains("A watched key has changed", Assert.Throws<InvalidOperationException>(() => sum.Value).Message, StringComparison.Ordinal);
        Assert.Throws<InvalidOperationException>(() => transaction.Execute());
        Assert.Throws<InvalidOperationException>(() => transaction.Increment("n"));
        Assert.Throws<InvalidOperationException>(() => transaction.Watch("k"));
        Assert.False(_client.Exists("n"));

        using RedKiteTransaction refused = _client.CreateTransaction();
        sum = refused.Increment("n");
        refused.Queue("NOSUCH");
        Assert.Throws<RedKiteException>(() => refused.Execute());
        Assert.Contains("refused", Assert.Throws<InvalidOperationException>(() => sum.Value).Message, StringComparison.Ordinal);
    }

    [Fact]
    public void A_refused_argument_leaves_nothing_in_the_queue()
    {
        Assert.Throws<ArgumentException>(() => _batch.DeleteMany("a", null!));
        Assert.Throws<ArgumentException>(() => _batch.Queue("SET", "a", null!));
        RedKiteQueued<long> sum = _batch.Increment("n");
        Assert.Equal(1, _batch.Count);
        _batch.Execute();
        Assert.Equal(1, sum.Value);
    }

    private void Same<T>(Func<RedKiteClient, T> call, Func<RedKiteQueue, RedKiteQueued<T>> queue) => Same(call, queue, static value => value);

    private void Same(Func<RedKiteClient, RedKiteItems> call, Func<RedKiteQueue, RedKiteQueued<RedKiteItems>> queue) => Same(client => call(client).ToStrings(), queue, static items => items.ToStrings());

    private void Same(Func<RedKiteClient, RedKitePairs> call, Func<RedKiteQueue, RedKiteQueued<RedKitePairs>> queue) => Same(client => call(client).ToArray(), queue, static pairs => pairs.ToArray());

    private void Same<T, TQueued>(Func<RedKiteClient, T> call, Func<RedKiteQueue, RedKiteQueued<TQueued>> queue, Func<TQueued, T> read)
    {
        T expected = call(_client);
        RedKiteQueued<TQueued> queued = queue(_batch);
        _batch.Execute();
        Assert.Equal(expected, read(queued.Value));
    }

    private static string Shown(IReadOnlyList<RedKiteStreamEntry> entries) => string.Join(' ', entries.SelectMany(static entry => entry.Fields).Select(static field => $"{field.Key}={Encoding.UTF8.GetString(field.Value.Span)}"));
}
