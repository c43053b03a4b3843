using System.Collections.Concurrent;
using System.Globalization;
using RedKite.Server.Cluster;
using RedKite.Store.Keyspace;
using RedKite.Testing;
using RedKite.TestSupport;

namespace RedKite.Server.Tests.Cluster;

/// <summary>Slots that move as a whole in a cluster with a store: whatever dies, stops or is cut off at whatever step, one node has them, with every acknowledged write.</summary>
public sealed class StoreMoveTests
{
    private const int WaitMs = 60_000;

    [Theory]
    [InlineData(0)]
    [InlineData(1)]
    public async Task Nothing_is_lost_or_there_twice_while_clients_write(int replicas)
    {
        await using RedKiteTestCluster cluster = await StartAsync(replicas);
        await using var ledger = new Ledger(cluster);
        await ledger.UntilMoreAsync(200);
        RedKiteTestNode a = cluster.PrimaryOf(KeyIn(0, 1)), b = cluster.PrimaryOf(KeyIn(8192, 8193));
        await cluster.MoveAsync(0..8192, a, b);
        await ledger.UntilMoreAsync(200);
        await cluster.MoveAsync(.., b, a);
        await ledger.UntilMoreAsync(200);
        await ledger.CheckAsync();
        Assert.True(ledger.Redirects > 0);
        Assert.Empty(Promises(cluster));
    }

    [Theory]
    [InlineData("established")]
    [InlineData("snapshot")]
    [InlineData("promised")]
    [InlineData("held")]
    [InlineData("acknowledged")]
    [InlineData("giving")]
    [InlineData("given")]
    public async Task A_destination_that_dies_loses_nothing(string step) => await HarmAsync(step, (_, b) => b.KillAsync(), (_, b) => b.StartAgainAsync());

    [Theory]
    [InlineData("established")]
    [InlineData("snapshot")]
    [InlineData("promised")]
    [InlineData("held")]
    [InlineData("acknowledged")]
    [InlineData("giving")]
    [InlineData("given")]
    public async Task A_source_that_dies_loses_nothing(string step) => await HarmAsync(step, (a, _) => a.KillAsync(), (a, _) => a.StartAgainAsync());

    [Theory]
    [InlineData("snapshot")]
    [InlineData("promised")]
    [InlineData("acknowledged")]
    [InlineData("giving")]
    [InlineData("given")]
    public async Task A_destination_that_is_cut_off_from_the_store_loses_nothing(string step) => await HarmAsync(step, (_, b) => Do(b.CutOff), (_, b) => Do(b.Reconnect));

    [Theory]
    [InlineData("snapshot")]
    [InlineData("promised")]
    [InlineData("acknowledged")]
    [InlineData("giving")]
    [InlineData("given")]
    public async Task A_source_that_is_cut_off_from_the_store_loses_nothing(string step) => await HarmAsync(step, (a, _) => Do(a.CutOff), (a, _) => Do(a.Reconnect));

    // What the source has sent may have happened: until it knows, it serves the slots neither for writes nor for reads, and the others as ever.
    [Fact]
    public async Task A_source_in_doubt_refuses_the_slots_alone()
    {
        await using RedKiteTestCluster cluster = await StartAsync(replicas: 0, static options => options.Settings["cluster-move-pause-ms"] = "500");
        RedKiteTestNode a = cluster.PrimaryOf(KeyIn(0, 1)), b = cluster.PrimaryOf(KeyIn(8192, 8193));
        (string moving, string other) = (KeyIn(0, 4000), KeyIn(4000, 8000));
        Assert.Equal("OK", a.Server.Execute("SET", moving, "1").Text);
        using RespConnection reader = RespConnection.Connect(a.Server.Port);
        bool waited = false;
        string inDoubt = "", beside = "";
        string[] removals = [];
        a.Server.Parts.SlotMoves()!.WatchSteps(name =>
        {
            if (name == "acknowledged") a.Store.CutOff();
            if (name == "giving")
            {
                reader.SendCommand($"GET {moving}");
                waited |= SpinWait.SpinUntil(() => a.Server.Engine.Pause.Paused(a.Server.Engine.Clients) > 0, WaitMs);
            }

            if (name != "in-doubt") return;
            inDoubt = a.Server.Execute("SET", moving, "2").Text + a.Server.Execute("GET", moving).Text + a.Server.Execute("CLUSTER", "CANCELSLOTMIGRATIONS").Text;
            string slot = KeySlot.Of(System.Text.Encoding.ASCII.GetBytes(moving)).ToString(CultureInfo.InvariantCulture);
            removals = [a.Server.Execute("TRIMSLOTS", "RANGES", "1", slot, slot).Text!, a.Server.Execute("CLUSTER", "FLUSHSLOT", slot).Text!];
            beside = a.Server.Execute("SET", other, "2").Text!;
            a.Reconnect();
        });
        await cluster.MoveAsync(0..4000, a, b);
        Assert.Equal("CLUSTERDOWN Hash slot not servedCLUSTERDOWN Hash slot not servedERR No migrations ongoing", inDoubt);
        Assert.Equal("OK", beside);
        Assert.All(removals, static reply => Assert.Equal("TRYAGAIN The slot is being given to another node", reply)); // it may keep the slot, and its keys
        Assert.Equal(2, removals.Length);
        Assert.True(waited);
        Assert.StartsWith("CLUSTERDOWN", reader.Read().Text, StringComparison.Ordinal);
        Assert.StartsWith("MOVED", a.Server.Execute("GET", moving).Text, StringComparison.Ordinal);
        Assert.Equal("1", b.Server.Execute("GET", moving).Text);
    }

