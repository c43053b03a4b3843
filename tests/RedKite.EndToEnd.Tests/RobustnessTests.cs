using System.Diagnostics;
using System.Globalization;
using System.Text;
using System.Text.RegularExpressions;
using RedKite.TestSupport;

namespace RedKite.EndToEnd.Tests;

/// <summary>Many, severed, slow or greedy clients: each test has its own server, which must keep serving others.</summary>
public sealed class RobustnessTests
{
    private const int SettleTimeoutMs = 60_000;
    private const int Megabyte = 1024 * 1024;

    private const string Pipeline =
        "*3\r\n$3\r\nSET\r\n$1\r\nk\r\n$5\r\na\r\nbc\r\n*2\r\n$4\r\nINCR\r\n$1\r\nn\r\nPING\r\n*2\r\n$3\r\nGET\r\n$1\r\nk\r\nECHO \"x y\"\r\n*1\r\n$3\r\nGET\r\n";

    private const string PipelineReplies =
        "+OK\r\n:n\r\n+PONG\r\n$5\r\na\r\nbc\r\n$3\r\nx y\r\n-ERR wrong number of arguments for 'get' command\r\n";

    /// <summary>In the gate only the first one: the suites of the network and the server have many of these cases on both.</summary>
    public static TheoryData<string> Transports => [.. ServerProgram.Transports.Take(TestScale.Of(gate: 1, full: int.MaxValue))];

    // On a machine without the newer protocol a socket throws what no failure of a network is; MIGRATE reads its transfer's result with keys locked.
    [Fact]
    public void Migrate_to_an_address_that_the_machine_cannot_use_is_an_error()
    {
        using ServerProcess server = ServerProcess.StartIn("DOTNET_SYSTEM_NET_DISABLEIPV6=1 exec {server}\n");
        using RespConnection client = server.Connect();
        client.Run("SET a 1").IsOk();
        Assert.StartsWith("IOERR error or timeout", client.Run("MIGRATE ::1 1 a 0 1000").Text, StringComparison.Ordinal);
        client.Run("GET a").IsBulk("1");
    }

    [Theory]
    [MemberData(nameof(Transports))]
    public void Two_thousand_connections_are_served_at_once(string transport)
    {
        const int count = 2_000;
        using ServerProcess server = Start(transport);
        using RespConnection watcher = server.Connect();
        List<RespConnection> connections = [];
        try
        {
            for (int i = 0; i < count; i++) connections.Add(server.Connect());
            foreach (RespConnection connection in connections) connection.SendCommand("INCR counter");
            Assert.Equal(Enumerable.Range(1, count).Select(i => (long)i), connections.Select(connection => connection.Read().Number).Order());
            Assert.Equal(count + 1, Info(watcher, "connected_clients"));
        }
        finally
        {
            foreach (RespConnection connection in connections) connection.Dispose();
        }

        Eventually(() => Info(watcher, "connected_clients") == 1, "all connections are gone");
    }

    [Theory]
    [MemberData(nameof(Transports))]
    public void Refused_connections_leave_the_server_its_files(string transport)
    {
        using ServerProcess server = ServerProcess.StartIn($"ulimit -n 400; exec {{server}} --transport {transport}");
        using RespConnection watcher = server.Connect();
        List<RespConnection> connections = [];
        try
        {
            for (int i = 0; i < 1_000; i++) connections.Add(server.Connect());
            RespConnection[] refused = [.. connections.Where(connection => connection.Run("PING") is { IsError: true } or { IsClosed: true })];
            Assert.InRange(refused.Length, 800, 999);
            Eventually(() => Directory.GetFiles($"/proc/{server.Id}/fd").Length < 370, "refused connections are closed");
            Assert.Equal(connections.Count - refused.Length + 1, Info(watcher, "connected_clients"));
            Eventually(() =>
            {
                using RespConnection late = server.Connect(); // all the others may have been refused before the first observation
                late.Run("PING");
                return watcher.Run("INFO findings").Text!.Contains("finding_clients-refused:", StringComparison.Ordinal);
            }, "the server observes itself");
        }
        finally
        {
            foreach (RespConnection connection in connections) connection.Dispose();
        }
    }

