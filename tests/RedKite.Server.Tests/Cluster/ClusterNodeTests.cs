using System.Globalization;
using System.Text;
using RedKite.Server.Metrics;
using RedKite.Server.Tests.Migration;
using RedKite.TestSupport;

namespace RedKite.Server.Tests.Cluster;

/// <summary>A node of a cluster as its server: what it keeps, what it does while slots move, and whom it follows.</summary>
public sealed class ClusterNodeTests : IDisposable
{
    private static readonly string A = new('a', 40);
    private static readonly string B = new('b', 40);

    private readonly TemporaryFolder _folder = new();

    public void Dispose() => _folder.Dispose();

    [Fact]
    public async Task A_node_starts_with_what_it_knew()
    {
        string id;
        await using (RedKiteServer server = await StartAsync())
        {
            id = server.Execute("CLUSTER", "MYID").Text!;
            Assert.Equal("OK", server.Execute("CLUSTERX", "SETNODES", $"{id} 127.0.0.1 7001 master - 0-100\n{B} 127.0.0.1 7002 master - 101-16383", "5").Text);
            Assert.Equal("OK", server.Execute("CLUSTER", "SETSLOT", "7", "MIGRATING", B).Text);
        }

        await using RedKiteServer again = await StartAsync();
        Assert.Equal(id, again.Execute("CLUSTER", "MYID").Text);
        Assert.Equal("5", again.Execute("CLUSTERX", "VERSION").Text);
        Assert.Contains($"[7->-{B}]", again.Execute("CLUSTER", "NODES").Text, StringComparison.Ordinal);
        Assert.StartsWith("MOVED 12182 127.0.0.1:7002", again.Execute("GET", "foo").Text, StringComparison.Ordinal);
    }

    [Theory]
    [InlineData("{\"format\": 9}")]
    [InlineData("not json")]
    [InlineData("")]
    public async Task A_file_that_cannot_be_used_ends_the_start_and_stays(string content)
    {
        await File.WriteAllTextAsync(_folder.File("nodes.conf"), content, TestContext.Current.CancellationToken);
        RedKiteConfigException failure = await Assert.ThrowsAsync<RedKiteConfigException>(() => StartAsync());
        Assert.Contains("nodes.conf", Assert.Single(failure.Faults), StringComparison.Ordinal);
        Assert.Equal(content, await File.ReadAllTextAsync(_folder.File("nodes.conf"), TestContext.Current.CancellationToken));
    }

    [Fact]
    public async Task A_replica_without_data_is_loading_and_one_that_never_takes_over_says_so()
    {
        await using RedKiteServer server = await StartAsync();
        using RespConnection client = RespConnection.Connect(server.Port);
        string id = server.Execute("CLUSTER", "MYID").Text!;
        Assert.Equal("OK", server.Execute("CLUSTERX", "SETNODES", $"{id} 127.0.0.1 {server.Port} slave {B}\n{B} 127.0.0.1 {LoopbackPort.Next()} master - 0-16383", "5").Text);
        string shards = client.Run("CLUSTER SHARDS").ToString();
        Assert.Matches($@"{B}.*\$health \$online.*{id}.*\$health \$loading", shards);
        Assert.Contains(" myself,slave " + B, client.Run("CLUSTER NODES").Text, StringComparison.Ordinal);
        client.Run("CONFIG SET cluster-replica-no-failover yes").IsOk();
        Assert.Contains(" myself,slave,nofailover " + B, client.Run("CLUSTER NODES").Text, StringComparison.Ordinal);
    }

