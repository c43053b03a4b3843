using System.Globalization;
using RedKite.Figures;

namespace RedKite.Compare;

/// <summary>
/// The microbenchmarks of both builds in alternating launches; every second pair begins with the working copy. Each build runs its
/// own benchmarks in its own processes.
/// </summary>
internal static class MicrobenchmarkLaunches
{
    // A tenth of BenchmarkDotNet's default, so that several launches finish in reasonable time.
    private const int IterationMs = 50;
    private const int WarmupIterations = 4;

    internal static void Build(string root)
    {
        Console.Error.WriteLine($"building {root}/bench/Microbenchmarks");
        ExternalProgram.Run("dotnet", ["build", "bench/Microbenchmarks", "-c", "Release", "--nologo", "-v", "quiet"], root);
    }

    /// <summary>Writes the results to the folders "base" and "diff" of <paramref name="results"/>.</summary>
    internal static void Run(CompareOptions options, string baseRoot, string diffRoot, string results)
    {
        for (int launch = 1; launch <= options.Launches; launch++)
        {
            Console.Error.WriteLine($"microbenchmarks: launch {launch} of {options.Launches}");
            // The names sort in launch order.
            string name = launch.ToString("D4", CultureInfo.InvariantCulture);
            (string Root, string Side)[] order = [(baseRoot, "base"), (diffRoot, "diff")];
            if (launch % 2 == 0) Array.Reverse(order);
            foreach ((string root, string side) in order) Launch(options, root, Path.Combine(results, side, name));
        }
    }

    private static void Launch(CompareOptions options, string root, string results)
    {
        string program = Path.Combine(root, "artifacts", "bin", "RedKite.Microbenchmarks", "release", "RedKite.Microbenchmarks.dll");
        // The current folder is the build's: BenchmarkDotNet searches its project upwards from there when it compiles a
        // benchmark separately.
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
