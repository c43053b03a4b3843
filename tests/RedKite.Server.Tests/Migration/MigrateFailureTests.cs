using System.Globalization;
using System.Net;
using System.Net.Sockets;
using RedKite.Server.Migration;
using RedKite.Server.Tests.Commands;
using RedKite.Server.Tests.Replication;
using RedKite.TestSupport;

namespace RedKite.Server.Tests.Migration;

/// <summary>MIGRATE to targets that fail, refuse or say nothing, and what replicas, the log and observers see of it.</summary>
public class MigrateFailureTests
{
    private static readonly string[] Requests =
    [
        "MIGRATE", "MIGRATE h 1 k 0", "MIGRATE {0} nosuch 0 1000", "MIGRATE {0} \"\" 0 1000 KEYS x y", "MIGRATE {0} \"\" 0 1000 KEYS", "MIGRATE {0} \"\" 0 1000", "MIGRATE {0} a 0 1000 KEYS a",
        "MIGRATE {0} a 0 1000 KEYS", "MIGRATE {0} a x 1000", "MIGRATE {0} a 0 x", "MIGRATE {0} a 0 1000 FOO", "MIGRATE {0} a x 1000 FOO", "MIGRATE {0} a 0 1000 AUTH", "MIGRATE {0} a 0 1000 AUTH2 x",
        "MIGRATE {0} a 0 1000 AUTH x", "MIGRATE {0} a 0 1000 AUTH2 u x", "MIGRATE {0} a 0 1000 AUTH2 u x AUTH y", "MIGRATE {0} a 99 1000", "MIGRATE {0} a 99999999999 1000", "MIGRATE {0} a 9223372036854775808 1000",
        "MIGRATE {0} a 0 9223372036854775807 COPY REPLACE", "MIGRATE {0} a 0 1000 COPY", "MIGRATE {0} a 0 -5 COPY copy replace", "MIGRATE {0} a 0 0 REPLACE COPY", "MIGRATE {0} \"\" 0 1000 COPY KEYS b b c", "MIGRATE {0} \"\" 0 1000 REPLACE keys b b c",
        "MIGRATE {0} \"\" 0 1000 KEYS a d", "MIGRATE 127.0.0.1 x d 0 1000", "MIGRATE 127.0.0.1 0 d 0 1000", "MIGRATE 127.0.0.1 1 d 0 1000", "MIGRATE 127.0.0.1 -5 d 0 1000", "MIGRATE 127.0.0.1 \"\" d 0 1000", "MIGRATE \"\" 1 d 0 1000",
        "EXISTS a b c d", "DBSIZE",
        "COMMAND GETKEYS MIGRATE h 1 k 0 1000", "COMMAND GETKEYS MIGRATE h 1 \"\" 0 1000", "COMMAND GETKEYS MIGRATE h 1 \"\" 0 1000 KEYS a b", "COMMAND GETKEYS MIGRATE h 1 k 0 1000 KEYS a b",
        "COMMAND GETKEYS MIGRATE h 1 \"\" 0 1000 AUTH KEYS KEYS a b", "COMMAND GETKEYS MIGRATE h 1 \"\" 0 1000 AUTH2 KEYS KEYS KEYS a b", "COMMAND GETKEYS MIGRATE h 1 k 0 1000 AUTH KEYS",
        "COMMAND GETKEYS MIGRATE h 1 \"\" 0 1000 KEYS KEYS b", "COMMAND GETKEYS MIGRATE h 1 \"\" 0 1000 COPY keys KEYS b", "COMMAND GETKEYS MIGRATE h 1 \"\" 0 1000 KEYS", "COMMAND GETKEYS MIGRATE h 1 \"\" 0 1000 AUTH KEYS a b",
        "COMMAND GETKEYS MIGRATE h 1 \"\" KEYS KEYS a b", "COMMAND GETKEYSANDFLAGS MIGRATE h 1 \"\" 0 1000 KEYS a b", "COMMAND GETKEYSANDFLAGS MIGRATE h 1 k 0 1000",
        "ACL SETUSER u on nopass +@all ~a*", "AUTH u x", "MIGRATE h 1 k 0 1000", "MIGRATE h 1 a1 0 100", "MIGRATE h 1 \"\" 0 100 KEYS a1 a2", "MIGRATE h 1 \"\" 0 100 KEYS a1 b2", "MIGRATE h 1 \"\" 0 100 AUTH KEYS KEYS a1",
        "MIGRATE h 1 \"\" 0 100 AUTH KEYS KEYS b1", "MIGRATE h 1 \"\" 0 100", "MIGRATE h 1 b 0 100 KEYS a1",
    ];

