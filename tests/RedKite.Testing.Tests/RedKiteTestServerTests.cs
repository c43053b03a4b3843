using System.Net.Sockets;
using RedKite.TestSupport;

namespace RedKite.Testing.Tests;

/// <summary>The test server: its clock, faults, record and snapshots, as a client on a connection sees them.</summary>
[Collection(nameof(RedKiteTestServer))]
public sealed class RedKiteTestServerTests : IAsyncLifetime
{
    private RedKiteTestServer _redis = null!;

    public async ValueTask InitializeAsync() => _redis = await RedKiteTestServer.StartAsync();

    public async ValueTask DisposeAsync()
    {
        await _redis.DisposeAsync();
        Assert.Null(_redis.Server.Failure);
    }

    [Fact]
    public void Time_stands_still_until_it_is_advanced()
    {
        using RespConnection client = Connect();
        client.Execute("SET", "k", "v", "PX", "1000");
        _redis.Clock.Advance(TimeSpan.FromMilliseconds(999));
        Assert.Equal("1", client.Execute("PTTL", "k").Text);
        _redis.Clock.Advance(TimeSpan.FromMilliseconds(1));
        Assert.True(client.Execute("GET", "k").IsNull);
    }

    [Fact]
    public async Task Advancing_ends_every_block_at_once()
    {
        using RespConnection client = Connect();
        client.SendCommand("BLPOP l 3600");
        Task<byte[]?> pop = _redis.Client.ListPopLeftAsync("m", TimeSpan.FromHours(1), TestContext.Current.CancellationToken).AsTask();
        SpinWait.SpinUntil(() => _redis.Client.Execute("INFO", "clients").Text!.Contains("blocked_clients:2", StringComparison.Ordinal));
        _redis.Clock.Advance(TimeSpan.FromMinutes(59));
        Assert.Contains("blocked_clients:2", _redis.Client.Execute("INFO", "clients").Text, StringComparison.Ordinal);
        _redis.Clock.Advance(TimeSpan.FromMinutes(1));
        Assert.Contains("blocked_clients:0", _redis.Client.Execute("INFO", "clients").Text, StringComparison.Ordinal);
        Assert.True(client.Read().IsNull);
        Assert.Null(await pop);
    }

    [Fact]
    public void Expired_keys_are_gone_when_the_clock_has_advanced()
    {
        for (int i = 0; i < 1000; i++) _redis.Client.Set($"k{i}", "v", TimeSpan.FromSeconds(1 + i));
        _redis.Clock.Advance(TimeSpan.FromSeconds(500));
        Assert.Equal(500, _redis.Client.Execute("DBSIZE").Integer);
    }

    [Fact]
    public void Timers_of_the_clock_fire_when_it_is_advanced()
    {
        int fired = 0;
        using ITimer timer = _redis.Clock.CreateTimer(_ => fired++, null, TimeSpan.FromSeconds(1), TimeSpan.FromSeconds(2));
        foreach (int expected in (int[])[1, 1, 2, 2, 3])
        {
            _redis.Clock.Advance(TimeSpan.FromSeconds(1));
            Assert.Equal(expected, fired);
        }
    }

    [Fact]
    public void The_next_matching_command_fails()
    {
        using RespConnection client = Connect();
        using RedKiteFault fault = _redis.Faults.Fail("ERR boom", command: "get", times: 2);
        Assert.Equal("OK", client.Execute("SET", "k", "v").Text);
        Assert.Equal("ERR boom", client.Execute("GET", "k").Text);
        Assert.Equal("ERR boom", client.Execute("GET", "k").Text);
        Assert.Equal("v", client.Execute("GET", "k").Text);
        Assert.Equal(2, fault.Hits);
        Assert.Equal("v", _redis.Client.GetString("k"));
    }

    [Fact]
    public void States_of_a_server_are_errors_until_they_end()
    {
        using RespConnection client = Connect();
        using (_redis.Faults.Loading())
        {
            Assert.StartsWith("LOADING", client.Execute("GET", "k").Text, StringComparison.Ordinal);
            Assert.Equal("PONG", client.Execute("PING").Text);
        }

        using (_redis.Faults.ReadOnly())
        {
            Assert.StartsWith("READONLY", client.Execute("SET", "k", "v").Text, StringComparison.Ordinal);
            Assert.True(client.Execute("GET", "k").IsNull);
        }

        using (_redis.Faults.OutOfMemory()) Assert.StartsWith("OOM", client.Execute("SET", "k", "v").Text, StringComparison.Ordinal);
        _redis.Faults.ClusterDown();
        Assert.StartsWith("CLUSTERDOWN", client.Execute("GET", "k").Text, StringComparison.Ordinal);
        _redis.Faults.Clear();
        Assert.Equal("OK", client.Execute("SET", "k", "v").Text);
    }