    // It has the keys on its disk, and its file says that the slots are another node's.
    [Fact]
    public async Task A_destination_that_was_never_told_has_the_slots_when_it_starts_again()
    {
        await using RedKiteTestCluster cluster = await StartAsync(replicas: 0, static options => options.Settings["appendonly"] = "yes");
        RedKiteTestNode a = cluster.PrimaryOf(KeyIn(0, 1)), b = cluster.PrimaryOf(KeyIn(8192, 8193));
        string key = KeyIn(0, 8000);
        Assert.Equal("OK", a.Server.Execute("SET", key, "1").Text);
        a.Server.Parts.SlotMoves()!.WatchSteps(name =>
        {
            if (name == "acknowledged") b.Store.CutOff();
        });
        Task moving = cluster.MoveAsync(0..8192, a, b);
        Assert.True(SpinWait.SpinUntil(() => cluster.PrimaryOf(key) == b, WaitMs));
        Assert.Equal(0, b.Server.Execute("DBSIZE").Integer);
        await b.KillAsync();
        await b.StartAgainAsync();
        await cluster.UntilServedAsync();
        await Task.WhenAny(moving);
        Assert.Equal("1", b.Server.Execute("GET", key).Text);
    }

    // What it has received and its replicas have not would be lost with it.
    [Fact]
    public async Task A_destination_without_enough_replicas_gets_nothing()
    {
        await using RedKiteTestCluster cluster = await StartAsync(replicas: 1, static options => options.Settings["replica-acks-timeout"] = "200");
        RedKiteTestNode a = cluster.PrimaryOf(KeyIn(0, 1)), b = cluster.PrimaryOf(KeyIn(8192, 8193));
        string key = KeyIn(0, 8000);
        Assert.Equal("OK", a.Server.Execute("SET", key, "1").Text);
        await cluster.ReplicasOf(b)[0].KillAsync();
        InvalidOperationException failure = await Assert.ThrowsAsync<InvalidOperationException>(() => cluster.MoveAsync(0..8192, a, b));
        Assert.Contains("NOREPLICAS", failure.Message, StringComparison.Ordinal);
        Assert.Equal("1", a.Server.Execute("GET", key).Text);
        Assert.True(SpinWait.SpinUntil(() => KeysOfOthers(cluster, b) == 0, WaitMs));
    }

    // The destination has said for the last time that nothing was flushed: either it gets the slots, or the source has the keys, and no client has seen them in between.
    [Fact]
    public async Task Reads_wait_from_the_destinations_last_answer_on()
    {
        await using RedKiteTestCluster cluster = await StartAsync(replicas: 0);
        RedKiteTestNode a = cluster.PrimaryOf(KeyIn(0, 1)), b = cluster.PrimaryOf(KeyIn(8192, 8193));
        string key = KeyIn(0, 8000);
        Assert.Equal("OK", a.Server.Execute("SET", key, "1").Text);
        using RespConnection reader = RespConnection.Connect(a.Server.Port);
        bool waits = false;
        a.Server.Parts.SlotMoves()!.WatchSteps(name =>
        {
            if (name != "acknowledged") return;
            Assert.Equal("OK", b.Server.Execute("FLUSHALL").Text);
            reader.SendCommand($"GET {key}");
            waits = SpinWait.SpinUntil(() => a.Server.Engine.Pause.Paused(a.Server.Engine.Clients) > 0 || reader.AvailableBytes > 0, WaitMs) && reader.AvailableBytes == 0;
        });
        bool isMoved = true;
        try
        {
            await cluster.MoveAsync(0..8192, a, b);
        }
        catch (InvalidOperationException)
        {
            isMoved = false;
        }

        Assert.True(waits);
        if (isMoved) Assert.StartsWith("MOVED", reader.Read().Text, StringComparison.Ordinal);
        else reader.Read().IsBulk("1");
    }

