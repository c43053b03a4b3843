namespace RedKite.Server.Diagnostics.Package;

/// <summary>Parts that the runtime's sampling profiler writes. `redkite analyze` prints them and makes them Speedscope's; PerfView and Visual Studio open them.</summary>
internal static class TracePackageParts
{
    internal const string StacksName = "stacks.nettrace";
    internal const string TraceName = "trace.nettrace";

    /// <summary>Long enough for some hundred stacks of each thread; the profiler stops all threads for each sample.</summary>
    internal static TimeSpan StacksTime { get; } = TimeSpan.FromMilliseconds(250);

    internal static void Stacks(PackageContext context) => context.Add(StacksName, RuntimeTrace.Record(StacksTime, context.Cancellation));

    internal static void Trace(PackageContext context) => context.Add(TraceName, RuntimeTrace.Record(context.Options.Trace, context.Cancellation));
}
