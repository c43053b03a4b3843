using System.Globalization;
using RedKite.Server.Commands.Server;
using RedKite.Server.SlotMoves;
using RedKite.Store.Keyspace;
using RedKite.Testing;
using RedKite.TestSupport;

namespace RedKite.Server.Tests.Cluster;

/// <summary>Several databases in nodes of a cluster (`cluster-databases`): a slot's keys are in all of them.</summary>
public sealed class ClusterDatabasesTests : IDisposable
{
    private const int WaitMs = 60_000;

    private readonly TemporaryFolder _folder = new();

    public void Dispose() => _folder.Dispose();

    // Before the move, and, in units and not, while the slots' snapshot and what follows it are on the way.
    [Fact]
    public async Task Slots_move_with_the_keys_of_all_databases()
    {
        await using RedKiteServer a = await StartAsync("a", databases: 3), b = await StartAsync("b", databases: 3);
        Join(a, b);
        for (int database = 0; database < 3; database++)
        {
            for (int i = 0; i < 200; i++) Assert.Equal("OK", In(a, database, "SET", $"key{i}", $"{database} {i}").Text);
        }

        var counts = new long[3];
        bool ends = false;
        Task writer = Task.Run(() =>
        {
            using RedKiteSession session = a.CreateSession();
            for (int i = 0; !Volatile.Read(ref ends); i++)
            {
                int database = i % 3;
                session.Execute("SELECT", database.ToString(CultureInfo.InvariantCulture));
                bool isUnit = i % 2 == 0;
                if (isUnit) session.Execute("MULTI");
                RedKiteReply reply = session.Execute("INCR", "count");
                if (isUnit)
                {
                    session.Execute("INCR", "{count}2");
                    reply = session.Execute("EXEC");
                }

                if (reply.IsError) break;
                counts[database]++;
            }
        }, TestContext.Current.CancellationToken);
        Assert.True(SpinWait.SpinUntil(() => Volatile.Read(ref counts[2]) > 10, WaitMs));
        SlotMove move = Move(a, b);
        Assert.Equal(("", SlotMoveState.Completed), (move.Message, move.State));
        Volatile.Write(ref ends, true);
        await writer;
        for (int database = 0; database < 3; database++)
        {
            Assert.Equal(counts[database].ToString(CultureInfo.InvariantCulture), In(b, database, "GET", "count").Text);
            for (int i = 0; i < 200; i++) Assert.Equal($"{database} {i}", In(b, database, "GET", $"key{i}").Text);
            Assert.Equal(0, In(a, database, "DBSIZE").Integer);
        }

        Assert.True(SpinWait.SpinUntil(() => a.Engine.Keyspace.Databases.ToArray().All(static each => each.Count == 0), WaitMs));
    }

    [Fact]
    public async Task A_destination_with_fewer_databases_does_not_get_the_slots()
    {
        await using RedKiteServer a = await StartAsync("a", databases: 3), b = await StartAsync("b", databases: 1);
        Join(a, b);
        In(a, 2, "SET", "key", "value");
        SlotMove move = Move(a, b);
        Assert.Equal(SlotMoveState.Failed, move.State);
        Assert.Contains("the destination has refused a command", move.Message, StringComparison.Ordinal);
        Assert.Equal("value", In(a, 2, "GET", "key").Text);
    }

    [Fact]
    public async Task A_slot_with_keys_in_another_database_is_not_given_away_empty()
    {
        await using RedKiteServer a = await StartAsync("a", databases: 3), b = await StartAsync("b", databases: 3);
        Join(a, b);
        In(a, 2, "SET", "b", "value");
        Assert.StartsWith("ERR Can't assign hashslot 3300", a.Execute("CLUSTER", "SETSLOT", "3300", "NODE", b.Cluster!.SelfId).Text, StringComparison.Ordinal);
        Assert.StartsWith("ERR DB must be empty", a.Execute("CLUSTER", "FLUSHSLOTS").Text, StringComparison.Ordinal);
        Assert.Equal("OK", a.Execute("CLUSTER", "FLUSHSLOT", "3300").Text);
        Assert.Equal("OK", a.Execute("CLUSTER", "SETSLOT", "3300", "NODE", b.Cluster!.SelfId).Text);
    }

