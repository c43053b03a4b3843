using System.Globalization;
using RedKite.Server.Replication;
using RedKite.Server.Tests.Durability;
using RedKite.TestSupport;

namespace RedKite.Server.Tests.Following;

/// <summary>RedKite as a replica of a real server: the data is the same at the same offset.</summary>
public class FollowingTests
{
    private const string Library = "#!lua name=l\nredis.register_function('f', function(keys) redis.call('INCR', keys[1]) return redis.call('APPEND', keys[2], 'x') end)";

    [Theory]
    [InlineData("redis 8", "yes")]
    [InlineData("redis 8", "no")]
    [InlineData("redis 7", "yes")]
    [InlineData("valkey 8", "yes")]
    [InlineData("valkey 9", "yes")]
    [InlineData("valkey 9", "no")]
    public async Task A_replica_has_the_data_of_its_primary(string program, string diskless)
    {
        using Oracle primary = PrimaryOf(program, "--repl-diskless-sync", diskless);
        var random = new RandomWrites(seed: 1, primary);
        Assert.Equal("l", primary.Run("FUNCTION", "LOAD", Library));
        random.Run(500);
        await using DiskServer replica = await DiskServer.StartAsync("replicaof", $"127.0.0.1 {primary.Port}");
        random.Run(300);
        AssertSame(primary, replica);
        random.Run(1000);
        AssertSame(primary, replica);
        Assert.Equal("1", replica.Run("FUNCTION LIST").Items.Count.ToString(CultureInfo.InvariantCulture));
        Assert.Equal(0, replica.Server.Engine.Metrics.Server.StreamErrors);
    }

    [Fact]
    public async Task A_link_that_breaks_goes_on_where_it_was()
    {
        using Oracle primary = PrimaryOf("redis 8");
        var random = new RandomWrites(seed: 2, primary);
        random.Run(100);
        await using DiskServer replica = await DiskServer.StartAsync();
        Assert.Equal("OK", replica.Run($"REPLICAOF 127.0.0.1 {primary.Port}").Text);
        AssertSame(primary, replica); // it loads no more, and would refuse the command while it does
        Assert.Equal("OK Already connected to specified master", replica.Run($"REPLICAOF 127.0.0.1 {primary.Port}").Text);
        for (int i = 0; i < 5; i++)
        {
            random.Run(50);
            AssertSame(primary, replica);
            if (i % 2 == 0) Assert.Equal("1", replica.Run("CLIENT KILL TYPE master").ToString());
            else Assert.Equal("1", primary.Run("CLIENT", "KILL", "TYPE", "replica"));
        }

        random.Run(50);
        AssertSame(primary, replica);
        Assert.Equal("1", Stat(primary, "sync_full"));
        Assert.Equal("5", Stat(primary, "sync_partial_ok"));
    }

    [Fact]
    public async Task A_promoted_replica_is_followed_by_its_old_primary()
    {
        using Oracle primary = PrimaryOf("redis 8");
        var random = new RandomWrites(seed: 3, primary);
        random.Run(100);
        await using DiskServer replica = await DiskServer.StartAsync();
        replica.Run($"REPLICAOF 127.0.0.1 {primary.Port}");
        AssertSame(primary, replica);
        Assert.StartsWith("READONLY ", replica.Run("SET key value").Text, StringComparison.Ordinal);
        string id = replica.Server.Engine.Replication.Id;
        long offset = replica.Server.Parts.ReplicaStream.Offset;
        Assert.Equal("OK", replica.Run("REPLICAOF NO ONE").Text);
        Assert.Equal("OK", replica.Run("REPLICAOF NO ONE").Text);
        Assert.Equal("OK", replica.Run("SET key value").Text);
        ReplicationIds ids = replica.Server.Engine.Replication.Ids;
        Assert.Equal(id, ids.SecondId);
        Assert.InRange(ids.SecondOffset, offset + 1, replica.Server.Parts.ReplicaStream.Offset + 1); // the primary may have asked for the offset meanwhile
        Assert.NotEqual(id, ids.Id);

        // And back: the primary has what it had, so only its own data is sent again.
        replica.Run($"REPLICAOF 127.0.0.1 {primary.Port}");
        AssertSame(primary, replica);
        Assert.Equal("0", replica.Run("EXISTS key").ToString());
    }

