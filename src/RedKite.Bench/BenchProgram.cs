using System.Globalization;

namespace RedKite.Bench;

/// <summary>
/// <c>redkite bench</c>: a load generator for Redis-compatible servers with memtier_benchmark's options and output
/// formats.
/// </summary>
public static class BenchProgram
{
    /// <summary>Runs with the arguments after <c>bench</c>: results go to the output, progress and errors to the error writer.</summary>
    /// <returns>The exit status: 0 finished, 1 the run failed, 2 invalid options.</returns>
    public static int Run(IReadOnlyList<string> arguments, TextWriter output, TextWriter errors)
    {
        try
        {
            BenchOptions options = BenchArguments.Parse(arguments);
            if (options.ShowHelp) output.WriteLine(BenchArguments.Usage);
            else Run(options, output, errors);
            return 0;
        }
        catch (BenchException failure)
        {
            errors.WriteLine(failure.Message);
            return failure.ExitStatus;
        }
    }

    /// <summary>The titled results: one, or for several runs the best, the worst and the aggregate.</summary>
    internal static IReadOnlyList<(string Title, BenchResult Result)> Measure(BenchOptions options, TextWriter errors)
    {
        List<BenchResult> runs = [];
        bool interrupted = false;
        for (int run = 1; run <= options.RunCount && !interrupted; run++)
        {
            var line = new ProgressLine(errors, isTerminal: !Console.IsErrorRedirected, run);
            using var bench = new BenchRun(options);
            void Interrupt(object? sender, ConsoleCancelEventArgs arguments)
            {
                arguments.Cancel = !interrupted; // The first one requests the results so far, the second ends the program.
                interrupted = true;
                bench.EndEarly();
            }

            Console.CancelKeyPress += Interrupt;
            try
            {
                BenchResult result = bench.Execute(elapsed => line.Show(bench.Progress(elapsed), bench.Replies, elapsed, options.Threads, isLast: false));
                var total = TimeSpan.FromSeconds(result.Seconds);
                line.Show(bench.Progress(total), bench.Replies, total, options.Threads, isLast: true);
                runs.Add(result);
            }
            finally
            {
                Console.CancelKeyPress -= Interrupt;
            }
        }

        if (runs.Count == 1) return [("ALL STATS", runs[0])];
        return
        [
            ("BEST RUN RESULTS", runs.MaxBy(run => run.PerSecond(run.Totals.Count))!),
            ("WORST RUN RESULTS", runs.MinBy(run => run.PerSecond(run.Totals.Count))!),
            (string.Create(CultureInfo.InvariantCulture, $"AGGREGATED AVERAGE RESULTS ({runs.Count} runs)"), BenchResult.Sum(runs, options.IsOpenLoop)),
        ];
    }

    private static void Run(BenchOptions options, TextWriter output, TextWriter errors)
    {
        IReadOnlyList<(string Title, BenchResult Result)> results = Measure(options, errors);
        output.WriteLine(string.Create(CultureInfo.InvariantCulture, $"{options.Threads,-9} Threads"));
        output.WriteLine(string.Create(CultureInfo.InvariantCulture, $"{options.Clients,-9} Connections per thread"));
        output.WriteLine(options.TestTime > 0
            ? string.Create(CultureInfo.InvariantCulture, $"{options.TestTime,-9} Seconds")
            : string.Create(CultureInfo.InvariantCulture, $"{options.RequestsPerClient,-9} Requests per client"));
        foreach ((string title, BenchResult result) in results) ResultTable.Write(output, title, result, options);
        foreach ((_, BenchResult result) in results.Where(result => result.Result.Totals.Errors > 0).TakeLast(1))
        {
            errors.WriteLine(string.Create(CultureInfo.InvariantCulture, $"{result.Totals.Errors} of {result.Totals.Count} replies were errors, the first: {result.FirstError}"));
        }

        if (options.JsonFile is not null) ResultJson.Write(options.JsonFile, results, options);
    }
}
