using System.Runtime.InteropServices;
using RedKite.Figures;

namespace RedKite.Compare;

/// <summary>Reports whether the working copy is slower than a base: './dev bench compare'. CompareOptions.Usage is the manual.</summary>
internal static class Program
{
    private static int Main(string[] arguments)
    {
        // An interrupted run must raise ProcessExit too, because its handlers stop the servers and remove the base's checkout.
        // By default the runtime exits on these signals without raising it.
        using PosixSignalRegistration interrupt = PosixSignalRegistration.Create(PosixSignal.SIGINT, End);
        using PosixSignalRegistration terminate = PosixSignalRegistration.Create(PosixSignal.SIGTERM, End);
        using PosixSignalRegistration hangUp = PosixSignalRegistration.Create(PosixSignal.SIGHUP, End);
        return Run(arguments, Console.Out, Console.Error);
    }

    /// <returns>The exit status.</returns>
    internal static int Run(string[] arguments, TextWriter output, TextWriter errors)
    {
        if (arguments.Contains("--help") || arguments.Contains("-h"))
        {
            output.WriteLine(CompareOptions.Usage);
            return ComparisonReport.NothingSlower;
        }

        try
        {
            CompareOptions options = CompareOptions.Parse(arguments);
            var report = new ComparisonReport(options.ThresholdPercent);
            if (options is { BaseFolder: { } before, DiffFolder: { } after }) report.Add(ResultFolder.Read(before), ResultFolder.Read(after));
            else CompareBuilds(options, report, output);
            report.WriteTo(output);
            return report.ExitStatus;
        }
        catch (FormatException wrongArgument)
        {
            errors.WriteLine(wrongArgument.Message);
            errors.WriteLine(CompareOptions.Usage);
            return ComparisonReport.CannotCompare;
        }
        catch (CannotMeasureException cannot)
        {
            errors.WriteLine(cannot.Message);
            return ComparisonReport.CannotCompare;
        }
    }

    private static void CompareBuilds(CompareOptions options, ComparisonReport report, TextWriter output)
    {
        using var checkout = new BaseCheckout(Repository.Root, options.Revision!);
        // Build everything before measuring anything.
        string[] roots = [checkout.Root, Repository.Root];
        foreach (string root in roots)
        {
            if (options.Filters.Count > 0) MicrobenchmarkLaunches.Build(root);
            if (options.Pipelines.Count > 0) ServerRounds.Build(root);
        }

        output.WriteLine($"base {options.Revision} ({checkout.Revision[..12]}), {Machine.Description}");
        if (options.Filters.Count > 0)
        {
            // Next to the base, so that it is removed with it.
            string results = options.ResultsFolder is { } kept ? NewFolder(kept) : Path.Combine(checkout.Folder, "results");
            MicrobenchmarkLaunches.Run(options, checkout.Root, Repository.Root, results);
            report.Add(ResultFolder.Read(Path.Combine(results, "base")), ResultFolder.Read(Path.Combine(results, "diff")));
        }

        if (options.Pipelines.Count > 0)
        {
            (Dictionary<string, Measurements> before, Dictionary<string, Measurements> after) = ServerRounds.Run(options, checkout.Root, Repository.Root);
            report.Add(before, after);
        }
    }

    // Results of an earlier run would be pooled with this one's.
    private static string NewFolder(string folder)
    {
        string path = Path.GetFullPath(folder);
        if (Directory.Exists(path) && Directory.EnumerateFileSystemEntries(path).Any())
        {
            throw new CannotMeasureException($"--results: {folder} is not empty");
        }

        return path;
    }

    private static void End(PosixSignalContext context)
    {
        context.Cancel = true;
        ExternalProgram.EndRunning();
        Environment.Exit(ComparisonReport.CannotCompare);
    }
}