    [Theory]
    [MemberData(nameof(Transports))]
    public void Connections_cut_at_any_byte_leak_nothing(string transport)
    {
        using ServerProcess server = Start(transport);
        using RespConnection watcher = server.Connect();
        for (int cut = 0; cut <= Pipeline.Length; cut++)
        {
            RespConnection connection = server.Connect();
            connection.Send(Pipeline[..cut]);
            if (cut % 2 == 0) connection.Dispose();
            else connection.Reset();
        }

        Eventually(() => Info(watcher, "connected_clients") == 1, "all connections are gone");
        watcher.Run("PING").IsSimple("PONG");
        watcher.Run("GET k").IsBulk("a\r\nbc");
    }

    [Theory]
    [MemberData(nameof(Transports))]
    public void Pipelines_split_at_any_byte_get_the_same_replies(string transport)
    {
        using ServerProcess server = Start(transport);
        List<RespConnection> connections = [];
        for (int split = 1; split < Pipeline.Length; split++) connections.Add(server.Connect());
        for (int i = 0; i < connections.Count; i++) connections[i].Send(Pipeline[..(i + 1)]);
        Thread.Sleep(100);   // the first parts are read before the second ones arrive
        for (int i = 0; i < connections.Count; i++) connections[i].Send(Pipeline[(i + 1)..]);
        foreach (RespConnection connection in connections)
        {
            (byte[] bytes, bool closed) = connection.ReadUntilQuiet(2, PipelineReplies.Length);
            Assert.False(closed);
            // Each connection increments the same counter.
            Assert.Equal(PipelineReplies, Regex.Replace(Encoding.Latin1.GetString(bytes), ":[0-9]+", ":n"));
            connection.Dispose();
        }
    }

    [Theory]
    [MemberData(nameof(Transports))]
    public void Slow_reader_gets_everything_without_delaying_others(string transport)
    {
        const int valueBytes = 100_000, requests = 500;
        using ServerProcess server = Start(transport);
        using RespConnection quick = server.Connect();
        string value = new('v', valueBytes);
        quick.Run($"SET big {value}").IsOk();

        using RespConnection slow = server.Connect();
        for (int i = 0; i < requests; i++) slow.SendCommand("GET big");
        for (int i = 0; i < requests; i++)
        {
            if (i % 50 == 0)
            {
                // The slow client resumes reading only after this reply, so a server that waited for it would never send it.
                Thread.Sleep(20);
                quick.Run($"SET other {i}").IsOk();
            }

            slow.Read().IsBulk(value);
        }
    }

    [Theory]
    [MemberData(nameof(Transports))]
    public void Memory_of_unread_replies_is_released(string transport)
    {
        const int valueBytes = Megabyte, requests = 150;
        using ServerProcess server = Start(transport);
        using RespConnection watcher = server.Connect();
        watcher.Run($"SET big {new string('v', valueBytes)}").IsOk();
        long usedBefore = Info(watcher, "used_memory"), residentBefore = server.ResidentBytes;

        // One reply: of many, most would not be executed before the others are read.
        RespConnection greedy = server.Connect();
        greedy.SendCommand("MGET" + string.Concat(Enumerable.Repeat(" big", requests)));
        Eventually(() => Info(watcher, "used_memory") > usedBefore + (long)requests * valueBytes / 2, "unread replies are counted");
        greedy.Reset();

        Eventually(() => Info(watcher, "used_memory") < usedBefore + (8 * Megabyte), "used_memory is back");
        Eventually(() => server.ResidentBytes < residentBefore + (long)requests * valueBytes / 2, "resident memory is back");
        Eventually(() => Info(watcher, "connected_clients") == 1, "the connection is gone");
    }

