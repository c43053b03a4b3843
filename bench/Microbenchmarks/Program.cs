using BenchmarkDotNet.Columns;
using BenchmarkDotNet.Configs;
using BenchmarkDotNet.Diagnosers;
using BenchmarkDotNet.Exporters;
using BenchmarkDotNet.Jobs;
using BenchmarkDotNet.Loggers;
using BenchmarkDotNet.Running;
using BenchmarkDotNet.Toolchains.InProcess.Emit;
using RedKite.Microbenchmarks.Documents;

namespace RedKite.Microbenchmarks;

/// <summary>
/// Microbenchmarks: './dev bench micro --filter *NameLookup*'. Each file shares its stem with the code that it measures,
/// and measures error paths as well as the common one. './dev bench micro document-forms' compares forms of documents.
/// </summary>
/// <remarks>
/// In process: building a program per benchmark, BenchmarkDotNet's default, takes longer than measuring it. Short jobs with
/// three iterations: differences of a few percent are noise; '--iterationCount 15' reduces it.
/// </remarks>
internal static class Program
{
    private static int Main(string[] arguments)
    {
        if (arguments is [DocumentForms.Verb])
        {
            DocumentForms.Run();
            return 0;
        }

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
