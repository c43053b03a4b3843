using System.Globalization;
using RedKite.Server.Model;
using RedKite.Server.Tests.Durability;
using RedKite.Store.Keyspace;
using RedKite.TestSupport;

namespace RedKite.Server.Tests.Cluster;

/// <summary>A node whose topology changes while something else goes on: commands that have begun, the disk that fails, another server in its folder.</summary>
public sealed class ClusterChangeTests
{
    private const string OnlyRemoves = "\\x00\\x00\\x09\\x00\\x8D\\x69\\x0D\\x8C\\x5B\\xF9\\xC1\\x6B";

    private static readonly string Other = new('b', 40);

    [Fact]
    public async Task Two_servers_do_not_use_one_folder()
    {
        using var folder = new TemporaryFolder();
        Directory.CreateDirectory(folder.Path);
        await using (RedKiteServer first = await StartAsync(folder))
        {
            RedKiteConfigException failure = await Assert.ThrowsAsync<RedKiteConfigException>(() => StartAsync(folder));
            Assert.Equal($"the cluster's file '{folder.File("nodes.conf")}' cannot be used: another server uses it: each node has a folder of its own", Assert.Single(failure.Faults));
            Assert.Equal("OK", first.Execute("CLUSTER", "ADDSLOTS", "1").Text);
        }

        await using RedKiteServer again = await StartAsync(folder);
        Assert.Contains("cluster_slots_assigned:1\r", again.Execute("CLUSTER", "INFO").Text, StringComparison.Ordinal);
    }

    // The new file has its name before the folder is synced, which fails.
    [Fact]
    public async Task A_refused_change_is_not_in_the_file()
    {
        await using DiskServer disk = await StartDiskAsync();
        string before = FileOf(disk);
        int failures = 1;
        disk.Files.Plan = call => call.Operation == "sync folder" && failures-- > 0 ? new FileFault(FileFault.InputOutput) : null;
        Assert.Equal("ERR the cluster's configuration cannot be written", disk.Run("CLUSTER ADDSLOTS 7").Text);
        Assert.Equal(before, FileOf(disk));

        failures = int.MaxValue;
        Assert.Equal("ERR the cluster's configuration cannot be written, and the file may have the refused change until it can be written", disk.Run("CLUSTER ADDSLOTS 7").Text);
        Assert.Contains("cluster_slots_assigned:0\r", disk.Run("CLUSTER INFO").Text, StringComparison.Ordinal);
        disk.Files.Plan = null;
        Assert.Equal("ERR Slot 8 is already unassigned", disk.Run("CLUSTER DELSLOTS 8").Text);
        Assert.StartsWith("ERR Unknown node", disk.Run("CLUSTER SETSLOT 5 NODE " + Other).Text, StringComparison.Ordinal); // refused, but it has written the state in force
        Assert.Equal(before, FileOf(disk));
        Assert.Equal("OK", disk.Run("CLUSTER ADDSLOTS 7").Text);
        Assert.NotEqual(before, FileOf(disk));
    }