    [Fact]
    public async Task A_replica_that_was_stopped_goes_on_where_it_was()
    {
        using Oracle primary = PrimaryOf("redis 8");
        var random = new RandomWrites(seed: 5, primary);
        random.Run(100);
        await using DiskServer replica = await DiskServer.StartAsync("replicaof", $"127.0.0.1 {primary.Port}", "save", "3600 1");
        AssertSame(primary, replica);
        random.Run(50);
        await replica.RestartAsync();
        random.Run(50);
        AssertSame(primary, replica);
        Assert.Equal(("1", "1"), (Stat(primary, "sync_full"), Stat(primary, "sync_partial_ok")));
    }

    [Fact]
    public async Task The_link_uses_tls_and_a_user_of_the_primary()
    {
        using var certificates = new TestCertificates();
        certificates.Issue("server").Dispose();
        int tlsPort = LoopbackPort.Next();
        string[] files = ["tls-cert-file", certificates.PathOf("server.crt"), "tls-key-file", certificates.PathOf("server.key"), "tls-ca-cert-file", certificates.PathOf("authority.crt")];
        using Oracle primary = PrimaryOf("redis 8", ["--tls-port", tlsPort.ToString(CultureInfo.InvariantCulture), .. files.Select((word, i) => i % 2 == 0 ? "--" + word : word), "--user", "follower", "on", ">secret", "+psync", "+replconf", "+ping"]);
        primary.Run("SET", "key", "value");
        await using DiskServer replica = await DiskServer.StartAsync([.. files, "tls-replication", "yes", "masteruser", "follower", "masterauth", "wrong"]);
        replica.Server.Follower.Services.RetryAfter(100, 100);
        replica.Run($"REPLICAOF 127.0.0.1 {tlsPort}");
        replica.WaitFor(() => HasLogged("Unable to AUTH to MASTER"), "the refusal");
        replica.Run("CONFIG SET masterauth secret");
        AssertSame(primary, replica);
        Assert.Equal("value", replica.Run("GET key").Text);

        bool HasLogged(string text)
        {
            lock (replica.LogLines) return replica.LogLines.Exists(line => line.Contains(text, StringComparison.Ordinal));
        }
    }

    // As a sentinel does it; and in a transaction with keys, where the link may wait for the transaction's stripes.
    [Theory]
    [InlineData("PING")]
    [InlineData("GET key")]
    public async Task The_role_changes_in_a_transaction(string beside)
    {
        using Oracle primary = PrimaryOf("redis 8");
        primary.Run("SET", "key", "value");
        await using DiskServer replica = await DiskServer.StartAsync();
        using RespConnection client = RespConnection.Connect(replica.Server.Port);
        foreach (string role in (string[])[$"SLAVEOF 127.0.0.1 {primary.Port}", "SLAVEOF NO ONE"])
        {
            client.Run("MULTI");
            client.Run(beside);
            Assert.Equal("QUEUED", client.Run(role).Text);
            client.Run("CLIENT KILL TYPE pubsub");
            Assert.Equal("OK", client.Run("EXEC").Items[1].Text);
            if (role.EndsWith("ONE", StringComparison.Ordinal)) replica.WaitFor(() => !replica.Server.Engine.Replication.IsReplica, "the promotion");
            else replica.WaitFor(() => replica.Server.Engine.Replication.LinkStatus is { State: ReplicaLinkState.Connected }, "the link");
        }

        Assert.Equal("OK", client.Run("SET key other").Text);
    }

    [Theory]
    [InlineData(6, "no")]
    [InlineData(6, "yes")]
    public Task Links_cut_anywhere_leave_the_same_data(int cuts, string diskless) => CutAsync(cuts, diskless, seed: 4);

    [Theory]
    [Long]
    [InlineData("no")]
    [InlineData("yes")]
    public Task A_thousand_cuts_leave_the_same_data(string diskless) => CutAsync(500, diskless, Environment.TickCount);

