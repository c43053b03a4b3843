using System.Diagnostics;
using System.Globalization;
using RedKite.Figures;
using RedKite.Figures.Behaviors;
using RedKite.Figures.Scenarios;

// Measures RedKite against its targets: each scenario starts its servers, measures them, prints its tables and targets,
// and stops the servers. Options.Usage is the manual.

Dictionary<string, Func<Options, Report>> scenarios = new()
{
    ["cpu"] = CpuScenario.Run,
    ["newkeys"] = NewKeysScenario.Run,
    ["loops"] = LoopsScenario.Run,
    ["diagnostics"] = DiagnosticsScenario.Run,
    ["cache"] = CacheScenario.Run,
    ["memory"] = MemoryScenario.Run,
    ["growth"] = GrowthScenario.Run,
    ["expiry"] = ExpiryScenario.Run,
    ["idle"] = IdleScenario.Run,
    ["loadgen"] = LoadGeneratorScenario.Run,
    ["tail"] = TailScenario.Run,
    ["behaviors"] = BehaviorsScenario.Run,
    ["names"] = NamesScenario.Run,
    ["guards"] = GuardsScenario.Run,
    ["durability"] = DurabilityScenario.Run,
    ["replication"] = ReplicationScenario.Run,
    ["cluster"] = ClusterScenario.Run,
    ["types"] = TypesScenario.Run,
    ["messages"] = MessagesScenario.Run,
    ["vectors"] = VectorsScenario.Run,
    ["documents"] = DocumentsScenario.Run,
    ["sketches"] = SketchesScenario.Run,
    ["embedding"] = EmbeddingScenario.Run,
    [ChurnScenario.Name] = ChurnScenario.Run,
};

if (args.Contains("--help") || args.Contains("-h"))
{
    Console.WriteLine(Options.Usage);
    return 0;
}

if (args is [BehaviorServer.Verb, var port, var depth])
{
    await BehaviorServer.RunAsync(int.Parse(port, CultureInfo.InvariantCulture), int.Parse(depth, CultureInfo.InvariantCulture));
    return 0;
}

using var exitSignals = new ExitSignals();

try
{
    Options options = Options.Parse(args, scenarios.Keys);
    if (options.WriteFigures) FiguresPage.EnsureWritable(Repository.FiguresPage);
    if (options.Build && options.RedKiteCommand is null && options.Servers.Contains("redkite")) Repository.BuildHost();

    Console.WriteLine($"{Machine.Description}; {PeerProgram.Describe()}");
    foreach (string name in options.Scenarios)
    {
        var elapsed = Stopwatch.StartNew();
        Report report = scenarios[name](options);
        Console.Error.WriteLine($"{name}: measured in {elapsed.Elapsed.TotalSeconds:F0} s");
        if (options.RedKiteCommand is { } standIn) report.Notes.Add($"not RedKite: its rows were measured with this command: {standIn}");
        Console.WriteLine();
        Console.Write(report.ToText());
        if (options.JsonFile is { } file) File.AppendAllText(file, report.ToJson(options) + Environment.NewLine);
        if (options.WriteFigures) FiguresPage.Write(Repository.FiguresPage, Repository.Results, [report], options, scenarios.Keys); // results so far are kept if a later one fails
    }

    return 0;
}
catch (FormatException wrongArgument)
{
    Console.Error.WriteLine(wrongArgument.Message);
    Console.Error.WriteLine(Options.Usage);
    return 1;
}
catch (CannotMeasureException cannot)
{
    Console.Error.WriteLine(cannot.Message);
    return 2;
}