    // As MIGRATE removes what the target of a slot has accepted and the source has lost since.
    [Fact]
    public async Task What_is_restored_behind_its_time_removes_the_key_of_a_slot_that_comes()
    {
        await using RedKiteServer server = await StartAsync();
        using RespConnection client = RespConnection.Connect(server.Port);
        string id = server.Execute("CLUSTER", "MYID").Text!;
        Assert.Equal("OK", server.Execute("CLUSTERX", "SETNODES", $"{id} 127.0.0.1 7001 master - 0-100\n{B} 127.0.0.1 7002 master - 101-16383", "5").Text);
        client.Run($"CLUSTER SETSLOT 12182 IMPORTING {B}").IsOk();
        client.Run("ASKING").IsOk();
        client.Run("SET foo 1").IsOk();
        client.Send(CommandLine.Encode([.. ((string[])["RESTORE-ASKING", "foo", "1"]).Select(Encoding.Latin1.GetBytes), RedKite.Server.Commands.Keys.MigrateCommands.EmptyString, .. ((string[])["REPLACE", "ABSTTL"]).Select(Encoding.Latin1.GetBytes)]));
        client.Read().IsOk();
        client.Run("CLUSTER COUNTKEYSINSLOT 12182").IsInteger(0);
    }

    [Fact]
    public async Task Versions_only_grow_and_a_list_names_the_node_itself()
    {
        await using RedKiteServer server = await StartAsync();
        string id = server.Execute("CLUSTER", "MYID").Text!;
        string list = $"{id} 127.0.0.1 7001 master - 0-16383";
        Assert.Equal("OK", server.Execute("CLUSTERX", "SETNODES", list, "5").Text);
        Assert.Equal("OK", server.Execute("CLUSTERX", "SETNODES", $"{id} 127.0.0.1 7001 master - 0", "5").Text); // the same version changes nothing
        Assert.Equal("OK", server.Execute("SET", "foo", "1").Text);
        Assert.Equal("ERR Invalid cluster version", server.Execute("CLUSTERX", "SETNODES", list, "4").Text);
        Assert.StartsWith("ERR the list does not name this node", server.Execute("CLUSTERX", "SETNODES", $"{B} 127.0.0.1 7001 master -", "6").Text, StringComparison.Ordinal);
        Assert.Equal("ERR Invalid version", server.Execute("CLUSTERX", "SETNODES", list, "-1").Text);
        Assert.Equal("ERR Invalid setnodes options", server.Execute("CLUSTERX", "SETNODES", list, "9", "x").Text);
        Assert.Equal("OK", server.Execute("CLUSTERX", "SETNODES", list, "2", "FORCE").Text);
        Assert.Equal("2", server.Execute("CLUSTERX", "VERSION").Text);
        Assert.Equal("ERR Invalid cluster node id", server.Execute("CLUSTERX", "SETNODEID", "x").Text);
        Assert.Equal("OK", server.Execute("CLUSTERX", "SETNODEID", A).Text);
        Assert.Equal(A, server.Execute("CLUSTER", "MYID").Text);
        Assert.Contains("CLUSTERX SETNODES", server.Execute("CLUSTER", "MEET", "127.0.0.1", "7002").Text, StringComparison.Ordinal);
    }

