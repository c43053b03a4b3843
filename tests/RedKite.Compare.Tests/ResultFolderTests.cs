using RedKite.Figures;

namespace RedKite.Compare.Tests;

/// <summary>Parsing of BenchmarkDotNet's reports.</summary>
public class ResultFolderTests
{
    [Fact]
    public void Each_report_of_a_benchmark_is_a_launch()
    {
        Dictionary<string, Measurements> measured = ResultFolder.Read(Fixtures.Folder("base"));
        Assert.Equal(["SampleBenchmarks.Get", "SampleBenchmarks.Set"], measured.Keys.Order());
        Measurements set = measured["SampleBenchmarks.Set"];
        Assert.Equal([8, 8, 8], set.Launches.Select(launch => launch.Length));
        Assert.Equal(24, set.BytesPerOperation);
    }

    [Fact]
    public void Only_workload_results_count()
    {
        // The fixture's overhead is 0.5 ns and its raw iteration is three times the result.
        double[] measured = ResultFolder.Read(Fixtures.Folder("base"))["SampleBenchmarks.Get"].Launches[0];
        Assert.All(measured, ns => Assert.InRange(ns, 45, 55));
    }

    [Fact]
    public void Duplicate_exports_of_a_run_count_once()
    {
        using var folder = new TemporaryFolder();
        string report = Directory.EnumerateFiles(Fixtures.Folder("few"), "*.json", SearchOption.AllDirectories).Single();
        File.Copy(report, folder.File("A-report-full.json"));
        File.Copy(report, folder.File("A-report-full-compressed.json"));
        Assert.Equal(3, ResultFolder.Read(folder.Path)["SampleBenchmarks.Get"].Launches.Single().Length);
    }

    [Fact]
    public void Failed_benchmark_has_no_measurements()
    {
        using var folder = new TemporaryFolder();
        File.WriteAllText(folder.File("A-report.json"),
            """{"Title":"A","Benchmarks":[{"Namespace":"N","FullName":"N.A.B","Memory":null,"Measurements":[]}]}""");
        Measurements failed = ResultFolder.Read(folder.Path)["A.B"];
        Assert.Empty(failed.Launches);
        Assert.Null(failed.BytesPerOperation);
    }

    [Theory]
    [InlineData("""{"Title":"A"}""", "is not a report with measurements")]
    [InlineData("""{"Title":"A","Benchmarks":[""", "is not a report with measurements")]
    [InlineData("[]", "is not a report with measurements")]
    [InlineData("""{"Title":"A","Benchmarks":[{"Namespace":"N","FullName":"N.A.B","Measurements":[]},{"Namespace":"N","FullName":"N.A.B","Measurements":[]}]}""", "several jobs")]
    public void Invalid_report_is_named(string text, string message)
    {
        using var folder = new TemporaryFolder();
        string file = folder.File("A-report.json");
        File.WriteAllText(file, text);
        CannotMeasureException thrown = Assert.Throws<CannotMeasureException>(() => ResultFolder.Read(folder.Path));
        Assert.StartsWith(file, thrown.Message, StringComparison.Ordinal);
        Assert.Contains(message, thrown.Message, StringComparison.Ordinal);
    }

    [Fact]
    public void Brief_report_has_no_measurements()
    {
        CannotMeasureException thrown = Assert.Throws<CannotMeasureException>(() => ResultFolder.Read(Fixtures.Folder("brief")));
        Assert.Contains("--exporters json", thrown.Message, StringComparison.Ordinal);
    }
}
