using System.Globalization;
using RedKite.Figures;
using RedKite.Traces;

namespace RedKite.Profile;

/// <summary>The result of a run.</summary>
/// <param name="Folder">The folder of the output files.</param>
/// <param name="Summary">Text to print: the start of the method table, and the folder.</param>
internal sealed record ProfileResult(string Folder, string Summary);

/// <summary>
/// One profile from start to end: server, keys, warm-up, the runtime's profile under load, then perf's under the same load.
/// The two are sequential because the runtime stops all threads for each of its samples, which perf would record.
/// </summary>
internal static class ProfileRun
{
    // Long enough for the JIT to finish the scenario's code: the tables show how many methods it compiled later.
    private const int WarmUpSeconds = 4;

    private const int SummaryLines = 24;

    /// <exception cref="CannotMeasureException">A required program is missing, failed or exited early.</exception>
    internal static ProfileResult Run(ProfileOptions options)
    {
        if (!OperatingSystem.IsLinux()) throw new CannotMeasureException("profiling is only supported on Linux");
        if (options.Build) Repository.BuildHost();
        else if (!File.Exists(Repository.HostProgram)) throw new CannotMeasureException($"{Repository.HostProgram} does not exist; omit --no-build");

        string folder = CreateFolder(options);
        string? perf = PerfRecorder.Find();
        string command = perf is null ? ServerKind.RedKiteCommand : $"env {PerfRecorder.ServerEnvironment} {ServerKind.RedKiteCommand}";
        int processId = 0;
        try
        {
            using ServerUnderTest server = ServerUnderTest.Start(new ServerKind("redkite", command), loops: options.Loops, cpus: ServerCpus(options.Loops));
            processId = server.ProcessId;
            var load = new ScenarioLoad(options, server.Port);
            KeyLoader.Load(server, KeyForm.Memtier, options.Keys, ProfileScenario.ValueBytes);
            Console.Error.WriteLine($"{options.Scenario.Name}: warming up");
            load.Run(WarmUpSeconds);

            List<string> summary = [WriteSampled(options, folder, server, load)];
            if (perf is not null) summary.Add(WritePerf(options, folder, new PerfRecorder(perf, processId), load));
            else Console.Error.WriteLine("perf is not on PATH: no native and kernel frames");
            summary.Add(folder);
            return new ProfileResult(folder, string.Join(Environment.NewLine, summary));
        }
        catch (Exception failure) when (failure is IOException or UnauthorizedAccessException or System.Net.Sockets.SocketException)
        {
            throw new CannotMeasureException(failure.Message);
        }
        finally
        {
            if (processId != 0) PerfRecorder.DeleteMaps(processId);
        }
    }

    private static string CreateFolder(ProfileOptions options)
    {
        string folder = options.OutputFolder ?? Path.Combine(
            Repository.Root, "artifacts", "profiles",
            string.Create(CultureInfo.InvariantCulture, $"{options.Scenario.Name}-{DateTime.Now:yyyy-MM-dd-HHmmss}"));
        try
        {
            return Directory.CreateDirectory(folder).FullName;
        }
        catch (Exception failure) when (failure is IOException or UnauthorizedAccessException)
        {
            throw new CannotMeasureException($"the profile's folder cannot be created: {failure.Message}");
        }
    }

    // Several loops share the load's cores if there are too few.
    private static string ServerCpus(int loops) =>
        loops == 1 ? Machine.ServerCpus : string.Create(CultureInfo.InvariantCulture, $"0-{Math.Min(loops, Machine.Cores) - 1}");

    private static string WriteSampled(ProfileOptions options, string folder, ServerUnderTest server, ScenarioLoad load)
    {
        string trace = Path.Combine(folder, "trace.nettrace");
        Console.Error.WriteLine($"{options.Scenario.Name}: the runtime's profile, {options.Seconds} s");
        SamplingSession session = SamplingSession.Start(server.ProcessId, trace);
        ServerThreads before = ServerThreads.Read(server.ProcessId);
        double perSecond = load.Run(options.Seconds);
        ServerThreads after = ServerThreads.Read(server.ProcessId);
        session.Stop();

        SampledProfile profile = NetTraceReader.Read(trace, after.Names);
        if (profile.Stacks.Count == 0) throw new CannotMeasureException("the runtime's profile has no stacks");
        using (FileStream speedscope = File.Create(Path.Combine(folder, "speedscope.json")))
        {
            SpeedscopeFile.Write(speedscope, $"redkite {options.Scenario.Name}", profile.Stacks);
        }

        string report = SampledReport.Write(options, profile, after.OnCpuSecondsSince(before), perSecond);
        File.WriteAllText(Path.Combine(folder, "methods.txt"), report);
        return Beginning(report);
    }

    private static string WritePerf(ProfileOptions options, string folder, PerfRecorder perf, ScenarioLoad load)
    {
        string data = Path.Combine(folder, "perf.data");
        Console.Error.WriteLine($"{options.Scenario.Name}: perf's profile, {options.Seconds} s");
        double perSecond;
        List<StackSample> stacks;
        try
        {
            perSecond = load.Run(options.Seconds, perf.Around(data));
            stacks = perf.Read(data);
        }
        catch (CannotMeasureException notAllowed)
        {
            // Machines often restrict perf to privileged users; the runtime's profile already exists.
            return $"no native and kernel frames: {notAllowed.Message}";
        }

        using (var collapsed = new StreamWriter(Path.Combine(folder, "perf.collapsed"))) CollapsedStacks.Write(collapsed, stacks);
        string report = string.Create(
            CultureInfo.InvariantCulture,
            $"""
            {options.Scenario.Name} ({options.Scenario.Purpose}), {options.Keys:N0} keys, {options.Loops} loop(s), {perSecond:N0} operations/s meanwhile
            {Machine.Description}
            perf, cpu-clock, 999 samples a second of running threads: waiting is not in it.

            {MethodTable.Write("all threads", HotMethods.Of(stacks))}
            """);
        File.WriteAllText(Path.Combine(folder, "perf-methods.txt"), report);
        return Beginning(report);
    }

    private static string Beginning(string report) => string.Join(Environment.NewLine, report.Split(Environment.NewLine).Take(SummaryLines)) + Environment.NewLine;
}