    // A start would go by the file, in which the change may be: the source hears nothing until it is not, and what was received stays.
    [Theory]
    [InlineData(false)]
    [InlineData(true)]
    public async Task Slots_are_not_refused_while_the_file_may_say_that_they_are_taken(bool asks)
    {
        await using DiskServer disk = await StartDiskAsync();
        string id = disk.Run("CLUSTER MYID").Text!;
        Assert.Equal("OK", disk.Server.Execute("CLUSTERX", "SETNODES", $"{id} 127.0.0.1 7001 master -\n{Other} 127.0.0.1 7002 master - 0-16383", "1").Text);
        string before = FileOf(disk);
        using RespConnection source = RespConnection.Connect(disk.Server.Port), other = RespConnection.Connect(disk.Server.Port);
        source.Run($"CLUSTER SYNCSLOTS ESTABLISH {new string('1', 40)} {Other} 0 16383").IsOk();
        source.Run("SET foo 1").IsOk();
        int failures = 0;
        disk.Files.Plan = call =>
        {
            if (call.Operation != "sync folder") return null;
            Interlocked.Increment(ref failures);
            return new FileFault(FileFault.InputOutput);
        };
        source.SendCommand("CLUSTER SYNCSLOTS TAKE x");
        disk.WaitFor(() => Volatile.Read(ref failures) > 2, "the disk"); // of the change, of its end, and again
        if (asks) other.Run($"CLUSTER SYNCSLOTS OWNS {Other} 0 16383").IsError("TRYAGAIN the slots are being taken");
        Assert.Equal(1, disk.Server.Engine.Keyspace.Databases[0].Count);
        disk.Files.Plan = null;
        if (asks) Assert.Equal(RespValue.Closed, source.Read()); // the reception has ended with the question
        else Assert.StartsWith("ERR the cluster's configuration cannot be written", source.Read().Text, StringComparison.Ordinal);
        Assert.Equal(before, FileOf(disk));
        other.Run($"CLUSTER SYNCSLOTS OWNS {Other} 0 16383").IsInteger(0);
        disk.WaitFor(() => disk.Server.Engine.Keyspace.Databases[0].Count == 0, "the removal");
    }

    // The server has one loop.
    [Fact]
    public async Task Other_clients_go_on_while_slots_are_taken_on_the_disk()
    {
        await using DiskServer disk = await StartDiskAsync();
        string id = disk.Run("CLUSTER MYID").Text!;
        Assert.Equal("OK", disk.Server.Execute("CLUSTERX", "SETNODES", $"{id} 127.0.0.1 7001 master -\n{Other} 127.0.0.1 7002 master - 0-16383", "1").Text);
        using RespConnection source = RespConnection.Connect(disk.Server.Port), other = RespConnection.Connect(disk.Server.Port);
        source.Run($"CLUSTER SYNCSLOTS ESTABLISH {new string('1', 40)} {Other} 0 16383").IsOk();
        using var sync = new WaitingSync(disk);
        source.SendCommand("CLUSTER SYNCSLOTS TAKE x");
        try
        {
            sync.WaitUntilBegun();
            Assert.Equal("PONG", other.Run("PING").Text);
        }
        finally
        {
            sync.End();
        }

        source.Read().IsOk();
        other.Run("SET foo 1").IsOk();
    }

    [Fact]
    public async Task No_key_is_locked_while_a_slot_is_given_away_on_the_disk()
    {
        await using DiskServer disk = await StartDiskAsync();
        string id = disk.Run("CLUSTER MYID").Text!;
        Assert.Equal("OK", disk.Server.Execute("CLUSTERX", "SETNODES", $"{id} 127.0.0.1 7001 master - 0-16383\n{Other} 127.0.0.1 7002 master -", "1").Text);
        using var sync = new WaitingSync(disk);
        Task<RedKiteReply> gives = Task.Run(() => disk.Server.Execute("CLUSTER", "SETSLOT", "12182", "NODE", Other), TestContext.Current.CancellationToken);
        using RespConnection client = RespConnection.Connect(disk.Server.Port);
        try
        {
            sync.WaitUntilBegun();
            Assert.Equal("ASK 12182 127.0.0.1:7002", client.Run("SET foo 1").Text); // no new key
            int stripe = 12182 % disk.Server.Engine.Keyspace.Stripes.Length;
            Assert.Empty(client.Run($"CLUSTER GETKEYSINSLOT {stripe} 1").Items); // a slot of the same stripe
        }
        finally
        {
            sync.End();
        }

        Assert.Equal("OK", (await gives.WaitAsync(TimeSpan.FromSeconds(60), TestContext.Current.CancellationToken)).Text);
        Assert.Equal("MOVED 12182 127.0.0.1:7002", client.Run("SET foo 1").Text);
    }