    [Theory]
    [MemberData(nameof(Transports))]
    public void Memory_stays_bounded_for_a_client_that_does_not_read(string transport)
    {
        const int allowedBytes = 40 * Megabyte;
        int unread = TestScale.Of(gate: 100, full: 500); // replies of a megabyte
        using ServerProcess server = Start(transport, "--requirepass", "secret");
        using RespConnection watcher = server.Connect();
        watcher.Run("AUTH secret").IsOk();
        watcher.Run($"SET big {new string('v', Megabyte)}").IsOk();
        watcher.Run("GET big");
        long residentBefore = server.ResidentBytes;

        // Before login, 10 MiB of requests with an error for each, until the client is closed.
        using RespConnection stranger = server.Connect();
        Thread errors = new(() => stranger.Send(string.Concat(Enumerable.Repeat("PING\r\n", 1_700_000)))) { IsBackground = true };
        errors.Start();
        Eventually(() => Info(watcher, "client_output_buffer_limit_disconnections") == 1, "the stranger is closed");

        // And values, of which the client wants none.
        using RespConnection greedy = server.Connect();
        greedy.Run("AUTH secret").IsOk();
        Thread values = new(() => greedy.Send(string.Concat(Enumerable.Repeat("GET big\r\n", unread)))) { IsBackground = true };
        values.Start();
        Eventually(() => Info(watcher, "suspended_clients") == 1, "the greedy client is suspended");
        Thread.Sleep(200);
        Assert.InRange(server.ResidentBytes - residentBefore, long.MinValue, allowedBytes);

        for (int i = 0; i < unread; i++) Assert.Equal(Megabyte, greedy.Read().Payload!.Length);
        Eventually(() => Info(watcher, "suspended_clients") == 0, "no client is suspended");
        Assert.InRange(server.ResidentBytes - residentBefore, long.MinValue, allowedBytes);
    }

    [Theory]
    [MemberData(nameof(Transports))]
    public void Query_buffer_limit_closes_the_connection_and_is_counted(string transport)
    {
        using ServerProcess server = Start(transport, "--client-query-buffer-limit", "1mb");
        using RespConnection watcher = server.Connect();
        using RespConnection greedy = server.Connect();
        // Small arguments of one command, which must be kept until the last has arrived.
        greedy.Send("*1000000\r\n");
        string arguments = string.Concat(Enumerable.Repeat("$10\r\n0123456789\r\n", 1_000));
        for (int i = 0; i < 50; i++) greedy.Send("$40000\r\n" + new string('x', 40_000) + "\r\n");
        for (int i = 0; i < 100; i++) greedy.Send(arguments);
        greedy.Send("$2000000\r\n" + new string('y', 1_900_000));
        greedy.Read().IsClosed();
        Counted(watcher, "client_query_buffer_limit_disconnections");
        watcher.Run("PING").IsSimple("PONG");
    }

    [Theory]
    [MemberData(nameof(Transports))]
    public void Hard_output_limit_closes_the_connection_and_is_counted(string transport)
    {
        using ServerProcess server = Start(transport);
        using RespConnection watcher = server.Connect();
        watcher.Run("CONFIG SET client-output-buffer-limit \"normal 4mb 0 0\"").IsOk();
        watcher.Run($"SET big {new string('v', Megabyte)}").IsOk();
        using RespConnection greedy = server.Connect();
        greedy.Run("PING").IsSimple("PONG");   // the server has accepted it, so the wait for its end cannot succeed too early
        for (int i = 0; i < 100; i++) greedy.SendCommand("GET big");
        Eventually(() => Info(watcher, "connected_clients") == 1, "the connection is gone");
        Counted(watcher, "client_output_buffer_limit_disconnections");

        int replies = 0;
        RespValue last = greedy.Read();
        for (; last.IsString; last = greedy.Read()) replies++;
        Assert.InRange(replies, 0, 99);
        Assert.False(last.IsTimeout);
    }

