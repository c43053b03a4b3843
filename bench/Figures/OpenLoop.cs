using System.Globalization;
using System.Text.Json;

namespace RedKite.Figures;

/// <summary>`redkite bench` on the load's cores, with its results as JSON.</summary>
internal static class OpenLoop
{
    /// <returns>The totals over all kinds of requests.</returns>
    internal static JsonElement Run(int port, string arguments)
    {
        string file = Path.GetTempFileName();
        try
        {
            string command = string.Create(
                CultureInfo.InvariantCulture,
                $"exec taskset -c {Machine.LoadCpus} '{Repository.HostProgram}' bench -s 127.0.0.1 -p {port} {arguments} --json-out-file '{file}'");
            ExternalProgram.Run("/bin/sh", ["-c", command]);
            using JsonDocument document = JsonDocument.Parse(File.ReadAllText(file));
            return document.RootElement.GetProperty("ALL STATS").GetProperty("Totals").Clone();
        }
        finally
        {
            File.Delete(file);
        }
    }

    /// <summary>A percentile of each round, by its name in the JSON: "p99.90".</summary>
    internal static Spread Percentiles(List<JsonElement> rounds, string name) =>
        Spread.Of(rounds.Select(round => round.GetProperty("Percentile Latencies").GetProperty(name).GetDouble()));
}
