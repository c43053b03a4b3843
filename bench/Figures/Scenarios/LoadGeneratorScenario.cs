using System.Diagnostics;
using System.Globalization;

namespace RedKite.Figures.Scenarios;

/// <summary>
/// The load generator's CPU per request: `redkite bench` against redis-benchmark and valkey-benchmark, one thread each, with
/// the floor as the server because it replies fastest. A generator that is cheaper than the server can load it from fewer cores.
/// </summary>
internal static class LoadGeneratorScenario
{
    // A second or more per depth, so that start-up (and JIT compilation in RedKite) is a small part.
    private const long OperationsPerDepth = 200_000;
    private const int GrowingDepthMax = 16;
    private const int Keys = 1_000_000;

    // USER_HZ, the same on every architecture that .NET runs on.
    private const double TicksPerSecond = 100;

    internal static Report Run(Options options)
    {
        var report = new Report("loadgen", $"CPU per GET of the load generator's process, including its start, with {Keys:N0} random keys: "
            + $"`redkite bench -t 1`, redis-benchmark and valkey-benchmark, all with their histograms, median of {options.Rounds} interleaved rounds, {options.Clients} connections, "
            + $"on core {Machine.LoadCpus}; the floor is the server, on core {Machine.ServerCpus}. The kernel counts an ended process in ticks of 10 ms; each round has at least 50.");
        ServerKind? floor = ServerKind.Available(options, report, withFloor: true).Find(kind => kind.Name == "floor");
        if (floor is null)
        {
            report.Notes.Add("not measured: requires the floor server");
            return report;
        }

        var table = new Table("load generators", new("pipeline"), new("generator"), new("cpu ns/op"), new("range ns/op"), new("this / redkite bench", "F2"), new("range this / redkite bench", "F2"));
        report.Tables.Add(table);
        using ServerUnderTest server = ServerUnderTest.Start(floor);
        foreach (int pipeline in options.Pipelines) Measure(table, report, options, server, pipeline);
        return report;
    }

    private static void Measure(Table table, Report report, Options options, ServerUnderTest server, int pipeline)
    {
        // A whole number of batches per client in all programs.
        long perClient = OperationsPerDepth * Math.Min(pipeline, GrowingDepthMax) / options.Clients / pipeline * pipeline;
        long operations = perClient * options.Clients;
        List<(string Name, string Command)> generators =
        [
            ("redkite bench", Text($"'{Repository.HostProgram}' bench -s 127.0.0.1 -p {server.Port} -t 1 -c {options.Clients} -n {perClient} --pipeline {pipeline} --ratio 0:1 --key-maximum {Keys}")),
        ];
        foreach (string program in ((string?[])[PeerProgram.RedisBenchmark, PeerProgram.ValkeyBenchmark]).OfType<string>())
        {
            generators.Add((Path.GetFileName(program), Text($"'{program}' -p {server.Port} -t get -n {operations} -c {options.Clients} -P {pipeline} -r {Keys} -q")));
        }

        Dictionary<string, List<double>> cpuNs = generators.ToDictionary(generator => generator.Name, _ => new List<double>());
        for (int round = 0; round < options.Rounds; round++)
        {
            Console.Error.WriteLine($"pipeline {pipeline}: round {round + 1} of {options.Rounds}");
            foreach ((string name, string command) in round % 2 == 0 ? generators : generators.AsEnumerable().Reverse()) cpuNs[name].Add(1e9 * CpuSeconds(command) / operations);
        }

        List<double> redKite = cpuNs["redkite bench"];
        foreach ((string name, List<double> rounds) in cpuNs)
        {
            Spread own = Spread.Of(rounds), byRedKite = Spread.OfRatios(rounds, redKite);
            table.Add(pipeline, name, own.Median, own.Range, byRedKite.Median, byRedKite.Range);
            if (name != "redkite bench") report.Targets.Add(Target.AtLeast(1, $"{name} / redkite bench, pipeline {pipeline}", byRedKite));
        }
    }

    // Read from the shell that waited for the program: /proc has no entry for a program that has ended.
    private static double CpuSeconds(string command)
    {
        string script = $"taskset -c {Machine.LoadCpus} {command} >/dev/null 2>&1 </dev/null || exit 1; cat /proc/$$/stat";
        var start = new ProcessStartInfo("/bin/sh", ["-c", script]) { RedirectStandardOutput = true };
        using Process shell = Process.Start(start) ?? throw new CannotMeasureException("/bin/sh did not start");
        string stat = shell.StandardOutput.ReadToEnd();
        shell.WaitForExit();
        if (shell.ExitCode != 0) throw new CannotMeasureException($"command failed: {command}");

        string[] fields = stat[(stat.LastIndexOf(')') + 2)..].Split(' ');
        const int childrenUser = 13, childrenSystem = 14;
        return (double.Parse(fields[childrenUser], CultureInfo.InvariantCulture) + double.Parse(fields[childrenSystem], CultureInfo.InvariantCulture)) / TicksPerSecond;
    }

    private static string Text(FormattableString text) => text.ToString(CultureInfo.InvariantCulture);
}
