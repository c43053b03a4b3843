using System.Globalization;
using RedKite.Server.Tests.Diagnostics;
using RedKite.Testing;

namespace RedKite.Server.Tests.Cluster;

// Load, memory and clocks that differ between nodes.
public sealed partial class ClusterFindingTests
{
    [Fact]
    public async Task Clocks_that_are_apart_are_found()
    {
        List<ShiftedClock> clocks = [];
        await using RedKiteTestCluster cluster = await StartAsync(shards: 2, replicas: 0, options =>
        {
            clocks.Add(new ShiftedClock());
            options.TimeProvider = clocks[^1];
        });
        RedKiteTestNode ahead = cluster.Nodes[1];
        RedKiteServer server = cluster.Nodes[0].Server;
        await LookAsync(cluster);
        ObservedSeconds.Pass(server, 10);
        await OverAsync(cluster, server);

        clocks[1].Ahead = TimeSpan.FromSeconds(7);
        await FoundAsync(cluster, server, "cluster-clocks-apart");
        Assert.Contains(ahead.EndPoint, Details(server, "cluster-clocks-apart"), StringComparison.Ordinal);
        await FoundAsync(cluster, ahead.Server, "cluster-clocks-apart"); // it hears that from the other one

        // The greatest difference of a minute counts, which passes.
        clocks[1].Ahead = TimeSpan.Zero;
        await LookAsync(cluster);
        foreach (ShiftedClock clock in clocks) clock.Pass(TimeSpan.FromSeconds(61));
        await OverAsync(cluster, server);
        await OverAsync(cluster, ahead.Server);
    }

    [Fact]
    public async Task A_shard_with_most_of_the_load_is_found()
    {
        await using RedKiteTestCluster cluster = await StartAsync(shards: 2, replicas: 0);
        RedKiteTestNode busy = cluster.PrimaryOf("chair");
        RedKiteServer server = busy.Server, other = cluster.Nodes.First(node => node != busy).Server;
        await LookAsync(cluster);
        ObservedSeconds.Pass(other, 60);
        await OverAsync(cluster, other);
        using (var stop = new CancellationTokenSource())
        {
            Task load = Task.Run(
                () =>
                {
                    while (!stop.IsCancellationRequested) server.Execute("SET", "chair", "1");
                },
                TestContext.Current.CancellationToken);
            await FoundAsync(cluster, other, "cluster-load-uneven");
            Assert.Contains(busy.EndPoint, Details(other, "cluster-load-uneven"), StringComparison.Ordinal);
            await stop.CancelAsync();
            await load;
        }

        await OverAsync(cluster, other);
    }

    [Fact]
    public async Task A_shard_with_most_of_the_data_is_found()
    {
        const int Bytes = 300 << 20;
        await using RedKiteTestCluster cluster = await StartAsync(shards: 2, replicas: 0);
        RedKiteTestNode full = cluster.PrimaryOf("chair");
        RedKiteServer other = cluster.Nodes.First(node => node != full).Server;
        Assert.Equal(Bytes, full.Server.Execute("SETRANGE", "chair", (Bytes - 1).ToString(CultureInfo.InvariantCulture), "x").Integer);
        await FoundAsync(cluster, other, "cluster-memory-uneven");
        Assert.Contains(full.EndPoint, Details(other, "cluster-memory-uneven"), StringComparison.Ordinal);
        full.Server.Execute("DEL", "chair");
        await OverAsync(cluster, other);
    }

    // The clock goes on, so that the counts of ten seconds are whole.
    [Fact]
    public async Task A_slot_with_much_of_the_load_is_found()
    {
        const int Requests = 25_000;
        var clock = new ShiftedClock();
        await using RedKiteTestCluster cluster = await StartAsync(shards: 1, replicas: 0, options => options.TimeProvider = clock);
        RedKiteServer server = cluster.Nodes[0].Server;
        server.Execute("SET", "chair", "1");
        for (int second = 0; second < 15; second++)
        {
            for (int i = 0; i < Requests; i++) server.Execute("GET", "chair");
            clock.Ahead += TimeSpan.FromSeconds(10);
            await LookAsync(cluster);
            ObservedSeconds.Pass(server, 1);
        }

        Assert.Contains("cluster-hot-slot", Findings(server));
        string details = Details(server, "cluster-hot-slot");
        Assert.Contains("the slot " + server.Execute("CLUSTER", "KEYSLOT", "chair").Integer.ToString(CultureInfo.InvariantCulture), details, StringComparison.Ordinal);
        Assert.Contains("chair", details, StringComparison.Ordinal);
        ObservedSeconds.Pass(server, 15); // without requests
        await OverAsync(cluster, server);
    }

    // The system's clock, but for what a test has added.
    private sealed class ShiftedClock : TimeProvider
    {
        private long _aheadTicks;
        private long _passed; // in units of the timestamp

        internal TimeSpan Ahead
        {
            get => new(Volatile.Read(ref _aheadTicks));
            set => Volatile.Write(ref _aheadTicks, value.Ticks);
        }

        // The steady time, and not that of day.
        internal void Pass(TimeSpan time) => Interlocked.Add(ref _passed, (long)(time.TotalSeconds * TimestampFrequency));

        public override DateTimeOffset GetUtcNow() => base.GetUtcNow() + Ahead;

        public override long GetTimestamp() => base.GetTimestamp() + Volatile.Read(ref _passed);
    }
}
