using System.Diagnostics;
using System.Globalization;
using System.Text.Json;

namespace RedKite.Figures.Diagnostics;

/// <summary>
/// A debug package of a server with many keys while clients send requests at a steady rate: how long it takes, how large it is, and
/// the clients' latency with and without it.
/// </summary>
internal static class PackageTail
{
    internal const string Name = "package";

    private const int Keys = 5_000_000;
    private const int ValueBytes = 32;
    private const int RequestsPerSecond = 10_000;
    private const int LoadSeconds = 24; // a package collects the log for 15 seconds
    private const int BeginMs = 1000; // after the steady load's start
    private const int RoundsMax = 3;
    private const double SecondsMax = 30;
    private const double MegabytesMax = 20;
    private const double WithByWithoutMax = 2;

    internal static void Measure(ServerKind kind, Options options, Report report)
    {
        int keys = options.Keys ?? Keys;
        string steady = string.Create(
            CultureInfo.InvariantCulture,
            $"-t 1 -c {options.Clients} --ratio 1:10 -d {ValueBytes} --key-maximum {keys} --hide-histogram --print-percentiles 50,99,99.9 --test-time {LoadSeconds} --target-rate {RequestsPerSecond} --arrival poisson");
        using ServerUnderTest server = ServerUnderTest.Start(kind);
        KeyLoader.Load(server, KeyForm.Memory, keys, ValueBytes);
        OpenLoop.Run(server.Port, steady); // warms up
        List<JsonElement> without = [], with = [];
        List<double> seconds = [], megabytes = [];
        for (int round = 0; round < Math.Min(RoundsMax, options.Rounds); round++)
        {
            Console.Error.WriteLine($"{Name}: round {round + 1} of {Math.Min(RoundsMax, options.Rounds)}");
            without.Add(OpenLoop.Run(server.Port, steady));
            Task<(double Seconds, double Megabytes)> fetching = Task.Run(() =>
            {
                Thread.Sleep(BeginMs);
                return Fetch(server);
            });
            with.Add(OpenLoop.Run(server.Port, steady));
            if (!fetching.IsCompleted) report.AddNote("a package took longer than the steady load");
            (double took, double size) = fetching.GetAwaiter().GetResult();
            seconds.Add(took);
            megabytes.Add(size);
        }

        Spread time = Spread.Of(seconds), bytes = Spread.Of(megabytes), before = OpenLoop.Percentiles(without, "p99.90"), beside = OpenLoop.Percentiles(with, "p99.90");
        Spread ratio = Spread.OfRatios(beside.Values, before.Values);
        var table = new Table(FormattableString.Invariant($"a debug package of {keys:N0} keys beside {RequestsPerSecond:N0} requests per second"), new("seconds", "F1"), new("range s", "F1"), new("MB", "F2"),
            new("p99.9 without ms", "F3"), new("range without", "F3"), new("p99.9 with ms", "F3"), new("range with", "F3"), new("with / without", "F2"), new("range with / without", "F2"));
        table.Add(time.Median, time.Range, bytes.Median, before.Median, before.Range, beside.Median, beside.Range, ratio.Median, ratio.Range);
        report.Tables.Add(table);
        report.Targets.Add(Target.AtMost(SecondsMax, "seconds for a debug package", time));
        report.Targets.Add(Target.AtMost(MegabytesMax, "MB of a debug package", bytes));
        report.Targets.Add(Target.AtMost(WithByWithoutMax, "p99.9 beside a debug package / without", ratio));
    }

    // The program that fetches it has the lowest priority on the load's core.
    private static (double Seconds, double Megabytes) Fetch(ServerUnderTest server)
    {
        string file = Path.GetTempFileName();
        try
        {
            long start = Stopwatch.GetTimestamp();
            ExternalProgram.Run("nice", ["-n", "19", "taskset", "-c", Machine.LoadCpus, Repository.HostProgram, "debug-package", "--port", server.Port.ToString(CultureInfo.InvariantCulture), "--output", file]);
            return (Stopwatch.GetElapsedTime(start).TotalSeconds, new FileInfo(file).Length / 1e6);
        }
        finally
        {
            File.Delete(file);
        }
    }
}