    // What a flush has removed is removed from the log's data, too, and nothing else.
    [Fact]
    public async Task The_log_has_the_removal_of_a_slots_keys()
    {
        await using (RedKiteServer a = await StartAsync("a", databases: 3, appendOnly: true))
        {
            a.Execute("CLUSTER", "ADDSLOTSRANGE", "0", "16383");
            for (int i = 0; i < 100; i++) In(a, i % 3, "SET", $"{{b}}{i}", "x");
            In(a, 1, "SET", "a", "x");
            Assert.Equal("OK", a.Execute("CLUSTER", "FLUSHSLOT", "3300").Text);
            In(a, 2, "SET", "{b}new", "x");
            Assert.Equal("ERR the command takes too long for a transaction or script", InUnitOfMany(a));
        }

        await using RedKiteServer again = await StartAsync("a", databases: 3, appendOnly: true);
        Assert.Equal((0, 1, 1), (In(again, 0, "DBSIZE").Integer - Many, In(again, 1, "DBSIZE").Integer, In(again, 2, "DBSIZE").Integer));

        // A script with a key of another slot's stripe takes what it needs.
        again.Execute("DEL", "{b}many");
        Assert.Equal("OK", again.Execute("EVAL", "redis.call('set','{b}z',1) return redis.call('cluster','flushslot',15495)", "0").Text);
        Assert.Equal((0, 1), (In(again, 1, "DBSIZE").Integer, In(again, 2, "DBSIZE").Integer));
    }

    private const int Many = SlotKeyCommands.KeysInUnitMax + 1;

    private static string? InUnitOfMany(RedKiteServer server)
    {
        using RedKiteSession session = server.CreateSession();
        string[] pairs = ["MSET", .. Enumerable.Range(0, Many).SelectMany(static i => (string[])[$"{{b}}{i}", "x"])];
        session.Execute(pairs);
        session.Execute("MULTI");
        session.Execute("CLUSTER", "FLUSHSLOT", "3300");
        return session.Execute("EXEC").Items[0].Text;
    }

    // CLUSTERSCAN from the start to the end: every key once, whatever COUNT is, and of the selected database alone.
    [Theory]
    [InlineData(1)]
    [InlineData(10)]
    [InlineData(100_000)]
    public async Task A_scan_of_the_cluster_finds_every_key(int count)
    {
        await using RedKiteServer a = await StartAsync("a", databases: 2), b = await StartAsync("b", databases: 2);
        string list = $"{a.Cluster!.SelfId} 127.0.0.1 {a.Port} master - 0-8000\n{b.Cluster!.SelfId} 127.0.0.1 {b.Port} master - 8001-16383";
        foreach (RedKiteServer server in (RedKiteServer[])[a, b]) Assert.Equal("OK", server.Execute("CLUSTERX", "SETNODES", list, "1").Text);
        HashSet<string> keys = [.. Enumerable.Range(0, 300).Select(static i => $"key{i}"), .. Enumerable.Range(0, 300).Select(static i => $"{{b}}{i}")];
        foreach (string key in keys) Assert.Equal("OK", In(Slot(key) <= 8000 ? a : b, 1, "SET", key, "x").Text);
        In(a, 0, "SET", "b", "of the other");

        List<string> found = [];
        RedKiteServer here = a;
        string cursor = "0";
        int calls = 0;
        do
        {
            RedKiteReply reply = In(here, 1, "CLUSTERSCAN", cursor, "COUNT", count.ToString(CultureInfo.InvariantCulture));
            if (reply.IsError)
            {
                Assert.StartsWith("MOVED ", reply.Text, StringComparison.Ordinal);
                here = here == a ? b : a;
                continue;
            }

            cursor = reply.Items[0].Text!;
            found.AddRange(reply.Items[1].Items.Select(static key => key.Text!));
            calls++;
        }
        while (cursor != "0");
        Assert.Equal(keys.Order(), found.Order());
        if (count > 1000) Assert.Equal(3, calls); // the first cursor, and one call for each node

        // One slot alone, from a cursor of another server.
        RedKiteReply ofSlot = In(a, 1, "CLUSTERSCAN", "other-{b}-99", "SLOT", "3300", "COUNT", "100000");
        Assert.Equal(("0", 300), (ofSlot.Items[0].Text, ofSlot.Items[1].Items.Count));

        int Slot(string key) => (int)a.Execute("CLUSTER", "KEYSLOT", key).Integer;
    }

