using System.Text;
using RedKite.Server.Diagnostics.Reports;

namespace RedKite.Server.Diagnostics.Package;

/// <summary>Every part of the debug package, one row each, in the order in which they are written. docs/debug-package.md names them.</summary>
internal static class PackageTable
{
    internal static IReadOnlyList<PackagePart> Rows { get; } =
    [
        .. ReportTable.Rows.Where(report => report.IsInPackage).Select(OfReport),
        new("info.txt", "INFO with all sections; addresses are hashed.", ServerPackageParts.Info),
        new("history", "Metrics, commands and event loops: every second of the last hour as CSV, every minute of two weeks in the format of metrics-history-file.", HistoryPackageParts.Write) { IsSafeAtCrash = true },
        new("runtime.json", "The .NET runtime: garbage collections, settings, thread pool, some environment variables.", RuntimePackageParts.Write) { IsSafeAtCrash = true },
        new("system", "The machine: memory, limits, pressure, the container, the data folder's file system.", SystemPackageParts.Files),
        new("threads.csv", "Every thread: name, state, CPU time, where it waits in the kernel.", SystemPackageParts.Threads),
        new("stacks.nettrace", "Managed stacks of all threads, sampled for a quarter of a second.", TracePackageParts.Stacks) { Watches = _ => TracePackageParts.StacksTime },
        new("trace.nettrace", "A CPU trace: managed stacks of all threads every millisecond.", TracePackageParts.Trace) { IsWanted = options => options.Trace > TimeSpan.Zero, Watches = options => options.Trace },
        new("log.txt", "The last lines of the log, by default including those of 15 seconds after the package was begun; addresses are hashed.", ServerPackageParts.Log) { Watches = options => options.Log, IsSafeAtCrash = true },
    ];

    private static PackagePart OfReport(Report report)
    {
        string name = $"reports/{report.Name}.json";
        return new(name, report.Meaning, context =>
        {
            // A finding's evidence may name an address.
            string text = Encoding.UTF8.GetString(context.Sources.Reports.Write(report, context.RedactionKey, context.Cancellation));
            context.Add(name, ServerPackageParts.WithoutAddresses(context, text));
        })
        { IsSafeAtCrash = true };
    }
}
