using System.Globalization;
using System.Text;
using RedKite.Bench;
using RedKite.Persistence.Files;

namespace RedKite.Host.Transfer;

/// <summary>
/// How far an import is, in a file that a later run continues from: lines of a name and a value. It is removed when the import is complete.
/// <code>
/// redkite-import 1, from, to, run (the source's run id), database and cursor (where SCAN goes on), keys (copied so far), scratch
/// </code>
/// A cursor is valid while the source's process runs: another run id means that its database is read from its beginning again.
/// </summary>
internal sealed class ImportState
{
    /// <summary>The cursor of a database that is complete.</summary>
    internal const string Done = "done";

    private const string Magic = "redkite-import";
    private const string FormatVersion = "1";
    private const int FileBytesMax = 64 * 1024;

    private ImportState(string path) => Path = path;

    internal string Path { get; }

    internal required string From { get; init; }

    internal required string To { get; init; }

    internal required string RunId { get; init; }

    /// <summary>The database that is being read; those before it are complete. -1: none has begun.</summary>
    internal int Database { get; set; } = -1;

    internal string Cursor { get; set; } = "0";

    internal long Keys { get; set; }

    /// <summary>The key under which values are composed in the target; what an interrupted import has left of it is deleted.</summary>
    internal required string Scratch { get; init; }

    /// <summary>The state in the file, if it is one of this import; otherwise that of its beginning.</summary>
    /// <exception cref="TransferException">The file belongs to something else.</exception>
    internal static ImportState Open(string path, ServerAddress from, ServerAddress to, string runId)
    {
        Dictionary<string, string> fields = Read(path);
        var state = new ImportState(path)
        {
            From = Named(from),
            To = to.ToString(),
            RunId = runId,
            Scratch = fields.GetValueOrDefault("scratch", "redkite:import:" + Guid.NewGuid().ToString("N")),
        };
        if (fields.Count == 0) return state;
        if (fields.GetValueOrDefault(Magic) != FormatVersion) throw new TransferException($"{path} is not the state of an import; --state names another file");
        if (fields.GetValueOrDefault("from") != state.From || fields.GetValueOrDefault("to") != state.To)
        {
            throw new TransferException($"{path} is the state of another import, from {fields.GetValueOrDefault("from")} to {fields.GetValueOrDefault("to")}; delete it, or name another file with --state");
        }

        if (!int.TryParse(fields.GetValueOrDefault("database"), CultureInfo.InvariantCulture, out int database) || !long.TryParse(fields.GetValueOrDefault("keys"), CultureInfo.InvariantCulture, out long keys))
        {
            throw new TransferException($"{path} is damaged; delete it to begin again");
        }

        (state.Database, state.Keys) = (database, keys);
        if (fields.GetValueOrDefault("run") == runId || fields.GetValueOrDefault("cursor") == Done) state.Cursor = fields.GetValueOrDefault("cursor", "0");
        return state;
    }

    /// <summary>Writes the file, so that it is always a whole one.</summary>
    internal void Save()
    {
        string text = string.Create(CultureInfo.InvariantCulture, $"{Magic} {FormatVersion}\nfrom {From}\nto {To}\nrun {RunId}\ndatabase {Database}\ncursor {Cursor}\nkeys {Keys}\nscratch {Scratch}\n");
        string folder = System.IO.Path.GetDirectoryName(System.IO.Path.GetFullPath(Path))!;
        string name = System.IO.Path.GetFileName(Path);
        using var file = new FileReplacement(DiskFiles.Instance, folder, "temp-" + name, syncsWhileGrowing: false);
        file.Append(Encoding.UTF8.GetBytes(text));
        file.Commit(name);
    }

    internal void Delete() => DiskFiles.Instance.Delete(Path);

    private static string Named(ServerAddress address) =>
        address.Database < 0 ? address.ToString() : string.Create(CultureInfo.InvariantCulture, $"{address}/{address.Database}");

    private static Dictionary<string, string> Read(string path)
    {
        var fields = new Dictionary<string, string>(StringComparer.Ordinal);
        if (!DiskFiles.Instance.FileExists(path)) return fields;
        using IOpenFile file = DiskFiles.Instance.OpenRead(path);
        var bytes = new byte[Math.Min(file.Length, FileBytesMax)];
        foreach (string line in Encoding.UTF8.GetString(bytes, 0, file.Read(0, bytes)).Split('\n', StringSplitOptions.RemoveEmptyEntries))
        {
            string[] words = line.Split(' ', 2);
            fields[words[0]] = words.Length > 1 ? words[1] : "";
        }

        return fields;
    }
}
