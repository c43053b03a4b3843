using BenchmarkDotNet.Attributes;
using BenchmarkDotNet.Running;
using RedKite.TestSupport;

namespace RedKite.Microbenchmarks.Tests;

/// <summary>Every microbenchmark runs, with the first values of its parameters. Nothing is measured.</summary>
public class BenchmarkRunTests
{
    private static readonly Dictionary<string, BenchmarkCase> Cases =
        BenchmarkClasses.All.SelectMany(BenchmarkClasses.FirstCases).ToDictionary(benchmark => $"{benchmark.Descriptor.Type.Name}.{benchmark.Descriptor.WorkloadMethod.Name}");

    public static TheoryData<string> Names => [.. Cases.Keys];

    [Theory]
    [MemberData(nameof(Names))]
    [Long]
    public void Benchmark_runs(string name) => BenchmarkClasses.RunOnce(Cases[name]);

    [Theory]
    [InlineData(typeof(SetupThrows))]
    [InlineData(typeof(BenchmarkThrows))]
    [InlineData(typeof(CleanupThrows))]
    public void Failing_benchmark_is_reported(Type type)
    {
        BenchmarkCase benchmark = Assert.Single(BenchmarkClasses.FirstCases(type));
        Assert.Throws<NotSupportedException>(() => BenchmarkClasses.RunOnce(benchmark));
    }

    [Fact]
    public void Every_class_is_measurable() => Assert.All(BenchmarkClasses.All, type => Assert.True(CanBeMeasured(type), type.Name));

    [Theory]
    [InlineData(typeof(BenchmarkThrows), true)]
    [InlineData(typeof(Sealed), false)]
    [InlineData(typeof(NotPublic), false)]
    public void Unmeasurable_class_is_reported(Type type, bool canBeMeasured) => Assert.Equal(canBeMeasured, CanBeMeasured(type));

    // BenchmarkDotNet skips classes that are not public, and its in-process toolchain derives from the class.
    private static bool CanBeMeasured(Type type) => type is { IsVisible: true, IsSealed: false, IsAbstract: false };

    public class SetupThrows
    {
        [GlobalSetup]
        public void Setup() => throw new NotSupportedException();

        [Benchmark]
        public int One() => 1;
    }

    public class BenchmarkThrows
    {
        [Params(1, 2)]
        public int Number { get; set; }

        [Benchmark]
        public int Throw() => throw new NotSupportedException();
    }

    public class CleanupThrows
    {
        [Benchmark]
        public int One() => 1;

        [GlobalCleanup]
        public void Cleanup() => throw new NotSupportedException();
    }

    public sealed class Sealed
    {
        [Benchmark]
        public int One() => 1;
    }

    protected class NotPublic
    {
        [Benchmark]
        public int One() => 1;
    }
}
