using System.Reflection;
using BenchmarkDotNet.Attributes;
using BenchmarkDotNet.Parameters;
using BenchmarkDotNet.Running;

namespace RedKite.Microbenchmarks.Tests;

/// <summary>The microbenchmark classes, and one call of each benchmark as BenchmarkDotNet would make it.</summary>
internal static class BenchmarkClasses
{
    /// <summary>Every class with a benchmark, including those that BenchmarkDotNet would skip.</summary>
    internal static Type[] All { get; } = [.. typeof(TableBenchmarks).Assembly.GetTypes().Where(HasBenchmarks)];

    /// <summary>Runs each benchmark of a class once, with the first (smallest) values of the parameters.</summary>
    internal static IEnumerable<BenchmarkCase> FirstCases(Type type) =>
        BenchmarkConverter.TypeToBenchmarks(type).BenchmarksCases.DistinctBy(benchmark => benchmark.Descriptor.WorkloadMethod);

    /// <summary>Creates an instance, sets it up, calls the benchmark once, and always cleans up.</summary>
    internal static void RunOnce(BenchmarkCase benchmark)
    {
        Descriptor descriptor = benchmark.Descriptor;
        object instance = Activator.CreateInstance(descriptor.Type)!;
        foreach (ParameterInstance parameter in benchmark.Parameters.Items) descriptor.Type.GetProperty(parameter.Name)!.SetValue(instance, parameter.Value);
        Call(descriptor.GlobalSetupMethod, instance);
        try
        {
            Call(descriptor.IterationSetupMethod, instance);
            Call(descriptor.WorkloadMethod, instance);
            Call(descriptor.IterationCleanupMethod, instance);
        }
        finally
        {
            Call(descriptor.GlobalCleanupMethod, instance);
        }
    }

    private static bool HasBenchmarks(Type type) => type
        .GetMethods(BindingFlags.Instance | BindingFlags.Static | BindingFlags.Public | BindingFlags.NonPublic)
        .Any(method => method.IsDefined(typeof(BenchmarkAttribute)));

    private static void Call(MethodInfo? method, object instance) =>
        method?.Invoke(instance, BindingFlags.DoNotWrapExceptions, binder: null, parameters: null, culture: null);
}
