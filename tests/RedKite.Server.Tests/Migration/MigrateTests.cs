using System.Globalization;
using System.Text;
using RedKite.Server.Tests.Commands;
using RedKite.TestSupport;

namespace RedKite.Server.Tests.Migration;

/// <summary>MIGRATE between RedKite, Redis and Valkey: values, replies, and what becomes of the keys.</summary>
public class MigrateTests
{
    private static readonly string[] Values =
    [
        "SET string value", "SET number 12345", "SET long " + LongText, "RPUSH list a b c", "SADD set a b c", "SADD intset 1 2 3", "ZADD zset 1 a 2 b", "HSET hash f v g w",
        "XADD stream 1-1 f v", "XGROUP CREATE stream g 0", "SETBIT bits 100 1", "PFADD log a b c", "GEOADD geo 13.36 38.11 Palermo",
    ];

    private static readonly string[] ValuesOfRedis8 = [.. Values, "HSET times f v g w", "HPEXPIREAT times 4000000000000 FIELDS 1 f"];

    private static readonly string[] ValuesOfRedKite = [.. ValuesOfRedis8, "VADD vectors VALUES 3 1 2 3 element", "ARSET array 3 x y z"];

    private const string LongText = "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx";

    [Fact]
    public async Task Every_type_arrives_at_another_redkite()
    {
        await using LiveServer source = await LiveServer.StartAsync("enable-debug-command", "yes");
        await using LiveServer target = await LiveServer.StartAsync("enable-debug-command", "yes");
        AssertArrives(source.Client, target.Client, target.Server.Port, ValuesOfRedKite);
    }

    [Fact]
    public async Task Every_type_arrives_at_redis()
    {
        using Oracle oracle = new("--save", "", "--enable-debug-command", "yes");
        using RespConnection target = RespConnection.Connect(oracle.Port);
        await using LiveServer source = await LiveServer.StartAsync("enable-debug-command", "yes");
        AssertArrives(source.Client, target, oracle.Port, ValuesOfRedis8);
    }

    [Fact]
    public async Task Every_type_arrives_from_redis()
    {
        using Oracle oracle = new("--save", "", "--enable-debug-command", "yes");
        using RespConnection source = RespConnection.Connect(oracle.Port);
        await using LiveServer target = await LiveServer.StartAsync("enable-debug-command", "yes");
        AssertArrives(source, target.Client, target.Server.Port, ValuesOfRedis8);
    }

    // Valkey reads no payload of Redis 7.4 and later: it gets older ones, and is sent those at once from the second command on.
    [Theory]
    [InlineData("valkey 8")]
    [InlineData("valkey 9")]
    public async Task Every_type_arrives_at_valkey(string kind)
    {
        using Oracle valkey = Oracle.Of(kind == "valkey 8" ? OracleProgram.Valkey8 : OracleProgram.Valkey9, "--save", "", "--enable-debug-command", "yes");
        using RespConnection target = RespConnection.Connect(valkey.Port);
        await using LiveServer source = await LiveServer.StartAsync("enable-debug-command", "yes");
        AssertArrives(source.Client, target, valkey.Port, kind == "valkey 8" ? Values : ValuesOfRedis8, comparesDigests: false);
        if (kind == "valkey 9") Assert.Equal(4000000000000, target.Run("HPEXPIRETIME times FIELDS 1 f").Items[0].Number);
        string before = target.Run("INFO errorstats").Text!;
        source.Run("SET another value").IsOk();
        source.Run($"MIGRATE 127.0.0.1 {valkey.Port} another 0 60000").IsOk();
        Assert.Equal(before, target.Run("INFO errorstats").Text);
    }

    // What an older server cannot keep is refused there, and stays here.
    [Fact]
    public async Task What_conversion_would_lose_stays()
    {
        using Oracle valkey = Oracle.Of(OracleProgram.Valkey8, "--save", "");
        await using LiveServer source = await LiveServer.StartAsync();
        foreach (string line in (string[])["HSET times f v", "HPEXPIREAT times 4000000000000 FIELDS 1 f", "VADD vectors VALUES 3 1 2 3 element", "SET string value"]) source.Run(line);
        Assert.Equal("ERR Target instance replied with error: ERR DUMP payload version or checksum are wrong", Migrate(source, valkey.Port, "", "KEYS times vectors string").Text);
        Assert.Equal("2", source.Run("DBSIZE").Text);
        Assert.Equal("1", valkey.RunText("DBSIZE"));
    }