    // Writers of several connections, in pipelines and in transactions and scripts, while their slot comes and goes. When the change is answered, nothing has been written behind it.
    [Fact]
    public async Task Nothing_is_written_to_a_slot_that_went()
    {
        await using RedKiteServer server = await StartAsync(loops: 2);
        string id = server.Execute("CLUSTER", "MYID").Text!;
        string here = $"{id} 127.0.0.1 7001 master - 0-16383\n{B} 127.0.0.1 7002 master -", there = $"{id} 127.0.0.1 7001 master - 0-12181 12183-16383\n{B} 127.0.0.1 7002 master - 12182";
        Assert.Equal("OK", server.Execute("CLUSTERX", "SETNODES", here, "1").Text);
        bool ends = false;
        (int moved, int written) = (0, 0);
        Task[] writers = [.. Enumerable.Range(0, 4).Select(kind => Task.Run(() => Write(kind), TestContext.Current.CancellationToken))];
        using (RedKiteSession session = server.CreateSession())
        {
            for (int version = 2; version < 60; version += 2)
            {
                Assert.Equal("OK", session.Execute("CLUSTERX", "SETNODES", there, version.ToString(CultureInfo.InvariantCulture)).Text);
                long first = Writes(server);
                for (int i = 0; i < 20; i++) session.Execute("PING");
                Assert.Equal(first, Writes(server));
                Assert.Equal("OK", session.Execute("CLUSTERX", "SETNODES", here, (version + 1).ToString(CultureInfo.InvariantCulture)).Text);
                SpinWait.SpinUntil(() => Writes(server) > first, 60_000);
            }
        }

        Volatile.Write(ref ends, true);
        await Task.WhenAll(writers);
        Assert.True(moved > 0 && written > 0, $"{moved} redirects, {written} writes");

        void Write(int kind)
        {
            using RespConnection connection = RespConnection.Connect(server.Port);
            string one = kind switch
            {
                0 => Encode("INCR", "foo"),
                1 => Encode("INCRBY", "foo", "1") + Encode("GET", "foo"),
                2 => Encode("MULTI") + Encode("INCR", "foo") + Encode("EXEC"),
                _ => Encode("EVAL", "return redis.call('incr','foo')", "0"),
            };
            int replies = kind switch { 0 => 1, 1 => 2, 2 => 3, _ => 1 };
            byte[] pipeline = Encoding.Latin1.GetBytes(string.Concat(Enumerable.Repeat(one, 5)));
            while (!Volatile.Read(ref ends))
            {
                connection.Send(pipeline);
                for (int i = 0; i < replies * 5; i++)
                {
                    RespValue reply = connection.Read();
                    if (reply.IsError) Interlocked.Increment(ref moved);
                    else Interlocked.Increment(ref written);
                }
            }
        }
    }

    [Fact]
    public async Task A_replica_of_the_list_follows_its_primary_and_reads_for_those_who_ask()
    {
        await using RedKiteServer primary = await StartAsync("primary");
        await using RedKiteServer replica = await StartAsync("replica");
        Assert.Equal("OK", primary.Execute("CLUSTERX", "SETNODEID", A).Text);
        Assert.Equal("OK", replica.Execute("CLUSTERX", "SETNODEID", B).Text);
        string list = $"{A} 127.0.0.1 {primary.Port} master - 0-16383\n{B} 127.0.0.1 {replica.Port} slave {A}";
        Assert.Equal("OK", primary.Execute("CLUSTERX", "SETNODES", list, "1").Text);
        primary.Execute("SET", "foo", "bar");
        Assert.Equal("OK", replica.Execute("CLUSTERX", "SETNODES", list, "1").Text);
        Assert.True(SpinWait.SpinUntil(() => replica.Execute("DBSIZE") is { IsError: false, Integer: 1 }, 60_000), "the replica has no data");
        using RespConnection client = RespConnection.Connect(replica.Port);
        Assert.Equal($"MOVED 12182 127.0.0.1:{primary.Port}", client.Run("GET foo").Text);
        client.Run("READONLY").IsOk();
        Assert.Equal("bar", client.Run("GET foo").Text);
        Assert.StartsWith("MOVED", client.Run("SET foo 1").Text, StringComparison.Ordinal);
        client.Run("READWRITE").IsOk();
        Assert.StartsWith("MOVED", client.Run("GET foo").Text, StringComparison.Ordinal);
        Assert.Contains("slave " + A, client.Run("CLUSTER NODES").Text, StringComparison.Ordinal);
        Assert.Equal("ERR REPLICAOF not allowed in cluster mode.", client.Run("REPLICAOF NO ONE").Text);
        Assert.Equal("", client.Run("CONFIG GET replicaof").Items[1].Text); // whom it follows is in its own file, and CONFIG REWRITE leaves it there

        // The controller promotes it: on every node.
        string promoted = $"{A} 127.0.0.1 {primary.Port} slave {B}\n{B} 127.0.0.1 {replica.Port} master - 0-16383";
        Assert.Equal("OK", replica.Execute("CLUSTERX", "SETNODES", promoted, "2").Text);
        Assert.Equal("OK", primary.Execute("CLUSTERX", "SETNODES", promoted, "2").Text);
        Assert.True(SpinWait.SpinUntil(() => client.Run("SET foo 2").Text == "OK", 60_000), "the promoted replica does not write");
        Assert.Equal($"MOVED 12182 127.0.0.1:{replica.Port}", primary.Execute("GET", "foo").Text);
        Assert.True(SpinWait.SpinUntil(() => primary.Execute("ROLE").ToString()!.Contains("connected", StringComparison.Ordinal) || primary.Execute("INFO", "replication").Text!.Contains("master_link_status:up", StringComparison.Ordinal), 60_000), "the old primary does not follow");
    }