    [Fact]
    public async Task A_slot_with_keys_is_not_given_away_and_serves_on()
    {
        await using DiskServer disk = await StartDiskAsync();
        string id = disk.Run("CLUSTER MYID").Text!;
        Assert.Equal("OK", disk.Server.Execute("CLUSTERX", "SETNODES", $"{id} 127.0.0.1 7001 master - 0-16383\n{Other} 127.0.0.1 7002 master -", "1").Text);
        Assert.Equal("OK", disk.Run("SET foo 1").Text);
        Assert.StartsWith("ERR Can't assign hashslot 12182", disk.Run("CLUSTER SETSLOT 12182 NODE " + Other).Text, StringComparison.Ordinal);
        Assert.Equal("OK", disk.Run("SET {foo}new 1").Text);
    }

    // The script goes on until its slot is another node's: then the transaction's next command would write there.
    [Fact]
    public async Task A_transaction_behind_a_script_writes_to_no_slot_that_went()
    {
        using var folder = new TemporaryFolder();
        Directory.CreateDirectory(folder.Path);
        await using RedKiteServer server = await StartAsync(folder);
        GiveAll(server);
        using RespConnection client = RespConnection.Connect(server.Port);
        client.Run("MULTI").IsOk();
        client.Run("SET foo before");
        client.Run("EVAL \"while true do local r = redis.pcall('get', KEYS[1]) if type(r) == 'table' and r.err then return 'gone' end end\" 1 foo");
        client.Run("SET foo behind");
        client.Run("INCR {foo}n");
        client.SendCommand("EXEC");
        Assert.True(SpinWait.SpinUntil(() => server.Engine.Script.Current is not null, 60_000), "the script does not begin");
        Take(server);
        RespValue reply = client.Read();
        Assert.Equal(["OK", "gone", "MOVED 12182 127.0.0.1:7002", "MOVED 12182 127.0.0.1:7002"], reply.Items.Select(static item => item.Text));
    }

    [Fact]
    public async Task A_client_that_has_just_blocked_is_sent_elsewhere()
    {
        using var folder = new TemporaryFolder();
        Directory.CreateDirectory(folder.Path);
        await using RedKiteServer server = await StartAsync(folder);
        GiveAll(server);
        using RespConnection client = RespConnection.Connect(server.Port);
        client.SendCommand("BLPOP foo 0");
        Assert.True(SpinWait.SpinUntil(() => server.Engine.Blocked.Count == 1, 60_000), "it does not block");
        BlockedClient blocked = server.Engine.Blocked.All.Single();
        server.Engine.RedirectIfMoved(blocked);
        Assert.Equal(1, server.Engine.Blocked.Count); // the slot is here
        Take(server);
        server.Engine.RedirectIfMoved(blocked);
        Assert.Equal("MOVED 12182 127.0.0.1:7002", client.Read().Text);
    }

    // A slice skips a stripe that another thread holds, so that the slot goes before the copy is complete.
    [Fact]
    public async Task A_copy_in_slices_writes_to_no_slot_that_went()
    {
        using var folder = new TemporaryFolder();
        Directory.CreateDirectory(folder.Path);
        await using RedKiteServer server = await StartAsync(folder);
        GiveAll(server);
        using RedKiteSession session = server.CreateSession();
        for (int i = 0; i < 100_000; i += 1000) session.Execute(["SADD", "foo", .. Enumerable.Range(i, 1000).Select(static i => i.ToString("x8", CultureInfo.InvariantCulture))]);
        using RespConnection copier = RespConnection.Connect(server.Port);
        int attempts = 0;
        while (!TakeDuringCopy()) Assert.True(++attempts < 50, "every copy was complete too soon");
        Assert.Equal("MOVED 12182 127.0.0.1:7002", copier.Read().Text);
        Assert.InRange(server.Engine.Keyspace.Databases[0].CountOfSlot(12182), 0, 1);

        bool TakeDuringCopy()
        {
            copier.SendCommand("COPY foo {foo}copy");
            SpinWait.SpinUntil(() => server.Engine.Blocked.Count == 1, 1000);
            using (server.Engine.Keyspace.Lock(StripeSet.Of(12182 % server.Engine.Keyspace.Stripes.Length)))
            {
                if (server.Engine.Blocked.Count == 1)
                {
                    Take(server);
                    return true;
                }
            }

            Assert.Equal(1, copier.Read().Number);
            copier.Run("DEL {foo}copy").IsInteger(1);
            return false;
        }
    }

