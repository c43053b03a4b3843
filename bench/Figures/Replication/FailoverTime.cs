using System.Diagnostics;
using System.Globalization;
using System.Net.Sockets;

namespace RedKite.Figures.Replication;

/// <summary>The time from the kill of a primary until one of its two replicas accepts writes: three sentinels, down-after one second.</summary>
internal static class FailoverTime
{
    internal const string Name = "failover";

    private const int DownAfterMs = 1000;
    private const int RoundsMax = 3; // each takes some ten seconds
    private const int PollMs = 5;
    private const int PatienceMs = 60_000;
    private const double SecondsMax = 3;

    internal static void Measure(IReadOnlyList<ServerKind> kinds, Options options, Report report)
    {
        if (PeerProgram.RedisServer is not { } program)
        {
            report.Notes.Add("without a redis-server there are no sentinels");
            return;
        }

        var table = new Table(FormattableString.Invariant($"seconds from the kill of a primary until writes are accepted again: three sentinels, down-after {DownAfterMs} ms"), new("server"), new("seconds", "F2"), new("range", "F2"));
        report.Tables.Add(table);
        ServerKind[] measured = [.. kinds.Where(kind => kind.Name != "valkey")];
        Dictionary<ServerKind, List<double>> times = measured.ToDictionary(kind => kind, _ => new List<double>());
        for (int round = 0; round < Math.Min(options.Rounds, RoundsMax); round++)
        {
            foreach (ServerKind kind in measured) times[kind].Add(MeasureOnce(kind, program));
        }

        foreach (ServerKind kind in measured)
        {
            Spread seconds = Spread.Of(times[kind]);
            table.Add(kind.Name, seconds.Median, seconds.Range);
            if (kind.Name == "redkite") report.Targets.Add(Target.AtMost(SecondsMax, "seconds until a new primary accepts writes", seconds));
        }
    }

    private static double MeasureOnce(ServerKind kind, string program)
    {
        string cpus = $"{Machine.ServerCpus},{Machine.LoadCpus}";
        ServerUnderTest primary = ServerUnderTest.Start(kind with { Command = $"{kind.Command} --repl-diskless-sync-delay 0" }, cpus: cpus);
        try
        {
            string port = primary.Port.ToString(CultureInfo.InvariantCulture);
            using var replicas = new ServerGroup(Enumerable.Range(0, 2).Select(i => ServerUnderTest.Start(kind with { Command = $"{kind.Command} --replicaof 127.0.0.1 {port}" }, cpus: cpus)));
            foreach (ServerUnderTest replica in replicas) ApplyCost.WaitFor(primary, replica, PatienceMs);
            string settings = $"sentinel monitor m 127.0.0.1 {port} 2\\nsentinel down-after-milliseconds m {DownAfterMs}\\nsentinel failover-timeout m 10000\\n";
            var sentinel = new ServerKind("sentinel", $"sh -c \"printf '{settings}' > {{dir}}/sentinel.conf && exec '{program}' {{dir}}/sentinel.conf --sentinel --port {{port}} --dir {{dir}}\"");
            using var sentinels = new ServerGroup(Enumerable.Range(0, 3).Select(_ => ServerUnderTest.Start(sentinel, cpus: cpus)));
            foreach (ServerUnderTest each in sentinels) WaitFor(() => Knows(each), "the sentinels' discovery");
            long start = Stopwatch.GetTimestamp();
            primary.Dispose();
            WaitFor(() => replicas.Any(Writes), "a new primary");
            return Stopwatch.GetElapsedTime(start).TotalSeconds;
        }
        finally
        {
            primary.Dispose();
        }
    }

    private static bool Knows(ServerUnderTest sentinel)
    {
        using SetupConnection connection = sentinel.Connect();
        return connection.Run("INFO", "sentinel").Contains("status=ok", StringComparison.Ordinal) && connection.Run("INFO", "sentinel").Contains("slaves=2,sentinels=3", StringComparison.Ordinal);
    }

    private static bool Writes(ServerUnderTest server)
    {
        try
        {
            using SetupConnection connection = server.Connect();
            connection.Run("SET", "failover", "value");
            return true;
        }
        catch (Exception failure) when (failure is CannotMeasureException or SocketException or IOException)
        {
            return false;
        }
    }

    private static void WaitFor(Func<bool> condition, string what)
    {
        long endMs = Environment.TickCount64 + PatienceMs;
        while (!condition())
        {
            if (Environment.TickCount64 > endMs) throw new CannotMeasureException($"timed out waiting for {what}");
            Thread.Sleep(PollMs);
        }
    }
}