    [Fact]
    public async Task Keys_of_a_slot_are_counted_and_listed()
    {
        await using RedKiteServer server = await StartAsync();
        server.Execute("CLUSTER", "ADDSLOTSRANGE", "0", "16383");
        for (int i = 0; i < 300; i++) server.Execute("SET", $"{{foo}}{i}", "1");
        server.Execute("SET", "bar", "1");
        Assert.Equal(300, server.Execute("CLUSTER", "COUNTKEYSINSLOT", "12182").Integer);
        Assert.Equal(300, server.Execute("CLUSTER", "GETKEYSINSLOT", "12182", "9999999999").Items!.Select(static item => item.Text).Distinct().Count());
        Assert.Equal(7, server.Execute("CLUSTER", "GETKEYSINSLOT", "12182", "7").Items!.Count);
        using RedKiteSession session = server.CreateSession();
        session.Execute("MULTI");
        session.Execute("CLUSTER", "COUNTKEYSINSLOT", "12182");
        session.Execute("CLUSTER", "DELSLOTS", "12182");
        session.Execute("CLUSTER", "GETKEYSINSLOT", "12182", "1");
        Assert.Equal(3, session.Execute("EXEC").Items!.Count);
        Assert.StartsWith("CLUSTERDOWN", server.Execute("GET", "bar").Text, StringComparison.Ordinal);
    }

    // The target redirects what does not ask while it imports the slot, so the removal asks.
    [Fact]
    public async Task A_key_that_is_deleted_while_it_moves_is_deleted_at_the_importing_target()
    {
        await using RedKiteServer source = await StartAsync("source");
        await using RedKiteServer target = await StartAsync("target");
        source.Execute("CLUSTERX", "SETNODEID", A);
        target.Execute("CLUSTERX", "SETNODEID", B);
        string list = $"{A} 127.0.0.1 {source.Port} master - 0-16383\n{B} 127.0.0.1 {target.Port} master -";
        foreach (RedKiteServer server in (RedKiteServer[])[source, target]) Assert.Equal("OK", server.Execute("CLUSTERX", "SETNODES", list, "1").Text);
        Assert.Equal("OK", source.Execute("SET", "foo", "bar").Text);
        Assert.Equal("OK", target.Execute("CLUSTER", "SETSLOT", "12182", "IMPORTING", A).Text);
        Assert.Equal("OK", source.Execute("CLUSTER", "SETSLOT", "12182", "MIGRATING", B).Text);
        using var held = new HeldTarget(target.Port) { Holds = true, HeldName = "RESTORE-ASKING" };
        using RespConnection mover = RespConnection.Connect(source.Port);
        mover.SendCommand($"MIGRATE 127.0.0.1 {held.Port} foo 0 60000");
        held.WaitUntilHeld();
        Assert.Equal(1, source.Execute("DEL", "foo").Integer);
        held.Holds = false;
        held.GoOn();
        Assert.Equal("OK", mover.Read().Text);
        using RespConnection client = RespConnection.Connect(target.Port);
        client.Run("ASKING").IsOk();
        Assert.Equal(0, client.Run("EXISTS foo").Number);
    }

