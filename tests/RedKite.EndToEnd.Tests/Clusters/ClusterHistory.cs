using System.Diagnostics;
using System.Globalization;
using RedKite.TestSupport;

namespace RedKite.EndToEnd.Tests.Clusters;

/// <summary>The files in which clients of a cluster write down what they did, and what the checker says of them.</summary>
internal sealed class ClusterHistory : IDisposable
{
    private static readonly string Program = Path.Combine(RepositoryRoot.Path, "artifacts", "bin", "RedKite.ClusterChecker", RepositoryRoot.Configuration, "RedKite.ClusterChecker.dll");

    private readonly TemporaryFolder _folder = new();
    private readonly Dictionary<string, (long Read, int Acknowledged)> _progress = [];
    private readonly Dictionary<string, StreamWriter> _writers = [];

    /// <summary>The clock of all clients, in nanoseconds: CLOCK_MONOTONIC, which Python and Node read as well.</summary>
    internal static long Now => Stopwatch.GetTimestamp();

    /// <summary>The kinds of errors that clients have seen.</summary>
    internal SortedSet<string> Errors { get; } = new(StringComparer.Ordinal);

    internal string FileOf(string client) => _folder.File(client + ".history");

    /// <summary>Writes an operation of a client in this process. Each client has one thread.</summary>
    internal void Write(string client, string key, string kind, string value, long begin, string outcome, string node = "-", string epoch = "-", string error = "-", long end = 0) =>
        WriteLine(client, string.Create(CultureInfo.InvariantCulture, $"op\t{client}\t{key}\t{kind}\t{value}\t{begin}\t{(end == 0 ? Now : end)}\t{outcome}\t{node}\t{epoch}\t{error}"));

    internal void WriteLine(string client, string line)
    {
        StreamWriter? writer;
        lock (_writers)
        {
            if (!_writers.TryGetValue(client, out writer)) _writers[client] = writer = new StreamWriter(FileOf(client), append: true) { AutoFlush = true };
        }

        writer.WriteLine(line);
    }

    /// <summary>How many writes of a client were acknowledged so far.</summary>
    internal int Acknowledged(string client)
    {
        (long read, int acknowledged) = _progress.GetValueOrDefault(client);
        if (!File.Exists(FileOf(client))) return 0;
        using var file = new FileStream(FileOf(client), FileMode.Open, FileAccess.Read, FileShare.ReadWrite);
        file.Position = read;
        using var reader = new StreamReader(file);
        string text = reader.ReadToEnd();
        int end = text.LastIndexOf('\n') + 1;
        foreach (string line in text[..end].Split('\n'))
        {
            string[] fields = line.Split('\t');
            if (fields is ["op", _, _, "set" or "push", _, _, _, "ok", ..]) acknowledged++;
            if (fields is ["op", .., { } error] && error != "-") Errors.Add(error);
        }

        _progress[client] = (read + end, acknowledged);
        return acknowledged;
    }

    /// <summary>All keys that clients have used, when they have ended.</summary>
    internal IEnumerable<(string Key, bool IsList)> Keys() =>
        Lines().Select(static line => line.Split('\t')).Where(static fields => fields[0] == "op").Select(static fields => (fields[2], fields[3] is "push" or "range")).Distinct();

    /// <summary>Has the checker judge, which knows the files alone.</summary>
    /// <returns>What it says of a history in which nothing is wrong.</returns>
    internal async Task<string> Judge(Func<string> context)
    {
        Close();
        ChildProgram checker = await ChildProgram.Run("dotnet", [Program, .. Directory.GetFiles(_folder.Path)]);
        if (checker.ExitCode != 0) Assert.Fail($"{checker.Errors}{checker.Output}\nthe history is in {Keep()}\n{context()}");
        return checker.Lines[^1];
    }

    public void Dispose()
    {
        Close();
        _folder.Dispose();
    }

    private IEnumerable<string> Lines()
    {
        Close();
        return Directory.GetFiles(_folder.Path).SelectMany(File.ReadLines);
    }

    private void Close()
    {
        lock (_writers)
        {
            foreach (StreamWriter writer in _writers.Values) writer.Dispose();
            _writers.Clear();
        }
    }

    private string Keep()
    {
        string kept = Path.Combine(Path.GetTempPath(), "redkite-history-" + Path.GetRandomFileName());
        Directory.CreateDirectory(kept);
        foreach (string file in Directory.GetFiles(_folder.Path)) File.Copy(file, Path.Combine(kept, Path.GetFileName(file)));
        return kept;
    }
}
