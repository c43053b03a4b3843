namespace RedKite.Figures.Cluster;

/// <summary>
/// How long writes of a shard wait: when its primary is killed, and when it hands over to its replica. RedKite's nodes agree by an etcd that syncs its files; Redis's have a cluster-node-timeout as long as
/// RedKite's lease. Two connections write, one single writes and one batches, and every write that is refused is sent again until a node accepts it.
/// </summary>
internal static class ShardFailover
{
    internal const string Name = "failover";

    private const int LoseMs = 10_000; // cluster-lease-ms has this by default
    private const double KilledSecondsMax = (LoseMs / 1000) + 2;
    private const double HandoverMsMax = 50;
    private const int RoundsMax = 3; // each takes some 15 seconds
    private const int Keys = 10_000;
    private const int ValueBytes = 64;
    private const int ProbesPerSecond = 1000;
    private const int WritesPerSecond = 10_000;
    private const int Batch = 16;
    private const int PatienceMs = 60_000;
    private const int WarmUpMs = 1000;
    private const int QuietMs = 200;
    private const int AskAgainMs = 6000; // longer than a handover is tried

    internal static void Measure(Options options, Report report)
    {
        int rounds = Math.Min(options.Rounds, RoundsMax);
        var table = new Table(FormattableString.Invariant($"longest wait of a write under {WritesPerSecond:N0} SETs a second, {LoseMs / 1000} seconds of lease or node timeout"), new("server"),
            new("seconds, primary killed", "F2"), new("range", "F2"), new("ms, handed over", "F1"), new("its range", "F1"), new("handovers"));
        report.Tables.Add(table);
        foreach (ServerKind kind in ClusterNodes.Compared(options, report))
        {
            if (kind.Name == "redkite" && !EtcdServer.IsInstalled(report)) continue;
            List<double> killed = [], handedOver = [];
            for (int round = 0; round < rounds; round++)
            {
                Console.Error.WriteLine($"{kind.Name}: failover, round {round + 1} of {rounds}");
                using var shard = new ReplicatedShard(kind, LoseMs);
                handedOver.AddRange(HandOver(shard, kind.Name == "redkite" ? options.Rounds : 0, out ServerUnderTest primary));
                killed.Add(Kill(shard, primary));
            }

            Spread seconds = Spread.Of(killed), milliseconds = Spread.Of(handedOver);
            table.Add(kind.Name, seconds.Median, seconds.Range, milliseconds.Median, milliseconds.Range, handedOver.Count);
            if (kind.Name != "redkite") continue;
            report.Targets.Add(Target.AtMost(KilledSecondsMax, "seconds until a shard whose primary was killed accepts a write (the lease, and 2)", seconds));
            report.Targets.Add(Target.AtMost(HandoverMsMax, "longest wait of a write while a primary hands over, ms", milliseconds));
        }
    }

    // The longest wait of each. RedKite's first one is not counted, because it compiles code in it. Redis's primaries do not vote for a shard again within two node timeouts: it has one handover and one kill.
    private static List<double> HandOver(ReplicatedShard shard, int more, out ServerUnderTest primary)
    {
        (primary, ServerUnderTest replica) = (shard.Pair[0], shard.Pair[1]);
        using var writes = new Writes(shard);
        Thread.Sleep(WarmUpMs);
        List<double> longest = [];
        for (int i = 0; i <= more; i++)
        {
            ReplicatedShard.WaitUntilInStep(primary, replica);
            HandOverOnce(writes, primary, replica);
            Thread.Sleep(QuietMs);
            longest.Add(writes.TakeLongest());
            (primary, replica) = (replica, primary);
        }

        ReplicatedShard.WaitUntilInStep(primary, replica);
        return more > 0 ? longest[1..] : longest;
    }

    // Redis's nodes may not know yet whose replica it is, and do not vote for it then.
    private static void HandOverOnce(Writes writes, ServerUnderTest primary, ServerUnderTest replica)
    {
        using SetupConnection connection = replica.Connect();
        long askAtMs = 0;
        WaitFor.Until(
            () =>
            {
                if (writes.AllGoTo(replica.Port)) return true;
                if (Environment.TickCount64 < askAtMs) return false;
                askAtMs = Environment.TickCount64 + AskAgainMs;
                writes.TakeLongest();
                connection.Run("CLUSTER", "FAILOVER");
                return false;
            },
            $"a handover of {primary.Name}", PatienceMs);
    }

    private static double Kill(ReplicatedShard shard, ServerUnderTest primary)
    {
        using var writes = new Writes(shard);
        Thread.Sleep(WarmUpMs);
        writes.TakeLongest();
        int port = primary.Port;
        primary.Dispose();
        WaitFor.Until(() => writes.HasMoved(port), $"a primary of {primary.Name}", PatienceMs);
        return writes.TakeLongest() / 1000;
    }

    private sealed class Writes : IDisposable
    {
        private readonly RedirectedWrites[] _all;

        internal Writes(ReplicatedShard shard)
        {
            var keys = new SlotKeys(slots: 1, Keys);
            _all = [new(shard.Pair, keys, ValueBytes, 1, ProbesPerSecond), new(shard.Pair, keys, ValueBytes, Batch, WritesPerSecond)];
        }

        internal bool AllGoTo(int port) => Array.TrueForAll(_all, writes => writes.AcceptedBy == port);

        internal bool HasMoved(int from) => Array.TrueForAll(_all, writes => writes.AcceptedBy != from);

        internal double TakeLongest() => _all.Max(static writes => writes.Take() is [.., var longest] ? longest : 0);

        public void Dispose()
        {
            foreach (RedirectedWrites writes in _all) writes.Dispose();
        }
    }
}
