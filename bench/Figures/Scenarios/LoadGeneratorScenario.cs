using System.Diagnostics;
using System.Globalization;

namespace RedKite.Figures.Scenarios;

/// <summary>
/// What a request costs the load generator: `redkite bench` against redis-benchmark, one thread each, at the floor server,
/// which is the fastest to answer. A generator that costs less than the server can load it from fewer cores.
/// </summary>
internal static class LoadGeneratorScenario
{
    // Enough for some seconds at each depth, so that starting (and for RedKite, compiling) is a small part.
    private const long OperationsPerDepth = 400_000;
    private const int GrowingDepthMax = 16;
    private const int Keys = 1_000_000;

    // USER_HZ, the same on every architecture that .NET runs on.
    private const double TicksPerSecond = 100;

    internal static Report Run(Options options)
    {
        var report = new Report("loadgen", $"CPU of the load generator's whole process, its start included, for each GET of {Keys:N0} random keys: "
            + $"`redkite bench -t 1` with its histograms, and redis-benchmark with its own, the median of {options.Rounds} rounds by turns, {options.Clients} connections, "
            + $"on core {Machine.LoadCpus}; the floor answers on core {Machine.ServerCpus}.");
        ServerKind? floor = ServerKind.Available(options, report, withFloor: true).Find(kind => kind.Name == "floor");
        if (ExternalProgram.Find("redis-benchmark") is not { } redisBenchmark || floor is null)
        {
            report.Notes.Add("not measured: it takes redis-benchmark on PATH and the floor server");
            return report;
        }

        var table = new Table("load generators", new("pipeline"), new("redkite bench cpu ns/op"), new("redis-benchmark cpu ns/op"), new("redis-benchmark / redkite bench", "F2"));
        report.Tables.Add(table);
        using ServerUnderTest server = ServerUnderTest.Start(floor);
        foreach (int pipeline in options.Pipelines)
        {
            // A whole number of batches for each client of either program.
            long perClient = OperationsPerDepth * Math.Min(pipeline, GrowingDepthMax) / options.Clients / pipeline * pipeline;
            long operations = perClient * options.Clients;
            string redKite = Text($"'{Repository.HostProgram}' bench -s 127.0.0.1 -p {server.Port} -t 1 -c {options.Clients} -n {perClient} --pipeline {pipeline} --ratio 0:1 --key-maximum {Keys}");
            string redis = Text($"'{redisBenchmark}' -p {server.Port} -t get -n {operations} -c {options.Clients} -P {pipeline} -r {Keys} -q");

            List<double> redKiteNs = [], redisNs = [];
            for (int round = 0; round < options.Rounds; round++)
            {
                Console.Error.WriteLine($"pipeline {pipeline}: round {round + 1} of {options.Rounds}");
                redKiteNs.Add(1e9 * CpuSeconds(redKite) / operations);
                redisNs.Add(1e9 * CpuSeconds(redis) / operations);
            }

            double ratio = Median.OfRatios(redisNs, redKiteNs);
            table.Add(pipeline, Median.Of(redKiteNs), Median.Of(redisNs), ratio);
            report.Targets.Add(Target.AtLeast(1, $"redis-benchmark / redkite bench, pipeline {pipeline}", ratio));
        }

        return report;
    }

    // The shell that waited for the program tells what it used: the program itself is gone when its use is complete.
    private static double CpuSeconds(string command)
    {
        string script = $"taskset -c {Machine.LoadCpus} {command} >/dev/null 2>&1 </dev/null || exit 1; cat /proc/$$/stat";
        var start = new ProcessStartInfo("/bin/sh", ["-c", script]) { RedirectStandardOutput = true };
        using Process shell = Process.Start(start) ?? throw new CannotMeasureException("/bin/sh did not start");
        string stat = shell.StandardOutput.ReadToEnd();
        shell.WaitForExit();
        if (shell.ExitCode != 0) throw new CannotMeasureException($"it failed: {command}");

        string[] fields = stat[(stat.LastIndexOf(')') + 2)..].Split(' ');
        const int childrenUser = 13, childrenSystem = 14;
        return (double.Parse(fields[childrenUser], CultureInfo.InvariantCulture) + double.Parse(fields[childrenSystem], CultureInfo.InvariantCulture)) / TicksPerSecond;
    }

    private static string Text(FormattableString text) => text.ToString(CultureInfo.InvariantCulture);
}