    private static async Task CutAsync(int cuts, string diskless, int seed)
    {
        using Oracle primary = PrimaryOf("redis 8", "--repl-diskless-sync", diskless, "--repl-backlog-size", "16kb");
        var writes = new RandomWrites(seed, primary);
        primary.Run("FUNCTION", "LOAD", Library);
        for (int i = 0; i < 200; i++) primary.Run("SET", $"long{i}", new string('x', 500));
        writes.Run(300);
        var random = new Random(seed);
        bool isOver = false;
        int longest = 1000;
        using var proxy = new LinkProxy(primary.Port, () =>
        {
            lock (random) return Volatile.Read(ref isOver) ? long.MaxValue : random.Next(longest = longest == 1000 ? 200_000 : 1000);
        });
        await using DiskServer replica = await DiskServer.StartAsync();
        replica.Server.Follower.Services.RetryAfter(1, 1);
        replica.Run($"REPLICAOF 127.0.0.1 {proxy.Port}");
        while (proxy.Cuts < cuts) writes.Run(20);
        Volatile.Write(ref isOver, true);
        primary.Run("CLIENT", "KILL", "TYPE", "replica");
        AssertSame(primary, replica);
        lock (replica.LogLines) Assert.DoesNotContain(replica.LogLines, line => line.Contains("CRITICAL", StringComparison.Ordinal));
    }

    private static Oracle PrimaryOf(string program, params string[] arguments) => Oracle.Of(
        program switch
        {
            "redis 7" => new ServerProgram("redis-server", "\"redis-server\"", IsRedKite: false),
            "valkey 8" => OracleProgram.Valkey8,
            "valkey 9" => OracleProgram.Valkey9,
            _ => OracleProgram.Redis8,
        },
        [.. arguments, "--repl-diskless-sync-delay", "0", "--enable-debug-command", "yes", "--save", ""]);

    private static string Stat(Oracle server, string field) => server.RunText("INFO").Split("\r\n").First(line => line.StartsWith(field + ":", StringComparison.Ordinal))[(field.Length + 1)..];

    // Of keys that expire at this moment, one server may know already what the other does not.
    private static void AssertSame(Oracle primary, DiskServer replica)
    {
        string state = "";
        bool isSame = SpinWait.SpinUntil(
            () =>
            {
                string before = Stat(primary, "master_repl_offset");
                string expected = primary.RunText("DEBUG", "DIGEST");
                ReplicaLinkStatus? link = replica.Server.Engine.Replication.LinkStatus;
                string actual = replica.Digest();
                state = $"primary at {before}: {expected}, replica {link}: {actual}";
                return link is { State: ReplicaLinkState.Connected } && link.Value.AppliedOffset.ToString(CultureInfo.InvariantCulture) == before && actual == expected && before == Stat(primary, "master_repl_offset");
            },
            TimeSpan.FromSeconds(15));
        if (isSame) return;
        lock (replica.LogLines) Assert.Fail($"{state}{Differences(primary, replica)}\n{string.Join('\n', replica.LogLines)}");
    }

    private static string Differences(Oracle primary, DiskServer replica)
    {
        var differences = new System.Text.StringBuilder();
        using RedKiteSession session = replica.Server.CreateSession();
        foreach (string database in (string[])["0", "3"])
        {
            primary.Run("SELECT", database);
            session.Execute("SELECT", database);
            string[] keys = [.. primary.RunList("KEYS", "*"), .. session.Execute("KEYS", "*").Items.Select(item => item.Text!)];
            foreach (string key in keys.Distinct())
            {
                string expected = primary.RunList("DEBUG", "DIGEST-VALUE", key)[0], actual = session.Execute("DEBUG", "DIGEST-VALUE", key).Items[0].Text!;
                if (expected != actual) differences.Append(CultureInfo.InvariantCulture, $"\n{database} {key} {primary.Run("TYPE", key)}/{session.Execute("TYPE", key).Text}: {expected} {actual}");
            }
        }

        return differences.ToString();
    }
}