    [Fact]
    public void A_connection_is_dropped_after_some_commands()
    {
        using RespConnection client = Connect();
        client.Execute("CLIENT", "SETNAME", "victim");
        _redis.Faults.DropAfter(2, client: "victim");
        using RespConnection other = Connect();
        for (int i = 0; i < 5; i++) Assert.True(other.Execute("GET", "k").IsNull);
        Assert.Equal("OK", client.Execute("SET", "k", "1").Text);
        Assert.Equal("OK", client.Execute("SET", "k", "2").Text);
        Assert.True(client.Execute("SET", "k", "3").IsClosed);
        Assert.Equal("2", other.Execute("GET", "k").Text);
    }

    [Fact]
    public void A_reply_is_cut_in_the_middle()
    {
        using var socket = new TcpClient("127.0.0.1", _redis.Port);
        _redis.Client.Set("k", "0123456789");
        _redis.Faults.CutReply(bytes: 9, command: "GET");
        socket.GetStream().Write("PING\r\nGET k\r\nPING\r\n"u8);
        using var reader = new StreamReader(socket.GetStream());
        Assert.Equal("+PONG\r\n$10\r\n0123", reader.ReadToEnd());
    }

    [Fact]
    public void A_delay_is_by_the_clock_and_delays_its_client_alone()
    {
        using RespConnection client = Connect();
        using RespConnection other = Connect();
        _redis.Faults.Delay(TimeSpan.FromSeconds(5), command: "SET", times: 1);
        client.SendCommand("SET k v");
        client.SendCommand("GET k");
        SpinWait.SpinUntil(() => _redis.Client.Execute("INFO", "commandstats").Text!.Contains("set", StringComparison.Ordinal), 50);
        Assert.True(other.Execute("GET", "k").IsNull);
        _redis.Clock.Advance(TimeSpan.FromSeconds(4.9));
        Assert.True(other.Execute("GET", "k").IsNull);
        _redis.Clock.Advance(TimeSpan.FromSeconds(5));
        Assert.Equal(("OK", "v"), (client.Read().Text, client.Read().Text));
        Assert.Equal("OK", client.Execute("SET", "k", "w").Text);
    }

    [Fact]
    public void A_frozen_server_answers_when_the_time_has_passed()
    {
        using RespConnection client = Connect();
        _redis.Faults.Freeze(TimeSpan.FromMinutes(1));
        client.SendCommand("PING");
        Assert.Null(_redis.Client.Get("k")); // calls in the process go on
        _redis.Clock.Advance(TimeSpan.FromMinutes(1));
        Assert.Equal("PONG", client.Read().Text);
    }

    [Fact]
    public void Connections_are_refused_until_the_port_opens_again()
    {
        using (_redis.Faults.RefuseConnections())
        {
            Assert.Throws<SocketException>(() => new TcpClient("127.0.0.1", _redis.Port).Dispose());
        }

        using RespConnection client = Connect();
        Assert.Equal("PONG", client.Execute("PING").Text);
    }

    [Fact]
    public void Received_commands_can_be_queried_and_checked()
    {
        using RespConnection client = Connect();
        client.Execute("CLIENT", "SETNAME", "me");
        client.Execute("SET", "k", "v");
        client.Execute("LPUSH", "k", "x");
        _redis.Client.Set("other", "v");
        Assert.Equal(["client|setname", "set", "lpush"], _redis.Received.Select(command => command.Name));
        RedKiteReceivedCommand set = _redis.Received.Expect("set", "k");
        Assert.Equal(("me", "v", null), (set.ClientName, set.Arguments[2], set.Error));
        Assert.StartsWith("WRONGTYPE", _redis.Received.Of("LPUSH")[0].Error, StringComparison.Ordinal);
        _redis.Received.ExpectNone("DEL");
        string message = Assert.Throws<RedKiteExpectationException>(() => _redis.Received.Expect("DEL", "k")).Message;
        Assert.Contains("Expected to receive 'DEL k'. The nearest is\n  2: [", message, StringComparison.Ordinal);
        Assert.Contains("me] SET k v\n", message, StringComparison.Ordinal);
        Assert.EndsWith("\n  and 1 without key or channel", message, StringComparison.Ordinal);
        Assert.DoesNotContain("SETNAME", message, StringComparison.Ordinal);
        Assert.Throws<RedKiteExpectationException>(() => _redis.Received.ExpectNone("SET"));
        _redis.Received.Clear();
        Assert.Equal("No command was received.", _redis.Received.Describe());
    }

