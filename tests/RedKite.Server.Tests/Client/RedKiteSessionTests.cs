using System.Buffers;
using System.Text;
using RedKite.TestSupport;

namespace RedKite.Server.Tests;

/// <summary>Sessions in the server's own process: they leave no state behind.</summary>
public sealed class RedKiteSessionTests : IAsyncDisposable
{
    private readonly RedKiteServer _server = Start();

    public async ValueTask DisposeAsync() => await _server.DisposeAsync();

    [Fact]
    public void Counts_of_a_thousand_short_lived_clients_are_kept()
    {
        _server.Execute("SET", "k", "v");
        int executors = _server.Engine.Metrics.Executors.Length;
        var gone = new List<WeakReference>();
        for (int i = 0; i < 1000; i++) gone.Add(UseOne());
        Assert.Equal((executors, 0), (_server.Engine.Metrics.Executors.Length, _server.Engine.Clients.Count));
        string stats = _server.Execute("INFO", "commandstats", "errorstats").Text!;
        Assert.Contains("cmdstat_get:calls=1000,", stats, StringComparison.Ordinal);
        Assert.Contains("errorstat_WRONGTYPE:count=1000", stats, StringComparison.Ordinal);
        GC.Collect();
        GC.WaitForPendingFinalizers();
        GC.Collect();
        Assert.InRange(gone.Count(reference => reference.IsAlive), 0, 2); // one may still be in a register
    }

    [Fact]
    public void A_thousand_callers_at_a_time_leave_a_few_clients_for_the_next()
    {
        var threads = Enumerable.Range(0, 1000).Select(_ => new Thread(() => _server.Execute("BLPOP", "gate", "300"), maxStackSize: 256 * 1024)).ToList();
        threads.ForEach(thread => thread.Start());
        NetworkTests.WaitFor(() => _server.Engine.Blocked.Count == 1000, "all of them wait");
        for (int i = 0; i < 1000; i++) _server.Execute("RPUSH", "gate", "x");
        threads.ForEach(thread => thread.Join());
        Assert.InRange(_server.Engine.Metrics.Executors.Length, 1, (4 * Environment.ProcessorCount) + 4);
        Assert.Equal("1000", _server.Execute("INCRBY", "n", "1000").Text);
    }

    [Fact]
    public void A_disposed_session_refuses_calls_and_the_server_does_not()
    {
        RedKiteSession client = _server.CreateSession();
        client.Execute("SET", "k", "v");
        client.Dispose();
        client.Dispose();
        Assert.Throws<ObjectDisposedException>(() => client.Execute("GET", "k"));
        Assert.Equal("v", _server.Execute("GET", "k").Text);
    }

    [Theory]
    [InlineData("SELECT", "SELECT 3")]
    [InlineData("MULTI", "MULTI")]
    [InlineData("WATCH", "WATCH k")]
    [InlineData("HELLO", "HELLO 3")]
    [InlineData("CLIENT", "CLIENT REPLY OFF")]
    public void What_only_later_commands_would_notice_needs_a_session(string name, string command)
    {
        RedKiteReply reply = _server.Execute(command.Split(' '));
        Assert.True(reply.IsError);
        Assert.StartsWith($"ERR {name} has no effect here", reply.Text, StringComparison.Ordinal);
        Assert.Equal("OK", _server.Execute("SELECT", "0").Text);
        using RedKiteSession client = _server.CreateSession();
        Assert.False(client.Execute(command.Split(' ')).IsError);
    }

    [Fact]
    public void A_reply_that_is_no_integer_has_no_integers_value()
    {
        _server.Execute("SET", "k", "12");
        Assert.Equal(12, _server.Execute("INCRBY", "k", "0").Integer);
        Assert.Equal("The reply is no integer but Text: 12", Assert.Throws<InvalidOperationException>(() => _server.Execute("GET", "k").Integer).Message);
        Assert.Equal("The reply is no integer but null", Assert.Throws<InvalidOperationException>(() => _server.Execute("GET", "nosuch").Integer).Message);
        Assert.StartsWith("The reply is no integer but Error: WRONGTYPE", Assert.Throws<InvalidOperationException>(() => _server.Execute("LLEN", "k").Integer).Message, StringComparison.Ordinal);
    }

    [Fact]
    public async Task A_null_argument_is_named_and_a_stopped_server_has_no_metrics()
    {
        Assert.Equal("arguments", Assert.Throws<ArgumentException>(() => _server.Execute("GET", null!)).ParamName);
        Assert.Contains("redkite", _server.GetMetricsText(), StringComparison.Ordinal);
        await _server.StopAsync();
        Assert.Throws<ObjectDisposedException>(() => _server.GetMetricsText());
    }

    [Fact]
    public async Task A_client_that_is_disposed_ends_its_wait()
    {
        RedKiteSession client = _server.CreateSession();
        Task waiting = Task.Run(() => client.Execute("BLPOP", "k", "0"), TestContext.Current.CancellationToken);
        NetworkTests.WaitFor(() => _server.Engine.Blocked.Count == 1, "it waits");
        client.Dispose();
        await Assert.ThrowsAsync<ObjectDisposedException>(() => waiting);
        Assert.Equal(0, _server.Engine.Blocked.Count);
    }

    [Fact]
    public void Large_replies_of_a_pipeline_come_in_order()
    {
        int replied = TestScale.Of(gate: 30, full: 100);
        using RedKiteSession client = _server.CreateSession();
        client.Execute("SETRANGE", "k", "1499999", "x");
        byte[] request = Encoding.ASCII.GetBytes(string.Concat(Enumerable.Range(0, replied).Select(i => $"GET k\r\nECHO {i}\r\n")));
        var replies = new ArrayBufferWriter<byte>();
        Assert.Equal(request.Length, client.Execute(request, replies));
        string expected = string.Concat(Enumerable.Range(0, replied).Select(i => $"$1500000\r\n{new string('\0', 1499999)}x\r\n${i.ToString(System.Globalization.CultureInfo.InvariantCulture).Length}\r\n{i}\r\n"));
        Assert.Equal(expected.Length, replies.WrittenCount);
        Assert.True(Encoding.Latin1.GetBytes(expected).AsSpan().SequenceEqual(replies.WrittenSpan));
        Assert.Equal(0, _server.Engine.Buffers.UsedBytes);
    }

    private static RedKiteServer Start()
    {
        var options = new RedKiteOptions { Port = 0 };
        options.Settings["loops"] = "1";
        return RedKiteServer.StartAsync(options).GetAwaiter().GetResult();
    }

    private WeakReference UseOne()
    {
        using RedKiteSession client = _server.CreateSession();
        Assert.Equal("v", client.Execute("GET", "k").Text);
        Assert.True(client.Execute("LPUSH", "k", "x").IsError);
        return new WeakReference(client);
    }
}
