using BenchmarkDotNet.Columns;
using BenchmarkDotNet.Configs;
using BenchmarkDotNet.Diagnosers;
using BenchmarkDotNet.Exporters;
using BenchmarkDotNet.Jobs;
using BenchmarkDotNet.Loggers;
using BenchmarkDotNet.Running;
using BenchmarkDotNet.Toolchains.InProcess.Emit;

namespace RedKite.Microbenchmarks;

/// <summary>
/// Measures single mechanisms: './dev bench micro --filter *NameLookup*'. Each file shares its stem with the code that it
/// measures, and measures the way that errors take as well as the usual one.
/// </summary>
/// <remarks>
/// In this process: building a program for each benchmark, as BenchmarkDotNet does otherwise, takes longer than measuring it.
/// Short jobs, three iterations: differences of a few percent are noise; '--iterationCount 15' narrows it.
/// </remarks>
internal static class Program
{
    private static int Main(string[] arguments)
    {
        Job job = Job.ShortRun.WithToolchain(InProcessEmitToolchain.Instance);
        IConfig config = ManualConfig.CreateEmpty()
            .AddJob(job)
            .AddDiagnoser(MemoryDiagnoser.Default)
            .AddColumnProvider(DefaultColumnProviders.Instance)
            .AddLogger(ConsoleLogger.Default)
            .AddExporter(MarkdownExporter.GitHub)
            .WithArtifactsPath("artifacts/microbenchmarks");
        if (arguments.Length == 0) arguments = ["--filter", "*"];
        BenchmarkSwitcher.FromAssembly(typeof(Program).Assembly).Run(arguments, config);
        return 0;
    }
}