    private static void AssertArrives(RespConnection source, RespConnection target, int port, string[] values, bool comparesDigests = true)
    {
        foreach (string line in values) Assert.False(source.Run(line).IsError, line);
        string[] keys = [.. source.Run("KEYS *").Items.Select(static item => item.Text!).Order(StringComparer.Ordinal)];
        source.Run("PEXPIREAT string 4000000000000");
        source.Run("PEXPIREAT hash 4000000000000");
        string[] digests = [.. keys.Select(key => Digest(source, key))];

        // One by one, and then back here and all at once.
        source.Run("SET other value");
        foreach (string key in keys) source.Run($"MIGRATE 127.0.0.1 {port} {key} 0 60000 COPY").IsOk();
        Assert.Equal(keys.Length + 1, source.Run("DBSIZE").Number);
        source.Run($"MIGRATE 127.0.0.1 {port} \"\" 0 60000 REPLACE KEYS nosuch {string.Join(' ', keys)}").IsOk();
        Assert.Equal("other", Assert.Single(source.Run("KEYS *").Items).Text);
        Assert.Equal(keys, target.Run("KEYS *").Items.Select(static item => item.Text!).Order(StringComparer.Ordinal));
        if (comparesDigests) Assert.Equal(digests, keys.Select(key => Digest(target, key)));
        foreach (string key in keys) Assert.InRange(target.Run("PEXPIRETIME " + key).Number, key is "string" or "hash" ? 4000000000000 - 60_000 : -1, key is "string" or "hash" ? 4000000000000 + 60_000 : -1);
    }

    [Fact]
    public async Task Keys_are_replaced_only_with_replace()
    {
        await using LiveServer source = await LiveServer.StartAsync();
        await using LiveServer target = await LiveServer.StartAsync();
        source.Run("MSET a 1 b 2 c 3").IsOk();
        target.Run("SET b x").IsOk();
        Assert.Equal("ERR Target instance replied with error: BUSYKEY Target key name already exists.", Migrate(source, target.Server.Port, "", "KEYS a b c").Text);
        Assert.Equal("b", Assert.Single(source.Run("KEYS *").Items).Text);
        Assert.Equal("x", target.Run("GET b").Text);
        Migrate(source, target.Server.Port, "b", "REPLACE").IsOk();
        Assert.Equal("2", target.Run("GET b").Text);
        Assert.Equal("NOKEY", Migrate(source, target.Server.Port, "b", "REPLACE").Text);
    }

    [Fact]
    public async Task Keys_arrive_in_the_named_database()
    {
        await using LiveServer source = await LiveServer.StartAsync();
        await using LiveServer target = await LiveServer.StartAsync();
        source.Run("SELECT 2").IsOk();
        source.Run("MSET a 1 b 2").IsOk();
        source.Run($"MIGRATE 127.0.0.1 {target.Server.Port} a 5 60000").IsOk();
        source.Run($"MIGRATE 127.0.0.1 {target.Server.Port} b 0 60000").IsOk(); // the same connection
        Assert.Equal("2", target.Run("GET b").Text);
        Assert.Equal(1, source.Number("stats", "migrate_cached_sockets"));
        target.Run("SELECT 5").IsOk();
        Assert.Equal("1", target.Run("GET a").Text);
        Assert.Equal(0, source.Run("DBSIZE").Number);
    }

    // Behind a refused SELECT or AUTH, RESTORE would write into another database, or as another user.
    [Fact]
    public async Task Nothing_is_sent_behind_a_refused_login_or_database()
    {
        await using LiveServer source = await LiveServer.StartAsync("slowlog-log-slower-than", "0");
        await using LiveServer target = await LiveServer.StartAsync("requirepass", "tell-nobody");
        target.Run("AUTH tell-nobody").IsOk();
        target.Run("ACL SETUSER mover on >another-secret +restore +select ~*").IsOk();
        source.Run("MSET a 1 b 2 c 3").IsOk();
        Assert.Equal("ERR Target instance replied with error: NOAUTH Authentication required.", Migrate(source, target.Server.Port, "a").Text);
        Assert.Equal("ERR Target instance replied with error: WRONGPASS invalid username-password pair or user is disabled.", Migrate(source, target.Server.Port, "a", "AUTH wrong").Text);
        Assert.Equal("ERR Target instance replied with error: ERR DB index is out of range", source.Run($"MIGRATE 127.0.0.1 {target.Server.Port} a 99 60000 AUTH tell-nobody").Text);
        Assert.Equal(0, target.Run("DBSIZE").Number);
        Assert.Equal(3, source.Run("DBSIZE").Number);
        Migrate(source, target.Server.Port, "a", "AUTH tell-nobody").IsOk();
        Migrate(source, target.Server.Port, "b", "AUTH2 mover another-secret").IsOk();

        // A connection that has logged in serves none that does not know the password.
        Assert.Equal("ERR Target instance replied with error: NOAUTH Authentication required.", Migrate(source, target.Server.Port, "c").Text);
        Assert.Equal(2, target.Run("DBSIZE").Number);

        // Its waits are logged from a copy of the request.
        string logged = string.Join('\n', source.Run("SLOWLOG GET -1").Items.Select(static entry => string.Join(' ', entry.Items[3].Items.Select(static argument => argument.Text))));
        Assert.Contains("AUTH (redacted)", logged, StringComparison.Ordinal);
        Assert.Contains("AUTH2 (redacted) (redacted)", logged, StringComparison.Ordinal);
        foreach (string secret in (string[])["tell-nobody", "another-secret", "wrong"]) Assert.DoesNotContain(secret, logged + string.Join('\n', source.LogLines), StringComparison.Ordinal);
    }