    // Each in a transaction and in a script that has locked one key's stripe before: it is executed or refused, and the server goes on.
    [Fact]
    public async Task No_command_of_the_cluster_ends_the_server_in_a_transaction_or_a_script()
    {
        await using RedKiteServer server = await StartAsync();
        string[] commands =
        [
            "CLUSTER ADDSLOTS 5", "CLUSTER ADDSLOTSRANGE 5 6", "CLUSTER BUMPEPOCH", "CLUSTER COUNT-FAILURE-REPORTS @id", "CLUSTER COUNTKEYSINSLOT 5", "CLUSTER DELSLOTS 5", "CLUSTER DELSLOTSRANGE 6 7",
            "CLUSTER FAILOVER", "CLUSTER FLUSHSLOTS", "CLUSTER FORGET " + B, "CLUSTER GETKEYSINSLOT 12182 5", "CLUSTER HELP", "CLUSTER INFO", "CLUSTER KEYSLOT foo", "CLUSTER LINKS", "CLUSTER MEET 127.0.0.1 7002",
            "CLUSTER MYID", "CLUSTER MYSHARDID", "CLUSTER NODES", "CLUSTER REPLICAS @id", "CLUSTER REPLICATE @id", "CLUSTER SAVECONFIG", "CLUSTER SET-CONFIG-EPOCH 5", "CLUSTER SETSLOT 9 NODE @id",
            "CLUSTER SHARDS", "CLUSTER SLAVES @id", "CLUSTER SLOTS", "CLUSTERX MYID", "CLUSTERX SETNODEID @id", "CLUSTERX SETNODES @id\u00a0127.0.0.1\u00a07001\u00a0master\u00a0-\u00a00-16383 1 FORCE", "CLUSTERX VERSION",
            "CLUSTER RESET SOFT", "CLUSTER RESET HARD",
        ];
        using RedKiteSession session = server.CreateSession();
        foreach (bool scripts in (bool[])[false, true])
        {
            foreach (string command in commands.OrderBy(static command => command.StartsWith("CLUSTER SET-CONFIG-EPOCH", StringComparison.Ordinal) ? 0 : 1))
            {
                string id = server.Execute("CLUSTER", "MYID").Text!;
                Assert.Equal("OK", server.Execute("CLUSTERX", "SETNODES", $"{id} 127.0.0.1 7001 master - 0-16383", "1", "FORCE").Text);
                string[] words = [.. command.Replace("@id", id, StringComparison.Ordinal).Split(' ').Select(static word => word.Replace('\u00a0', ' '))];
                if (scripts)
                {
                    session.Execute(["EVAL", "redis.call('set', 'foo', '1'); return redis.pcall(unpack(ARGV))", "0", .. words]);
                }
                else
                {
                    session.Execute("MULTI");
                    session.Execute("SET", "foo", "1");
                    session.Execute(words);
                    session.Execute("EXEC");
                }

                Assert.Equal("PONG", session.Execute("PING").Text);
            }
        }
    }

    [Fact]
    public async Task A_cluster_follows_no_other_primary()
    {
        RedKiteConfigException failure = await Assert.ThrowsAsync<RedKiteConfigException>(() => StartAsync(settings: ("replicaof", "127.0.0.1 1")));
        Assert.Contains("replicaof directive not allowed in cluster mode", failure.Message, StringComparison.Ordinal);
        Assert.Empty(Directory.GetFiles(_folder.Path, "nodes.conf*"));
    }

    // Keys that were changed.
    private static long Writes(RedKiteServer server) => ServerTotals.Of(server.Engine.Metrics).Changes;

    private static string Encode(params string[] words) => Encoding.Latin1.GetString(CommandLine.Encode([.. words.Select(Encoding.Latin1.GetBytes)]));

    private async Task<RedKiteServer> StartAsync(string name = "", int loops = 1, (string Name, string Value)? settings = null)
    {
        string folder = _folder.File(name);
        Directory.CreateDirectory(folder);
        var options = new RedKiteOptions { Port = 0 };
        foreach ((string setting, string value) in (ReadOnlySpan<(string, string)>)[("cluster-enabled", "yes"), ("dir", folder), ("loops", loops.ToString(CultureInfo.InvariantCulture)), ("save", ""), ("diagnostics", "no"), ("repl-diskless-sync-delay", "0")]) options.Settings[setting] = value;
        if (settings is { } more) options.Settings[more.Name] = more.Value;
        return await RedKiteServer.StartAsync(options);
    }
}
