using System.Globalization;
using RedKite.Figures;

namespace RedKite.Ladder;

/// <summary>One server that is measured: a stage with its switches. The table is the ladder.</summary>
/// <param name="Name">The stage's number, and behind it what tells its rungs apart.</param>
/// <param name="What">What is new or different, for the table's legend.</param>
/// <param name="ServeArguments">For this program's <c>serve</c>; null: RedKite itself.</param>
/// <param name="OnAllCores">It is given all cores, the load's included, and as many loops.</param>
internal sealed record Rung(string Name, string What, string[]? ServeArguments, bool OnAllCores = false)
{
    internal static readonly IReadOnlyList<Rung> All =
    [
        new("1", "text streams, a flush after each reply", ["--stage", "1"]),
        new("2", "flushes wait while more input does not", ["--stage", "2"]),
        new("3-1", "the dictionary on 1 thread of its own", ["--stage", "3", "--shards", "1"]),
        new("3-2", "2 threads with a part of the keys each", ["--stage", "3", "--shards", "2"]),
        new("3-4", "4 such threads", ["--stage", "3", "--shards", "4"]),
        new("3-10", "10 such threads", ["--stage", "3", "--shards", "10"]),
        new("4", "4 threads, a pipeline handed out at once", ["--stage", "4", "--shards", "4"]),
        new("5-busy", "pipes and bytes; leftovers are not marked as examined", ["--stage", "5", "--shards", "4", "--busy-wait"]),
        new("5-waits", "the same with leftovers marked as examined", ["--stage", "5", "--shards", "4"]),
        new("6a", "one concurrent dictionary again: strings", ["--stage", "6", "--values", "strings"]),
        new("6b", "pooled buffers, SET looks for its key first", ["--stage", "6", "--values", "look-first"]),
        new("6c", "pooled buffers, without that look", ["--stage", "6", "--values", "buffers"]),
        new("7-1", "RedKite with one loop", null),
        new("7-all", "RedKite with a loop for each core, on all cores", null, OnAllCores: true),
    ];

    private string Stage => Name.Split('-')[0].TrimEnd('a', 'b', 'c');

    /// <summary>The rungs of a list of stages and names, in the ladder's order.</summary>
    /// <exception cref="FormatException">One of them is neither.</exception>
    internal static IReadOnlyList<Rung> Select(string list)
    {
        string[] wanted = list.Split(',');
        if (Array.Find(wanted, name => !All.Any(rung => rung.IsCalled(name))) is { } unknown)
        {
            throw new FormatException($"--stages: {unknown} is none of 1 to 7, {string.Join(", ", All.Where(rung => rung.Name.Length > 1).Select(rung => rung.Name))}");
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
