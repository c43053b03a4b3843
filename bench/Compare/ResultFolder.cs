using System.Text.Json;
using RedKite.Figures;

namespace RedKite.Compare;

/// <summary>
/// Reads BenchmarkDotNet's JSON reports in a folder and its subfolders. A benchmark in several reports was launched several
/// times; the reports' paths give the order of the launches.
/// </summary>
internal static class ResultFolder
{
    /// <exception cref="CannotMeasureException">The folder has no report, or one without individual measurements.</exception>
    internal static Dictionary<string, Measurements> Read(string folder)
    {
        if (!Directory.Exists(folder)) throw new CannotMeasureException($"{folder} is not a folder");
        string[] files = [.. Directory.EnumerateFiles(folder, "*-report*.json", SearchOption.AllDirectories).Order(StringComparer.Ordinal)];
        if (files.Length == 0) throw new CannotMeasureException($"{folder} holds no BenchmarkDotNet report (*-report*.json)");

        Dictionary<string, Measurements> measured = [];
        HashSet<string> runs = [];
        foreach (string file in files) ReadReport(file, runs, measured);
        return measured;
    }

    private static void ReadReport(string file, HashSet<string> runs, Dictionary<string, Measurements> measured)
    {
        try
        {
            using JsonDocument document = JsonDocument.Parse(File.ReadAllText(file));
            // Two exporters write two reports of one run, which would count each measurement twice.
            if (!runs.Add(Path.GetDirectoryName(file) + "/" + document.RootElement.GetProperty("Title").GetString())) return;

            HashSet<string> names = [];
            foreach (JsonElement benchmark in document.RootElement.GetProperty("Benchmarks").EnumerateArray())
            {
                string name = Name(benchmark);
                if (!names.Add(name)) throw new CannotMeasureException($"{file}: {name} ran as several jobs, which the report does not distinguish");
                Measurements launch = ReadBenchmark(benchmark);
                measured[name] = measured.TryGetValue(name, out Measurements? earlier) ? earlier.FollowedBy(launch) : launch;
            }
        }
        catch (Exception notReadable) when (notReadable is JsonException or KeyNotFoundException or InvalidOperationException or FormatException)
        {
            throw new CannotMeasureException(
                $"{file} is not a report with measurements (--exporters json writes them): {notReadable.Message}");
        }
    }

    // The namespace is the same in all of them and would only widen the table.
    private static string Name(JsonElement benchmark)
    {
        string name = benchmark.GetProperty("FullName").GetString()!;
        string prefix = benchmark.GetProperty("Namespace").GetString() + ".";
        return name.StartsWith(prefix, StringComparison.Ordinal) ? name[prefix.Length..] : name;
    }

    private static Measurements ReadBenchmark(JsonElement benchmark)
    {
        // BenchmarkDotNet itself computes with Result: the benchmark's own time, without the loop's overhead. A failed
        // benchmark has none.
        IEnumerable<IGrouping<int, JsonElement>> launches = benchmark.GetProperty("Measurements").EnumerateArray()
            .Where(measurement => measurement.GetProperty("IterationMode").GetString() == "Workload")
            .Where(measurement => measurement.GetProperty("IterationStage").GetString() == "Result")
            .GroupBy(measurement => measurement.GetProperty("LaunchIndex").GetInt32());
        return new Measurements([.. launches.Select(launch => launch.Select(NsPerOperation).ToArray())], BytesPerOperation(benchmark));
    }

    private static double NsPerOperation(JsonElement measurement) =>
        measurement.GetProperty("Nanoseconds").GetDouble() / measurement.GetProperty("Operations").GetDouble();

    private static long? BytesPerOperation(JsonElement benchmark) =>
        benchmark.TryGetProperty("Memory", out JsonElement memory) && memory.ValueKind == JsonValueKind.Object
        && memory.TryGetProperty("BytesAllocatedPerOperation", out JsonElement bytes) && bytes.ValueKind == JsonValueKind.Number
            ? bytes.GetInt64()
            : null;
}