    // The slot leaves behind the look at it and before its stripe is locked: the cursor stays there, for the slot's next node.
    [Fact]
    public async Task A_scan_of_the_cluster_ends_at_a_slot_that_leaves_meanwhile()
    {
        await using RedKiteServer a = await StartAsync("a", databases: 1), b = await StartAsync("b", databases: 1);
        Join(a, b);
        for (int i = 0; i < 10; i++) a.Execute("SET", $"{{b}}{i}", "x");
        string cursor = a.Execute("CLUSTERSCAN", "0", "SLOT", "3300").Items[0].Text!;
        string left = string.Create(CultureInfo.InvariantCulture, $"{a.Cluster!.SelfId} 127.0.0.1 {a.Port} master - 0-3299 3301-16383\n{b.Cluster!.SelfId} 127.0.0.1 {b.Port} master - 3300");
        Task<RedKiteReply> scan, set;
        LockScope locked = a.Engine.Keyspace.Lock(StripeSet.Of(3300 % a.Engine.Keyspace.Stripes.Length));
        try
        {
            scan = Task.Run(() => a.Execute("CLUSTERSCAN", cursor, "COUNT", "1000"), TestContext.Current.CancellationToken);
            Assert.True(SpinWait.SpinUntil(() => a.Engine.Keyspace.Stripes[3300 % a.Engine.Keyspace.Stripes.Length].LockParked > 0, WaitMs)); // the slot was looked at
            set = Task.Run(() => a.Execute("CLUSTERX", "SETNODES", left, "2"), TestContext.Current.CancellationToken);
            Assert.True(SpinWait.SpinUntil(() => !a.Cluster.Routing!.Serves(3300), WaitMs));
        }
        finally
        {
            locked.Dispose();
        }

        RedKiteReply reply = await scan;
        Assert.Equal((cursor, 0), (reply.Items[0].Text, reply.Items[1].Items.Count));
        Assert.Equal("OK", (await set).Text);
        Assert.StartsWith("MOVED 3300 ", a.Execute("CLUSTERSCAN", cursor).Text, StringComparison.Ordinal);
    }