    [Fact]
    public async Task Many_keys_arrive_in_several_transfers()
    {
        await using LiveServer source = await LiveServer.StartAsync();
        await using LiveServer target = await LiveServer.StartAsync();
        const int Keys = 1500;
        var names = new StringBuilder();
        for (int i = 0; i < Keys; i++)
        {
            source.Server.Execute("SET", $"k{i}", new string('v', i == 7 ? 2_000_000 : i % 100));
            names.Append(CultureInfo.InvariantCulture, $" k{i}");
        }

        target.Run("SET k1400 other").IsOk();
        Assert.Equal("ERR Target instance replied with error: BUSYKEY Target key name already exists.", Migrate(source, target.Server.Port, "", "KEYS" + names).Text);
        Assert.Equal("k1400", Assert.Single(source.Run("KEYS *").Items).Text);
        Assert.Equal(Keys, target.Run("DBSIZE").Number);
        Assert.Equal(2_000_000, target.Run("STRLEN k7").Number);
        Assert.Equal(0, source.Server.Parts.Migrations.Running);
        Assert.Equal(0, source.Server.Engine.Blocked.Count);
    }

    [Fact]
    public async Task Server_that_is_its_own_target_loses_nothing()
    {
        await using LiveServer server = await LiveServer.StartAsync();
        server.Run("SET a 1").IsOk();
        Assert.StartsWith("ERR Target instance replied with error: BUSYKEY", Migrate(server, server.Server.Port, "a").Text, StringComparison.Ordinal);
        Migrate(server, server.Server.Port, "a", "REPLACE").IsError("IOERR error or timeout reading to target instance"); // its RESTORE waits, like all writes
        Assert.False(server.Server.Engine.WriteGate.Waits);
        Assert.Equal("1", server.Run("GET a").Text);
        server.Run($"MIGRATE 127.0.0.1 {server.Server.Port} a 1 60000").IsOk();
        Assert.Equal(0, server.Run("DBSIZE").Number);
    }

    [Fact]
    public async Task Transactions_and_scripts_cannot_wait()
    {
        await using LiveServer server = await LiveServer.StartAsync();
        server.Run("SET a 1").IsOk();
        server.Run("MULTI").IsOk();
        server.Run("MIGRATE 127.0.0.1 1 a 0 60000");
        server.Run("MIGRATE 127.0.0.1 1 nosuch 0 60000");
        Assert.Equal(["ERR MIGRATE cannot be used in a transaction or script, because it waits for another server", "NOKEY"], server.Run("EXEC").Items.Select(static item => item.Text));
        Assert.StartsWith("ERR MIGRATE cannot be used in a transaction or script", server.Run("EVAL \"return redis.call('MIGRATE', '127.0.0.1', 1, KEYS[1], 0, 60000)\" 1 a").Text, StringComparison.Ordinal);
        Assert.Equal("1", server.Run("GET a").Text);
    }

    [Fact]
    public async Task Host_can_migrate_with_and_without_a_thread()
    {
        await using LiveServer source = await LiveServer.StartAsync();
        await using LiveServer target = await LiveServer.StartAsync();
        string port = target.Server.Port.ToString(CultureInfo.InvariantCulture);
        source.Run("MSET a 1 b 2 c 3").IsOk();
        RedKiteClient client = source.Server.CreateClient();
        Assert.Equal("OK", client.Execute("MIGRATE", "127.0.0.1", port, "a", "0", "60000").Text);
        Assert.Equal("OK", (await client.ExecuteAsync(["MIGRATE", "127.0.0.1", port, "b", "0", "60000"], TestContext.Current.CancellationToken)).Text);
        using RedKiteSession session = source.Server.CreateSession();
        Assert.Equal("OK", session.Execute("MIGRATE", "127.0.0.1", port, "c", "0", "60000").Text);
        Assert.Equal(3, target.Run("DBSIZE").Number);
        Assert.Equal(0, source.Run("DBSIZE").Number);
    }

    internal static RespValue Migrate(LiveServer source, int port, string key, string options = "") =>
        source.Run($"MIGRATE 127.0.0.1 {port} {(key.Length > 0 ? key : "\"\"")} 0 60000 {options}");

    private static string Digest(RespConnection connection, string key) => connection.Run("DEBUG DIGEST-VALUE " + key).Items[0].Text!;
}