    [Theory]
    [InlineData("promised")]
    [InlineData("acknowledged")]
    public async Task A_move_that_is_canceled_leaves_the_slots_with_the_source(string step)
    {
        await using RedKiteTestCluster cluster = await StartAsync(replicas: 0);
        RedKiteTestNode a = cluster.PrimaryOf(KeyIn(0, 1)), b = cluster.PrimaryOf(KeyIn(8192, 8193));
        string key = KeyIn(0, 8000);
        Assert.Equal("OK", a.Server.Execute("SET", key, "1").Text);
        a.Server.Parts.SlotMoves()!.WatchSteps(name =>
        {
            if (name == step) Assert.Equal("OK", a.Server.Execute("CLUSTER", "CANCELSLOTMIGRATIONS").Text);
        });
        await cluster.MoveAsync(0..8192, a, b);
        Assert.Same(a, cluster.PrimaryOf(key));
        Assert.Equal("1", a.Server.Execute("GET", key).Text);
        Assert.True(SpinWait.SpinUntil(() => KeysOfOthers(cluster, b) == 0 && !Promises(cluster).Any() && b.Server.Parts.SlotMoves()!.Active == 0, WaitMs));
        a.Server.Parts.SlotMoves()!.WatchSteps(null);
        await cluster.MoveAsync(0..8192, a, b);
        Assert.Equal("1", b.Server.Execute("GET", key).Text);
    }

    // Otherwise what was promised could be given when what was received is removed already.
    [Fact]
    public async Task A_reception_of_which_one_slot_has_come_otherwise_takes_its_promise_back()
    {
        await using RedKiteTestCluster cluster = await StartAsync(replicas: 0);
        RedKiteTestNode a = cluster.PrimaryOf(KeyIn(0, 1)), b = cluster.PrimaryOf(KeyIn(8192, 8193));
        Assert.Equal("OK", a.Server.Execute("SET", KeyIn(1, 8000), "1").Text);
        bool isWithdrawn = false;
        a.Server.Parts.SlotMoves()!.WatchSteps(name =>
        {
            if (name != "promised") return;
            Assert.True(Promises(cluster).Any());
            Assert.Equal("OK", a.Server.Execute("CLUSTER", "SETSLOT", "0", "NODE", b.Id).Text);
            isWithdrawn = SpinWait.SpinUntil(() => !Promises(cluster).Any(), WaitMs);
        });
        await Assert.ThrowsAsync<InvalidOperationException>(() => cluster.MoveAsync(0..8192, a, b));
        Assert.True(isWithdrawn);
        Assert.Equal("1", a.Server.Execute("GET", KeyIn(1, 8000)).Text);
        Assert.True(SpinWait.SpinUntil(() => b.Server.Parts.SlotMoves()!.Moves[0].HasEnded, WaitMs));
        Assert.Equal(RedKite.Server.SlotMoves.SlotMoveState.Failed, b.Server.Parts.SlotMoves()!.Moves[0].State);
    }

    private static string KeyIn(int first, int end) => Enumerable.Range(0, int.MaxValue).Select(static i => $"key{i}").First(key => KeySlot.Of(System.Text.Encoding.ASCII.GetBytes(key)) is var slot && slot >= first && slot < end);

    private static Task Do(Action action)
    {
        action();
        return Task.CompletedTask;
    }

    // Harms one of both nodes at a step of a move under writes, heals it, and looks at what is there.
    private static async Task HarmAsync(string step, Func<RedKiteTestNode, RedKiteTestNode, Task> harm, Func<RedKiteTestNode, RedKiteTestNode, Task> heal)
    {
        await using RedKiteTestCluster cluster = await StartAsync(replicas: 1);
        await using var ledger = new Ledger(cluster);
        await ledger.UntilMoreAsync(50);
        RedKiteTestNode a = cluster.PrimaryOf(KeyIn(0, 1)), b = cluster.PrimaryOf(KeyIn(8192, 8193));
        int begun = 0;
        bool harmed = false;
        using var hasBegun = new ManualResetEventSlim(); // the request is answered: a reply behind the lease's end would be none
        a.Server.Parts.SlotMoves()!.WatchSteps(name =>
        {
            if (name != step || begun++ > 0) return;
            hasBegun.Wait(WaitMs);
            harm(a, b).Wait(WaitMs);
            Volatile.Write(ref harmed, true);
        });
        Task moving = cluster.MoveAsync(0..8192, a, b);
        hasBegun.Set();
        Assert.True(SpinWait.SpinUntil(() => Volatile.Read(ref harmed) || (moving.IsCompleted && begun == 0), WaitMs));
        await cluster.UntilServedAsync();
        await heal(a, b);
        string outcome = "moved";
        try
        {
            await moving;
        }
        catch (InvalidOperationException failure)
        {
            outcome = failure.Message;
        }

        Assert.True(harmed, outcome);
        await cluster.UntilServedAsync();
        await ledger.UntilMoreAsync(50);
        await ledger.CheckAsync();
        Assert.True(SpinWait.SpinUntil(() => cluster.Nodes.All(node => KeysOfOthers(cluster, node) == 0), WaitMs), outcome);
        Assert.True(SpinWait.SpinUntil(() => !Promises(cluster).Any(), WaitMs));
    }