    // By replication, a takeover, a node that comes back, and a move: with a store.
    [Fact]
    public async Task A_replica_and_a_slots_next_node_have_all_databases()
    {
        await using RedKiteTestCluster cluster = await RedKiteTestCluster.StartAsync(new RedKiteTestClusterOptions
        {
            Shards = 2,
            ReplicasPerShard = 1,
            Configure = static options =>
            {
                options.Settings["cluster-databases"] = "3";
                options.Settings["replica-acks"] = "1";
            },
        });
        RedKiteTestNode primary = cluster.PrimaryOf("b"), replica = cluster.ReplicasOf(primary)[0], other = cluster.PrimaryOf("a");
        for (int i = 0; i < 30; i++) Assert.Equal("OK", In(primary.Server, i % 3, "SET", $"{{b}}{i}", $"{i}").Text);
        Assert.Equal(1, In(primary.Server, 0, "MOVE", "{b}0", "2").Integer);
        Assert.Equal(1, In(primary.Server, 1, "COPY", "{b}1", "{b}1", "DB", "2").Integer);
        Assert.Equal(1, In(primary.Server, 2, "PEXPIRE", "{b}2", "1000000").Integer);
        Assert.StartsWith("ERR SWAPDB is not allowed", In(primary.Server, 0, "SWAPDB", "0", "1").Text, StringComparison.Ordinal);
        Assert.Equal("OK", In(primary.Server, 1, "FLUSHDB").Text);
        Assert.Equal("OK", In(primary.Server, 1, "SET", "{b}new", "1").Text);
        using (RedKiteSession session = primary.Server.CreateSession())
        {
            foreach (string[] command in (string[][])[["MULTI"], ["SELECT", "1"], ["SET", "{b}unit", "1"], ["SELECT", "2"], ["SET", "{b}unit", "2"]]) session.Execute(command);
            Assert.Equal(4, session.Execute("EXEC").Items.Count);
        }

        await primary.KillAsync();
        await cluster.UntilServedAsync();
        Assert.Same(replica, cluster.PrimaryOf("b"));
        HasAll(replica.Server);

        // The former primary takes the data of all databases from the new one.
        await primary.StartAgainAsync();
        Assert.Equal("OK", In(replica.Server, 2, "SET", "{b}behind", "1").Text);
        Assert.True(SpinWait.SpinUntil(() => primary.Server.Execute("DBSIZE") is { IsError: false }, WaitMs));
        using (RedKiteSession session = primary.Server.CreateSession())
        {
            session.Execute("READONLY");
            session.Execute("SELECT", "2");
            Assert.True(SpinWait.SpinUntil(() => session.Execute("GET", "{b}behind").Text == "1", WaitMs));
            Assert.Equal("2", session.Execute("GET", "{b}unit").Text);
            Assert.StartsWith("MOVED", session.Execute("SET", "{b}9", "1").Text, StringComparison.Ordinal);
        }

        Assert.Equal(1, In(replica.Server, 2, "DEL", "{b}behind").Integer);
        await cluster.MoveAsync(3300..3301, replica, other);
        Assert.Same(other, cluster.PrimaryOf("b"));
        HasAll(other.Server);
        Assert.Equal((0, 0, 0), (In(replica.Server, 0, "DBSIZE").Integer, In(replica.Server, 1, "DBSIZE").Integer, In(replica.Server, 2, "DBSIZE").Integer));

        // And so have the replicas of the slot's next node.
        RedKiteTestNode last = cluster.ReplicasOf(other)[0];
        await other.KillAsync();
        await cluster.UntilServedAsync();
        Assert.Same(last, cluster.PrimaryOf("b"));
        HasAll(last.Server);

        static void HasAll(RedKiteServer server)
        {
            Assert.Equal((9, 2, 13), (In(server, 0, "DBSIZE").Integer, In(server, 1, "DBSIZE").Integer, In(server, 2, "DBSIZE").Integer));
            Assert.Equal(("0", "1", "2", "1", "2"), (In(server, 2, "GET", "{b}0").Text, In(server, 2, "GET", "{b}1").Text, In(server, 2, "GET", "{b}2").Text, In(server, 1, "GET", "{b}unit").Text, In(server, 2, "GET", "{b}unit").Text));
            Assert.InRange(In(server, 2, "PTTL", "{b}2").Integer, 1, 1_000_000);
        }
    }

    private static void Join(RedKiteServer a, RedKiteServer b)
    {
        string list = $"{a.Cluster!.SelfId} 127.0.0.1 {a.Port} master - 0-16383\n{b.Cluster!.SelfId} 127.0.0.1 {b.Port} master -";
        foreach (RedKiteServer server in (RedKiteServer[])[a, b]) Assert.Equal("OK", server.Execute("CLUSTERX", "SETNODES", list, "1").Text);
    }

    private static SlotMove Move(RedKiteServer a, RedKiteServer b)
    {
        Assert.Equal("OK", a.Execute("CLUSTER", "MIGRATESLOTS", "SLOTSRANGE", "0", "16383", "NODE", b.Cluster!.SelfId).Text);
        SlotMove move = a.Parts.SlotMoves()!.Moves[0];
        Assert.True(SpinWait.SpinUntil(() => move.HasEnded, WaitMs), $"{move.State} {move.Message}");
        return move;
    }

    private static RedKiteReply In(RedKiteServer server, int database, string name, params string[] arguments)
    {
        using RedKiteSession session = server.CreateSession();
        Assert.Equal("OK", session.Execute("SELECT", database.ToString(CultureInfo.InvariantCulture)).Text);
        return session.Execute([name, .. arguments]);
    }

    private async Task<RedKiteServer> StartAsync(string name, int databases, bool appendOnly = false)
    {
        string path = _folder.File(name);
        Directory.CreateDirectory(path);
        var options = new RedKiteOptions { Port = 0 };
        string number = databases.ToString(CultureInfo.InvariantCulture);
        foreach ((string setting, string value) in (ReadOnlySpan<(string, string)>)[("cluster-enabled", "yes"), ("cluster-databases", number), ("dir", path), ("loops", "2"), ("save", ""), ("diagnostics", "no"), ("cluster-move-pause-ms", "30000"), ("appendonly", appendOnly ? "yes" : "no")]) options.Settings[setting] = value;
        return await RedKiteServer.StartAsync(options);
    }
}