    [Fact]
    public async Task A_subscription_in_the_process_ends_with_its_slot()
    {
        using var folder = new TemporaryFolder();
        Directory.CreateDirectory(folder.Path);
        await using RedKiteServer server = await StartAsync(folder);
        string id = GiveAll(server);
        using RedKiteSubscription subscription = server.CreateClient().SubscribeSharded("foo"), stays = server.CreateClient().SubscribeSharded("bar");
        Assert.Equal("OK", server.Execute("CLUSTERX", "SETNODES", $"{id} 127.0.0.1 7001 master - 0-12181 12183-16383\n{Other} 127.0.0.1 7002 master - 12182", "2").Text);
        await using IAsyncEnumerator<RedKiteMessage> messages = subscription.GetAsyncEnumerator(TestContext.Current.CancellationToken), others = stays.GetAsyncEnumerator(TestContext.Current.CancellationToken);
        RedKiteException failure = await Assert.ThrowsAsync<RedKiteException>(async () => await messages.MoveNextAsync().AsTask().WaitAsync(TimeSpan.FromSeconds(60), TestContext.Current.CancellationToken));
        Assert.Equal("MOVED 12182 127.0.0.1:7002", failure.Message);
        Assert.Equal(1, server.Execute("SPUBLISH", "bar", "message").Integer);
        Assert.True(await others.MoveNextAsync());
        Assert.Equal("message", others.Current.Text);
    }

    [Fact]
    public async Task The_role_has_changed_when_the_change_is_answered()
    {
        using var folder = new TemporaryFolder();
        Directory.CreateDirectory(folder.Path);
        await using RedKiteServer server = await StartAsync(folder);
        string id = GiveAll(server);
        int version = 2;
        for (int i = 0; i < 5; i++)
        {
            Assert.Equal("OK", server.Execute("CLUSTERX", "SETNODES", $"{id} 127.0.0.1 7001 slave {Other}\n{Other} 127.0.0.1 {LoopbackPort.Next()} master - 0-16383", $"{version++}").Text);
            Assert.True(server.Engine.Replication.LinkStatus is not null);
            Assert.True(server.Engine.Routing.Value is { } routing && routing.ServesReads(12182) && !routing.Serves(12182)); // for READONLY
            Assert.Equal("OK", server.Execute("CLUSTERX", "SETNODES", $"{id} 127.0.0.1 7001 master - 0-16383\n{Other} 127.0.0.1 7002 master -", $"{version++}").Text);
            Assert.False(server.Engine.Replication.IsReplica);
            Assert.False(server.Engine.Routing.Value!.ServesReads(12182));
            Assert.Equal("OK", server.Execute("SET", "foo", "1").Text);
        }
    }

    [Fact]
    public async Task A_removal_is_accepted_without_memory()
    {
        await using DiskServer disk = await StartDiskAsync();
        Assert.Equal("OK", disk.Server.Execute("CLUSTER", "ADDSLOTSRANGE", "0", "16383").Text);
        using RespConnection client = RespConnection.Connect(disk.Server.Port);
        client.Run("SET foo 1").IsOk();
        client.Run("CONFIG SET maxmemory 1").IsOk();
        foreach (string options in (string[])["0", "1", "1 ABSTTL", "1 REPLACE", "9999999999999 REPLACE ABSTTL"])
        {
            string[] words = options.Split(' ');
            string rest = string.Join(' ', words[1..]);
            Assert.StartsWith("OOM ", client.Run($"RESTORE-ASKING foo {words[0]} \"{OnlyRemoves}\" {rest}").Text, StringComparison.Ordinal);
        }

        client.Run($"RESTORE-ASKING foo 1 \"{OnlyRemoves}\" REPLACE ABSTTL").IsOk();
        client.Run("EXISTS foo").IsInteger(0);
    }