    [Theory]
    [MemberData(nameof(Transports))]
    public void Soft_output_limit_applies_after_its_time(string transport)
    {
        using ServerProcess server = Start(transport);
        using RespConnection watcher = server.Connect();
        watcher.Run("CONFIG SET client-output-buffer-limit \"normal 0 1mb 1\"").IsOk();
        watcher.Run($"SET big {new string('v', Megabyte)}").IsOk();
        using RespConnection greedy = server.Connect();
        greedy.Run("PING").IsSimple("PONG");   // the server has accepted it, so the wait for its end cannot succeed too early
        Stopwatch clock = Stopwatch.StartNew();
        for (int i = 0; i < 60; i++) greedy.SendCommand("GET big");
        Eventually(() => Info(watcher, "connected_clients") == 1, "the connection is gone");

        // Redis counts whole seconds, so its first second may be short: the client is cut off in the one after the next.
        Assert.True(clock.ElapsedMilliseconds >= 900, $"cut off after {clock.ElapsedMilliseconds} ms");
        Counted(watcher, "client_output_buffer_limit_disconnections");
    }

    [Theory]
    [MemberData(nameof(Transports))]
    public void Very_long_pipeline_is_answered_in_order(string transport)
    {
        int commands = TestScale.Of(gate: 50_000, full: 200_000);
        using ServerProcess server = Start(transport);
        using RespConnection connection = server.Connect();
        Thread sender = new(() => connection.Send(string.Concat(Enumerable.Range(0, commands).Select(i => $"ECHO {i}\r\n"))));
        sender.Start();
        for (int i = 0; i < commands; i++) connection.Read().IsBulk(i.ToString(CultureInfo.InvariantCulture));
        sender.Join();
    }

    [Theory]
    [MemberData(nameof(Transports))]
    public void Large_value_is_unchanged_in_both_directions(string transport)
    {
        using ServerProcess server = Start(transport);
        using RespConnection connection = server.Connect();
        byte[] value = new byte[TestScale.Of(gate: 16, full: 64) * Megabyte];
        new Random(1).NextBytes(value);
        connection.Run("SET"u8.ToArray(), "k"u8.ToArray(), value).IsOk();
        Assert.True(connection.Run("GET k").Payload.AsSpan().SequenceEqual(value));
        connection.Run("STRLEN k").IsInteger(value.Length);
    }

    [Theory]
    [MemberData(nameof(Transports))]
    public void Short_lived_connections_leak_no_memory(string transport)
    {
        using ServerProcess server = Start(transport);
        using RespConnection watcher = server.Connect();
        ConnectAndDisconnect(server, 500);
        Eventually(() => Info(watcher, "connected_clients") == 1, "the connections are gone");
        long before = Info(watcher, "used_memory");
        ConnectAndDisconnect(server, 3_000);
        Eventually(() => Info(watcher, "connected_clients") == 1, "the connections are gone");
        Eventually(() => Info(watcher, "used_memory") < before + Megabyte, "used_memory is back");
    }

    private static void ConnectAndDisconnect(ServerProcess server, int count)
    {
        for (int i = 0; i < count; i++)
        {
            using RespConnection connection = server.Connect();
            connection.Run("PING").IsSimple("PONG");
        }
    }

    private static ServerProcess Start(string transport, params string[] options) =>
        ServerProcess.Start(ServerProgram.UnderTest, [.. ServerProgram.TransportOptions(transport), .. options]);

    private static void Counted(RespConnection watcher, string field)
    {
        // Redis has this counter since 7.2.
        if (ServerProgram.UnderTest.IsRedKite) Assert.Equal(1, Info(watcher, field));
    }

    private static long Info(RespConnection connection, string field)
    {
        string line = connection.Run("INFO everything").Text.Split("\r\n").First(line => line.StartsWith(field + ":", StringComparison.Ordinal));
        return long.Parse(line.AsSpan(field.Length + 1), CultureInfo.InvariantCulture);
    }

    private static void Eventually(Func<bool> condition, string what)
    {
        Stopwatch clock = Stopwatch.StartNew();
        while (!condition())
        {
            Assert.True(clock.ElapsedMilliseconds < SettleTimeoutMs, $"not within {SettleTimeoutMs} ms: {what}");
            Thread.Sleep(20);
        }
    }
}
