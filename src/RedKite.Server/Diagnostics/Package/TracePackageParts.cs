namespace RedKite.Server.Diagnostics.Package;

/// <summary>Parts that the runtime's sampling profiler writes. PerfView and Visual Studio open them; `dotnet-trace convert` makes them Speedscope's.</summary>
internal static class TracePackageParts
{
    /// <summary>Long enough for some hundred stacks of each thread; the profiler stops all threads for each.</summary>
    internal static TimeSpan StacksTime { get; } = TimeSpan.FromMilliseconds(250);

    internal static void Stacks(PackageContext context) => context.Add("stacks.nettrace", RuntimeTrace.Record(StacksTime, context.Cancellation));

    internal static void Trace(PackageContext context) => context.Add("trace.nettrace", RuntimeTrace.Record(context.Options.Trace, context.Cancellation));
}