    [Fact]
    public void A_failed_expectation_shows_the_nearest_command_and_escapes_bytes()
    {
        using RespConnection client = Connect();
        client.Run("HELLO"u8.ToArray(), "3"u8.ToArray());
        client.Execute("SET", "price:chair", "12");
        client.Run("SET"u8.ToArray(), "b"u8.ToArray(), new byte[] { 0, 0x1b, (byte)'[', 0xff, (byte)'\r', (byte)'\n' });
        client.Execute("GET", "stock");
        string message = Assert.Throws<RedKiteExpectationException>(() => _redis.Received.Expect("set", "price:chai")).Message;
        Assert.Matches(@"^Expected to receive 'set price:chai'\. The nearest is\n  2: \[\d+\] SET price:chair 12\nThe last commands:\n", message);
        Assert.Contains(@"SET b \x00\x1b[\xfffd\r\n" + "\n", message, StringComparison.Ordinal);
        Assert.DoesNotContain("HELLO", message, StringComparison.Ordinal);
        Assert.Equal("No command with a key or channel was received.", Assert.Throws<RedKiteExpectationException>(() => Only("HELLO").Expect("GET")).Message.Split('\n')[0]["Expected to receive 'GET'. ".Length..]);

        RedKiteReceived Only(string command)
        {
            _redis.Received.Clear();
            client.Execute(command);
            return _redis.Received;
        }
    }

    [Fact]
    public void The_next_command_of_a_connection_is_dropped()
    {
        using RespConnection client = Connect();
        _redis.Faults.Drop(command: "SET");
        Assert.True(client.Execute("GET", "k").IsNull);
        Assert.True(client.Execute("SET", "k", "1").IsClosed);
        Assert.False(_redis.Client.Exists("k"));
    }

    [Fact]
    public void A_snapshot_is_restored_between_tests()
    {
        _redis.Client.Set("k", "v", TimeSpan.FromMinutes(1));
        _redis.Client.Database(3).ListPushRightMany("l", "a", "b");
        _redis.Client.HashSet("h", "f", "1");
        RedKiteSnapshot snapshot = _redis.Snapshot();
        Assert.Equal(3, snapshot.Count);
        _redis.Client.Execute("FLUSHALL");
        _redis.Client.Set("new", "v");
        _redis.Faults.Loading();
        _redis.Restore(snapshot);
        Assert.Equal(TimeSpan.FromMinutes(1), _redis.Client.TimeToLive("k"));
        Assert.Equal((string?[])["a", "b"], _redis.Client.Database(3).ListRange("l").ToStrings());
        Assert.False(_redis.Client.Exists("new"));
        using RespConnection client = Connect();
        Assert.Equal("v", client.Execute("GET", "k").Text);
        Assert.Single(_redis.Received);
    }

    [Fact]
    public async Task A_client_library_connects_and_works()
    {
        using StackExchange.Redis.ConnectionMultiplexer redis = await StackExchange.Redis.ConnectionMultiplexer.ConnectAsync(_redis.ConnectionString);
        StackExchange.Redis.IDatabase database = redis.GetDatabase();
        _redis.Faults.Fail("ERR once", command: "GET");
        await Assert.ThrowsAsync<StackExchange.Redis.RedisServerException>(() => database.StringGetAsync("k"));
        await database.StringSetAsync("k", "v", TimeSpan.FromMinutes(1));
        Assert.Equal("v", await database.StringGetAsync("k"));
        _redis.Clock.Advance(TimeSpan.FromMinutes(1));
        Assert.True((await database.StringGetAsync("k")).IsNull);
        _redis.Received.Expect("GET", "k");
    }

    private RespConnection Connect() => RespConnection.Connect(_redis.Port);
}