    // As redis-server 8.0.2: ClusterTranscriptTests compares it while a script is busy.
    [Fact]
    public async Task Who_is_sent_elsewhere_or_may_not_hears_nothing_of_loading()
    {
        using var folder = new TemporaryFolder();
        Directory.CreateDirectory(folder.Path);
        await using RedKiteServer server = await StartAsync(folder);
        GiveAll(server);
        Take(server);
        server.Execute("ACL", "SETUSER", "u", "on", "nopass", "~*", "+@all", "-get");
        server.Engine.Attention.Set(ServerAttention.Loading, on: true);
        using RespConnection client = RespConnection.Connect(server.Port);
        Assert.Equal("MOVED 12182 127.0.0.1:7002", client.Run("GET foo").Text);
        Assert.StartsWith("CROSSSLOT ", client.Run("MGET foo bar").Text, StringComparison.Ordinal);
        Assert.StartsWith("LOADING ", client.Run("GET bar").Text, StringComparison.Ordinal);
        client.Run("AUTH u x").IsOk();
        Assert.StartsWith("NOPERM ", client.Run("GET bar").Text, StringComparison.Ordinal);
        server.Engine.Attention.Set(ServerAttention.Loading, on: false);
    }

    // A log, or a primary's stream, does not execute them.
    [Fact]
    public async Task What_changes_the_role_says_so()
    {
        await using DiskServer disk = await StartDiskAsync();
        IEnumerable<string> changing = ((string[])["CLUSTER", "CLUSTERX"])
            .SelectMany(name => disk.Server.Engine.Commands.Find(System.Text.Encoding.ASCII.GetBytes(name))!.Subcommands)
            .Where(static row => row.ChangesRole).Select(static row => row.FullName);
        Assert.Equal(["clusterx|setnodeid", "clusterx|setnodes", "cluster|failover", "cluster|replicate", "cluster|reset"], changing.Order(StringComparer.Ordinal));
    }

    private static string FileOf(DiskServer disk)
    {
        using var file = disk.Files.OpenRead(Path.Combine(disk.Folder, "nodes.conf"));
        byte[] bytes = new byte[file.Length];
        file.Read(0, bytes);
        return System.Text.Encoding.Latin1.GetString(bytes);
    }

    // Gives the node all slots, and names another one.
    private static string GiveAll(RedKiteServer server)
    {
        string id = server.Execute("CLUSTER", "MYID").Text!;
        Assert.Equal("OK", server.Execute("CLUSTERX", "SETNODES", $"{id} 127.0.0.1 7001 master - 0-16383\n{Other} 127.0.0.1 7002 master -", "1").Text);
        return id;
    }

    // Gives the slot of "foo" to the other one, without waiting for anything.
    private static void Take(RedKiteServer server) => Assert.Null(server.Cluster!.ChangeHere(static state => (state.With(state.Topology.WithOwner([12182], Other)), null)));

    private static Task<DiskServer> StartDiskAsync() => DiskServer.StartAsync("cluster-enabled", "yes", "save", "");

    private static Task<RedKiteServer> StartAsync(TemporaryFolder folder)
    {
        var options = new RedKiteOptions { Port = 0 };
        foreach ((string setting, string value) in (ReadOnlySpan<(string, string)>)[("cluster-enabled", "yes"), ("dir", folder.Path), ("loops", "2"), ("save", ""), ("diagnostics", "no")]) options.Settings[setting] = value;
        return RedKiteServer.StartAsync(options);
    }

    // A disk on which synchronizing a folder lasts until the test ends it.
    private sealed class WaitingSync : IDisposable
    {
        private readonly DiskServer _disk;
        private readonly ManualResetEventSlim _isFree = new();
        private int _waiting;

        internal WaitingSync(DiskServer disk)
        {
            _disk = disk;
            disk.Files.Plan = call =>
            {
                if (call.Operation != "sync folder") return null;
                Interlocked.Increment(ref _waiting);
                _isFree.Wait();
                return null;
            };
        }

        public void Dispose() => _isFree.Dispose();

        internal void WaitUntilBegun() => _disk.WaitFor(() => Volatile.Read(ref _waiting) == 1, "the disk");

        internal void End() => _isFree.Set();
    }
}
