using System.Globalization;
using System.Text.Json;
using RedKite.Figures;

namespace RedKite.Profile;

/// <summary>A scenario's load: <c>redkite bench</c> in its own process, pinned to the load's cores if possible.</summary>
internal sealed class ScenarioLoad(ProfileOptions options, int port)
{
    private static readonly TimeSpan Slack = TimeSpan.FromSeconds(20);

    /// <summary>Runs for a given time.</summary>
    /// <returns>Operations per second.</returns>
    internal double Run(int seconds) => Run(seconds, []);

    /// <summary>Runs for a given time inside another program, which receives the load's command line after its own arguments.</summary>
    internal double Run(int seconds, IReadOnlyList<string> around)
    {
        string result = Path.GetTempFileName();
        try
        {
            string[] command = [.. Pinning(), .. around, Repository.HostProgram, .. Arguments(seconds, result)];
            BoundedProgram.Run(command[0], command[1..], TimeSpan.FromSeconds(seconds) + Slack);
            using JsonDocument json = JsonDocument.Parse(File.ReadAllText(result));
            return json.RootElement.GetProperty("ALL STATS").GetProperty("Totals").GetProperty("Ops/sec").GetDouble();
        }
        finally
        {
            File.Delete(result);
        }
    }

    private static string[] Pinning() => ExternalProgram.Find("taskset") is { } taskset ? [taskset, "-c", Machine.LoadCpus] : [];

    private List<string> Arguments(int seconds, string resultFile)
    {
        List<string> arguments =
        [
            "bench", "--server", "127.0.0.1", "--port", Text(port), "--threads", "1", "--clients", Text(ProfileScenario.Clients),
            "--test-time", Text(seconds), "--pipeline", Text(options.Scenario.Pipeline), "--data-size", Text(ProfileScenario.ValueBytes),
            "--key-prefix", KeyForm.Memtier.Prefix, "--key-maximum", Text(options.Keys - 1), "--distinct-client-seed",
            "--hide-histogram", "--json-out-file", resultFile,
        ];
        foreach (ProfileCommand command in options.Scenario.Commands)
        {
            arguments.AddRange(["--command", command.Text, "--command-ratio", Text(command.Share)]);
        }

        return arguments;
    }

    private static string Text(int number) => number.ToString(CultureInfo.InvariantCulture);
}