    [Fact]
    public async Task Replies_are_those_of_redis()
    {
        using Oracle oracle = new("--save", "");
        using Oracle first = new("--save", "");
        using Oracle second = new("--save", "");
        await using LiveServer server = await LiveServer.StartAsync();
        using RespConnection expected = RespConnection.Connect(oracle.Port);
        foreach (RespConnection source in (RespConnection[])[expected, server.Client]) source.Run("MSET a 1 b 2 c 3 d 4").IsOk();
        var differences = new List<string>();
        foreach (string request in Requests)
        {
            string theirs = expected.Run(Text(request, first.Port)).ToString();
            string ours = server.Run(Text(request, second.Port)).ToString();
            if (theirs != ours) differences.Add($"{request}: {theirs}, here {ours}");
        }

        Assert.True(differences.Count == 0, string.Join('\n', differences));

        static string Text(string request, int port) => request.Replace("{0}", $"127.0.0.1 {port.ToString(CultureInfo.InvariantCulture)}", StringComparison.Ordinal);
    }

    // Each script replies to RESTORE; null closes the connection. What is not accepted stays.
    [Theory]
    [InlineData("+OK,+OK,+OK", "OK", "")]
    [InlineData("+OK,-ERR x,+OK", "ERR Target instance replied with error: ERR x", "b")]
    [InlineData("-ERR first,-ERR second,+OK", "ERR Target instance replied with error: ERR first", "a b")]
    [InlineData("+OK,close,close", "IOERR error or timeout reading to target instance", "b c")]
    [InlineData("close,close,close", "IOERR error or timeout reading to target instance", "a b c")]
    [InlineData("+OK,-ERR x,close", "ERR Target instance replied with error: ERR x", "b c")]
    [InlineData("+OK,silence,silence", "IOERR error or timeout reading to target instance", "b c")]
    [InlineData("+OK,nonsense,+OK", "IOERR error or timeout reading to target instance", "b c")]
    [InlineData("endless,+OK,+OK", "IOERR error or timeout reading to target instance", "a b c")]
    [InlineData("long,+OK,+OK", "ERR Target instance replied with error: ERR ", "a")]
    public async Task Only_accepted_keys_go(string script, string reply, string rest)
    {
        await using LiveServer source = await LiveServer.StartAsync();
        int restored = 0;
        using var target = new HeldTarget
        {
            Script = request => request[0] != "RESTORE" ? "+OK\r\n" : script.Split(',')[restored++ % 3] switch
            {
                "close" => null,
                "silence" => "",
                "endless" => new string('x', 100_000),
                "long" => "-ERR " + new string('x', 3000) + "\r\n",
                var text => text + "\r\n",
            },
        };
        source.Run("MSET a 1 b 2 c 3").IsOk();
        int timeoutMs = script.Contains("silence", StringComparison.Ordinal) ? 100 : 60_000;
        string text = source.Run($"MIGRATE 127.0.0.1 {target.Port} \"\" 0 {timeoutMs} KEYS a b c").Text!;
        Assert.StartsWith(reply, text, StringComparison.Ordinal);
        Assert.InRange(text.Length, reply.Length, 41 + 1022); // as in Redis, an error's text is cut off
        Assert.Equal(rest, string.Join(' ', source.Run("KEYS *").Items.Select(static item => item.Text).Order(StringComparer.Ordinal)));
        Assert.Equal(0, source.Server.Parts.Migrations.Running);
        Assert.DoesNotContain(source.Server.Engine.Keyspace.Stripes, static stripe => stripe.HasWatches);
    }

    [Fact]
    public async Task Target_that_does_not_answer_ends_the_command_at_its_timeout()
    {
        await using LiveServer source = await LiveServer.StartAsync();
        using var silent = new TcpListener(IPAddress.Loopback, 0);
        silent.Start();
        source.Run("SET a 1").IsOk();
        source.Run($"MIGRATE 127.0.0.1 {((IPEndPoint)silent.LocalEndpoint).Port} a 0 50").IsError("IOERR error or timeout reading to target instance");
        Assert.Equal("1", source.Run("GET a").Text);
        Assert.Equal(0, source.Number("stats", "migrate_cached_sockets"));
    }

    // A kept connection may have broken since: the command is tried once more, unless a key was answered.
    [Fact]
    public async Task Broken_kept_connection_is_replaced_once()
    {
        await using LiveServer source = await LiveServer.StartAsync();
        int requests = 0;
        using var target = new HeldTarget { Script = request => Interlocked.Increment(ref requests) is 3 or 7 or 8 ? null : "+OK\r\n" };
        source.Run("MSET a 1 b 2 c 3 d 4").IsOk();
        MigrateTests.Migrate(source, target.Port, "a").IsOk(); // SELECT, RESTORE
        MigrateTests.Migrate(source, target.Port, "b").IsOk(); // RESTORE fails; SELECT, RESTORE
        MigrateTests.Migrate(source, target.Port, "c").IsOk(); // RESTORE
        Assert.Equal(2, target.Accepted);
        MigrateTests.Migrate(source, target.Port, "d").IsError("IOERR error or timeout reading to target instance"); // RESTORE fails, and SELECT of another connection
        Assert.Equal(3, target.Accepted);
        Assert.Equal("d", Assert.Single(source.Run("KEYS *").Items).Text);
    }

