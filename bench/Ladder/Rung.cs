using System.Globalization;
using RedKite.Figures;

namespace RedKite.Ladder;

/// <summary>One measured server: a stage with its options. The table is the ladder.</summary>
/// <param name="Name">The stage's number and the rung's suffix.</param>
/// <param name="What">A description for the table's legend.</param>
/// <param name="ServeArguments">Arguments of this program's <c>serve</c>; null for RedKite itself.</param>
/// <param name="OnAllCores">It gets all cores, including the load's, and one loop per core.</param>
internal sealed record Rung(string Name, string What, string[]? ServeArguments, bool OnAllCores = false)
{
    internal static readonly IReadOnlyList<Rung> All =
    [
        new("1", "text streams, a flush after each reply", ["--stage", "1"]),
        new("2", "flushes deferred while input is available", ["--stage", "2"]),
        new("3-1", "the dictionary on its own thread", ["--stage", "3", "--shards", "1"]),
        new("3-2", "2 threads, each with a part of the keys", ["--stage", "3", "--shards", "2"]),
        new("3-4", "4 threads", ["--stage", "3", "--shards", "4"]),
        new("3-10", "10 threads", ["--stage", "3", "--shards", "10"]),
        new("4", "4 threads, a whole pipeline passes from one to the next", ["--stage", "4", "--shards", "4"]),
        new("5-busy", "pipes and bytes; incomplete requests not marked as examined", ["--stage", "5", "--shards", "4", "--busy-wait"]),
        new("5-waits", "the same, marked as examined", ["--stage", "5", "--shards", "4"]),
        new("6a", "a concurrent dictionary again, with strings", ["--stage", "6", "--values", "strings"]),
        new("6b", "pooled buffers, SET looks up its key first", ["--stage", "6", "--values", "look-first"]),
        new("6c", "pooled buffers, without that lookup", ["--stage", "6", "--values", "buffers"]),
        new("7-1", "RedKite with one loop", null),
        new("7-all", "RedKite with a loop per core, on all cores", null, OnAllCores: true),
    ];

    private string Stage => Name.Split('-')[0].TrimEnd('a', 'b', 'c');

    /// <summary>The rungs of a list of stages and names, in the ladder's order.</summary>
    /// <exception cref="FormatException">A name is unknown.</exception>
    internal static IReadOnlyList<Rung> Select(string list)
    {
        string[] wanted = list.Split(',');
        if (Array.Find(wanted, name => !All.Any(rung => rung.IsCalled(name))) is { } unknown)
        {
            throw new FormatException($"--stages: {unknown} is not one of 1 to 7, {string.Join(", ", All.Where(rung => rung.Name.Length > 1).Select(rung => rung.Name))}");
        }

        return [.. All.Where(rung => Array.Exists(wanted, rung.IsCalled))];
    }

    /// <summary>The program and its arguments.</summary>
    internal string[] CommandLine(int port)
    {
        string portText = port.ToString(CultureInfo.InvariantCulture);
        if (ServeArguments is not null) return ["dotnet", StageProcess.LadderProgram, "serve", "--port", portText, .. ServeArguments];

        int loops = OnAllCores ? Environment.ProcessorCount : 1;
        return ["dotnet", $"{Repository.HostProgram}.dll", "--port", portText, "--bind", "127.0.0.1", "--save", "", "--loops", loops.ToString(CultureInfo.InvariantCulture)];
    }

    private bool IsCalled(string name) => name == Name || name == Stage;
}