    // Keys of slots that neither the node nor its primary has.
    private static int KeysOfOthers(RedKiteTestCluster cluster, RedKiteTestNode node)
    {
        ClusterTopology topology = node.Server.Cluster!.State.Topology;
        string id = topology.Find(node.Id)!.PrimaryId ?? node.Id;
        return Enumerable.Range(0, KeySlot.Count).Count(slot => topology.OwnerOf(slot)?.Id != id && node.Server.Engine.Keyspace.Databases[0].CountOfSlot(slot) > 0);
    }

    private static IEnumerable<string> Promises(RedKiteTestCluster cluster) => cluster.Data.Read("imports/", 0).Entries.Select(static entry => entry.Key);

    private static Task<RedKiteTestCluster> StartAsync(int replicas, Action<RedKiteOptions>? configure = null) => RedKiteTestCluster.StartAsync(new RedKiteTestClusterOptions
    {
        Shards = 2,
        ReplicasPerShard = replicas,
        Configure = options =>
        {
            options.Settings["replica-acks"] = replicas > 0 ? "1" : "0";
            options.Settings["cluster-move-pause-ms"] = "30000";
            configure?.Invoke(options);
        },
    });

    // Writers that count in keys of all slots, and what was acknowledged to them.
    private sealed class Ledger : IAsyncDisposable
    {
        private readonly RedKiteTestCluster _cluster;
        private readonly ConcurrentDictionary<string, (long Acknowledged, long Sent)> _counts = new();
        private readonly Task[] _writers;
        private bool _ends;
        private int _redirects;

        internal Ledger(RedKiteTestCluster cluster)
        {
            _cluster = cluster;
            _writers = [.. Enumerable.Range(0, 2).Select(writer => Task.Run(() => Write(writer)))];
        }

        internal int Redirects => Volatile.Read(ref _redirects);

        private long Total => _counts.Values.Sum(static count => count.Acknowledged);

        internal async Task UntilMoreAsync(int count)
        {
            using var limit = new CancellationTokenSource(WaitMs);
            long wanted = Total + count;
            while (Total < wanted) await Task.Delay(2, limit.Token);
        }

        // Every count is at least what was acknowledged, and at most what was sent.
        internal async Task CheckAsync()
        {
            await StopAsync();
            foreach ((string key, (long acknowledged, long sent)) in _counts)
            {
                long count = long.Parse(_cluster.PrimaryOf(key).Server.Execute("GET", key).Text ?? "0", CultureInfo.InvariantCulture);
                Assert.True(count >= acknowledged && count <= sent, $"{key}: {count} of {acknowledged} acknowledged, {sent} sent");
            }
        }

        public ValueTask DisposeAsync() => new(StopAsync());

        private Task StopAsync()
        {
            Volatile.Write(ref _ends, true);
            return Task.WhenAll(_writers);
        }

        private void Write(int writer)
        {
            int node = writer;
            for (int i = 0; !Volatile.Read(ref _ends); i++)
            {
                string key = string.Create(CultureInfo.InvariantCulture, $"count:{writer}:{i % 40}");
                (long acknowledged, long sent) = _counts.GetValueOrDefault(key);
                _counts[key] = (acknowledged, sent + 1);
                string reply = Run(node, "INCR", key);
                if (reply.Length > 0 && char.IsAsciiDigit(reply[0]))
                {
                    _counts[key] = (acknowledged + 1, sent + 1);
                    continue;
                }

                if (reply.StartsWith("MOVED", StringComparison.Ordinal)) Interlocked.Increment(ref _redirects);
                else Thread.Sleep(1);
                node = (node + 1) % _cluster.Nodes.Count;
            }
        }

        private string Run(int node, params string[] command)
        {
            try
            {
                RedKiteReply reply = _cluster.Nodes[node].Server.Execute(command);
                return reply.IsError ? reply.Text! : reply.Integer.ToString(CultureInfo.InvariantCulture);
            }
            catch (Exception failure) when (failure is InvalidOperationException or ObjectDisposedException or IOException)
            {
                return "-";
            }
        }
    }
}