    [Fact]
    public async Task Idle_connections_are_closed()
    {
        await using LiveServer source = await LiveServer.StartAsync();
        await using LiveServer target = await LiveServer.StartAsync();
        source.Run("MSET a 1 b 2").IsOk();
        MigrateTests.Migrate(source, target.Server.Port, "a").IsOk();
        MigrationService service = source.Server.Parts.Migrations;
        long nowMs = source.Server.Engine.Clock.SteadyMs;
        service.Tick(nowMs);
        Assert.Equal(1, service.IdleConnections);
        service.Tick(nowMs + MigrationService.IdleMs + 1);
        Assert.Equal(0, service.IdleConnections);
        MigrateTests.Migrate(source, target.Server.Port, "b").IsOk();
    }

    [Fact]
    public async Task Replicas_get_the_removal_of_what_was_accepted()
    {
        await using ReplicatedServer source = await ReplicatedServer.StartAsync();
        await using LiveServer target = await LiveServer.StartAsync();
        using var replica = new RawReplica(source.Server.Port);
        (long offset, _) = replica.Synchronize();
        replica.BecomeOnline(source, offset);
        source.Client.Run("MSET a 1 b 2 c 3 d 4").IsOk();
        target.Run("SET b x").IsOk();
        string migrate = $"MIGRATE 127.0.0.1 {target.Server.Port} \"\" 0 60000";
        source.Client.Run(migrate + " COPY REPLACE KEYS d").IsOk();
        source.Client.Run(migrate + " KEYS a b c c nosuch");
        source.Client.Run(migrate + " REPLACE KEYS d").IsOk();
        source.Client.Run("SET end 1").IsOk();
        var stream = new List<string>();
        while (stream.Count == 0 || stream[^1] != "SET end 1") stream.Add(ReadRequest(replica));
        Assert.Equal(["SELECT 0", "MSET a 1 b 2 c 3 d 4", "DEL a c", "DEL d", "SET end 1"], stream.SkipWhile(static request => request == "PING"));

        static string ReadRequest(RawReplica replica)
        {
            int count = int.Parse(replica.ReadLineWithText().AsSpan(1), CultureInfo.InvariantCulture);
            var words = new string[count];
            for (int i = 0; i < count; i++)
            {
                replica.ReadLine();
                words[i] = replica.ReadLine();
            }

            return string.Join(' ', words);
        }
    }

    [Theory]
    [InlineData("::1")]
    [InlineData("0:0:0:0:0:0:0:1")]
    public async Task Target_may_be_an_address_of_the_newer_protocol(string host)
    {
        if (!Socket.OSSupportsIPv6) return;
        await using LiveServer source = await LiveServer.StartAsync();
        var options = new RedKiteOptions { Port = 0, Settings = { ["bind"] = "::1", ["diagnostics"] = "no", ["loops"] = "1" } };
        await using RedKiteServer target = await RedKiteServer.StartAsync(options, TestContext.Current.CancellationToken);
        source.Run("SET a 1").IsOk();
        source.Run($"MIGRATE {host} {target.Port} a 0 60000").IsOk();
        Assert.Equal("1", target.Execute("GET", "a").Text);
    }

    [Fact]
    public async Task Observers_see_a_removal()
    {
        await using LiveServer source = await LiveServer.StartAsync("notify-keyspace-events", "KEA");
        await using LiveServer target = await LiveServer.StartAsync();
        using RespConnection watcher = RespConnection.Connect(source.Server.Port);
        using RespConnection subscriber = RespConnection.Connect(source.Server.Port);
        source.Run("MSET a 1 b 2").IsOk();
        watcher.Run("WATCH a").IsOk();
        subscriber.Run("SUBSCRIBE __keyevent@0__:del");
        long changes = source.Number("persistence", "rdb_changes_since_last_save");
        source.Run($"MIGRATE 127.0.0.1 {target.Server.Port} b 0 60000 COPY").IsOk();
        Assert.Equal(changes, source.Number("persistence", "rdb_changes_since_last_save"));
        source.Run($"MIGRATE 127.0.0.1 {target.Server.Port} a 0 60000").IsOk();
        Assert.Equal(changes + 1, source.Number("persistence", "rdb_changes_since_last_save"));
        Assert.Equal("a", subscriber.Read().Items[2].Text);
        watcher.Run("MULTI").IsOk();
        watcher.Run("PING");
        watcher.Run("EXEC").IsNull();
        Assert.Contains("cmdstat_migrate:calls=2,", source.Run("INFO commandstats").Text, StringComparison.Ordinal);
    }
}
