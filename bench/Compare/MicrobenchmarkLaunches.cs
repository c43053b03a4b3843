using System.Globalization;
using RedKite.Figures;

namespace RedKite.Compare;

/// <summary>
/// The microbenchmarks of both builds, launched by turns: base, working copy, base, working copy. Each build measures its
/// own mechanisms with its own benchmarks, in processes of its own.
/// </summary>
internal static class MicrobenchmarkLaunches
{
    // A tenth of BenchmarkDotNet's own, so that several launches end in reasonable time.
    private const int IterationMs = 50;
    private const int WarmupIterations = 4;

    internal static void Build(string root)
    {
        Console.Error.WriteLine($"building {root}/bench/Microbenchmarks");
        ExternalProgram.Run("dotnet", ["build", "bench/Microbenchmarks", "-c", "Release", "--nologo", "-v", "quiet"], root);
    }

    /// <summary>Leaves the results in the folders "base" and "diff" of <paramref name="results"/>.</summary>
    internal static void Run(CompareOptions options, string baseRoot, string diffRoot, string results)
    {
        for (int launch = 1; launch <= options.Launches; launch++)
        {
            Console.Error.WriteLine($"microbenchmarks: launch {launch} of {options.Launches}");
            // The names sort in the order of the launches.
            string name = launch.ToString("D4", CultureInfo.InvariantCulture);
            Launch(options, baseRoot, Path.Combine(results, "base", name));
            Launch(options, diffRoot, Path.Combine(results, "diff", name));
        }
    }

    private static void Launch(CompareOptions options, string root, string results)
    {
        string program = Path.Combine(root, "artifacts", "bin", "RedKite.Microbenchmarks", "release", "RedKite.Microbenchmarks.dll");
        // The build's own folder is the current one: where a benchmark is compiled by itself, BenchmarkDotNet looks for its
        // project from there upwards.
        ExternalProgram.Run(
            "dotnet",
            [
                program, "--filter", .. options.Filters, "--artifacts", results, "--exporters", "json",
                "--iterationCount", Text(options.Iterations), "--iterationTime", Text(IterationMs), "--warmupCount", Text(WarmupIterations),
            ],
            root);
        if (!Directory.Exists(Path.Combine(results, "results")))
        {
            throw new CannotMeasureException($"no microbenchmark of {root} matches {string.Join(' ', options.Filters)}");
        }
    }

    private static string Text(int number) => number.ToString(CultureInfo.InvariantCulture);
}
