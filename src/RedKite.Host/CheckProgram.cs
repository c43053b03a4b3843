using System.Globalization;
using RedKite.Persistence.Aof;
using RedKite.Persistence.Check;
using RedKite.Persistence.Files;
using RedKite.Persistence.Rdb;
using static RedKite.Server.Logging.QuantityText;

namespace RedKite.Host;

/// <summary>
/// <c>redkite check</c>: verifies an RDB file, an append-only file or its folder, says what it holds, and cuts a broken tail. Exit status
/// 0: everything is whole, or is so now. 1: something is damaged or cannot be read. 2: wrong arguments.
/// </summary>
internal sealed class CheckProgram
{
    private const int Whole = 0;
    private const int Damaged = 1;
    private const int WrongArguments = 2;

    private const string Usage = """
        Usage: redkite check FILE|FOLDER [option ...]

        FILE is an RDB file, an append-only file or its manifest; FOLDER the folder of an append-only file, or of a server's data.
          --fix            cuts the broken tail of the last append-only file, after asking
          --yes            answers yes
          --until SECONDS  cuts what was written after this time (seconds since 1970), after asking;
                           the file needs annotations (aof-timestamp-enabled)
          --skip-modules   passes over the data of modules
        Exit status: 0 whole, 1 damaged, 2 wrong arguments.
        """;

    private static readonly DiskFiles Files = DiskFiles.Instance;

    private readonly TextReader _input;
    private readonly TextWriter _output;
    private readonly TextWriter _errors;
    private string _path = "";
    private bool _fixes;
    private bool _answersYes;
    private long _untilSeconds;
    private RdbReadOptions _options = new();

    private CheckProgram(TextReader input, TextWriter output, TextWriter errors) => (_input, _output, _errors) = (input, output, errors);

    internal static int Run(string[] arguments, TextReader input, TextWriter output, TextWriter errors)
    {
        if (arguments is ["--help"] or ["-h"])
        {
            output.WriteLine(Usage);
            return Whole;
        }

        var program = new CheckProgram(input, output, errors);
        try
        {
            program.Parse(arguments);
            return program.Check();
        }
        catch (FormatException failure)
        {
            errors.WriteLine("redkite check: " + failure.Message);
            return WrongArguments;
        }
        catch (Exception failure) when (failure is FileFailure or RdbFileException or AofException)
        {
            errors.WriteLine("redkite check: " + failure.Message);
            return Damaged;
        }
    }

    private static long NowMs => DateTimeOffset.UtcNow.ToUnixTimeMilliseconds();

    private void Parse(string[] arguments)
    {
        for (int i = 0; i < arguments.Length; i++)
        {
            switch (arguments[i])
            {
                case "--fix":
                    _fixes = true;
                    break;
                case "--yes":
                    _answersYes = true;
                    break;
                case "--skip-modules":
                    _options = _options with { SkipsModules = true };
                    break;
                case "--until":
                    if (++i == arguments.Length || !long.TryParse(arguments[i], NumberStyles.None, CultureInfo.InvariantCulture, out _untilSeconds) || _untilSeconds == 0) throw new FormatException("--until needs a time in seconds since 1970");
                    break;
                case { } option when option.StartsWith('-'):
                    throw new FormatException($"unknown option '{option}'; see --help");
                default:
                    if (_path.Length > 0) throw new FormatException("only one FILE or FOLDER");
                    _path = arguments[i];
                    break;
            }
        }

        if (_path.Length == 0) throw new FormatException("FILE or FOLDER is required; see --help");
    }

    private int Check()
    {
        if (Files.FolderExists(_path)) return CheckFolder();
        return _path.EndsWith(".manifest", StringComparison.Ordinal) ? CheckManifest(_path) : CheckFile();
    }

    private int CheckFile()
    {
        using IOpenFile file = Files.OpenRead(_path);
        if (file.Length == 0) return CheckEmpty(_path);
        if (!AofReader.BeginsWithRdb(file)) return CheckLog(_path, isLast: true);
        RdbSummary summary = RdbSummary.Of(file, _options, NowMs);
        if (summary.End < file.Length) return CheckLog(_path, isLast: true);
        Write(_path, summary);
        return Whole;
    }

    private static bool IsEmpty(string path)
    {
        using IOpenFile file = Files.OpenRead(path);
        return file.Length == 0;
    }

    // An append-only file without commands is empty; an RDB file never is.
    private int CheckEmpty(string path)
    {
        bool isLog = Path.GetFileName(path).Contains(".aof", StringComparison.Ordinal) && !path.EndsWith(".rdb", StringComparison.Ordinal);
        _output.WriteLine(isLog ? $"{path} is empty: an append-only file without commands" : $"{path}: damaged: it is empty, and an RDB file has at least a header and an end");
        return isLog ? Whole : Damaged;
    }

    private int CheckFolder()
    {
        string[] manifests = [.. Files.List(_path).Where(name => name.EndsWith(".manifest", StringComparison.Ordinal) && !name.StartsWith("temp-", StringComparison.Ordinal))];
        if (manifests.Length == 0) return CheckDataFolder();
        if (manifests.Length > 1) throw new FormatException($"{_path} has several manifests; name one of them");
        return CheckManifest(Path.Combine(_path, manifests[0]));
    }

    // What servers write there: dump.rdb or another name, and the folder of the append-only file.
    private int CheckDataFolder()
    {
        string[] dumps = [.. Files.List(_path).Where(static name => name.EndsWith(".rdb", StringComparison.Ordinal)).Select(name => Path.Combine(_path, name))];
        string[] logs = [.. Directory.GetDirectories(_path).Order(StringComparer.Ordinal)
            .SelectMany(static folder => Files.List(folder).Where(static name => name.EndsWith(".manifest", StringComparison.Ordinal) && !name.StartsWith("temp-", StringComparison.Ordinal)).Select(name => Path.Combine(folder, name)))];
        if (dumps.Length + logs.Length == 0) throw new FormatException($"{_path} has neither an RDB file nor an append-only file");
        if (_untilSeconds > 0 && logs.Length != 1) throw new FormatException($"--until needs one append-only file, and {_path} has {(logs.Length == 0 ? "none" : "several")}");
        if (dumps.Length > 0 && logs.Length > 0) _output.WriteLine($"{_path}: a server with `appendonly yes` loads the append-only file, another one the RDB file");
        int worst = Whole;
        foreach (string dump in dumps)
        {
            _path = dump;
            worst = Math.Max(worst, Attempt(dump, () => CheckFile()));
        }

        foreach (string log in logs) worst = Math.Max(worst, Attempt(log, () => CheckManifest(log)));
        return worst;

        // One damaged file does not hide the others.
        int Attempt(string path, Func<int> check)
        {
            try
            {
                return check();
            }
            catch (Exception failure) when (failure is FileFailure or RdbFileException or AofException)
            {
                _errors.WriteLine($"redkite check: {(failure.Message.Contains(path, StringComparison.Ordinal) ? "" : path + ": ")}{failure.Message}");
                return Damaged;
            }
        }
    }

    private int CheckManifest(string path)
    {
        AofManifest manifest = AofFolder.ReadManifest(Files, path);
        string folder = Path.GetDirectoryName(path) ?? "";
        _output.WriteLine(string.Create(CultureInfo.InvariantCulture, $"{path}: {(manifest.Base is null ? "no base" : "a base")}, {Times(manifest.Increments.Length, "increment")}, {manifest.History.Length} to be deleted"));
        AofFile[] all = [.. manifest.Files];
        for (int i = 0; i < all.Length; i++)
        {
            string name = Path.Combine(folder, all[i].Name);
            int status = all[i] == manifest.Base && IsEmpty(name) ? CheckEmpty(name) : CheckLog(name, isLast: i == all.Length - 1);
            if (status != Whole) return status;
        }

        return Whole;
    }

    private int CheckLog(string path, bool isLast)
    {
        AofSummary summary;
        using (IOpenFile file = Files.OpenRead(path)) summary = AofSummary.Of(file, _options, NowMs, _untilSeconds);
        if (summary.Rdb is not null) Write(path, summary.Rdb);
        string times = summary.FirstTimestamp == 0 ? "" : $", written from {Time(summary.FirstTimestamp)} to {Time(summary.LastTimestamp)}";
        _output.WriteLine(string.Create(CultureInfo.InvariantCulture, $"{path}: {Times(summary.Commands, "command")}, {Times(summary.FileBytes, "byte")}{times}"));
        if (_untilSeconds > 0 && isLast && summary.FirstTimestamp == 0 && summary.Commands > 0)
        {
            _errors.WriteLine($"redkite check: {path} has no annotations of times, so --until cannot cut it (aof-timestamp-enabled yes writes them from then on)");
            return Damaged;
        }

        if (summary.UntilOffset >= 0) return CutUntil(path, summary, isLast);
        if (summary.Damage is null) return Whole;
        _output.WriteLine(string.Create(CultureInfo.InvariantCulture, $"{path}: damaged: {summary.Damage}; whole up to byte {summary.UnitEnd}"));
        if (!isLast)
        {
            _errors.WriteLine("redkite check: only the last file can be cut; the files after this one would not fit");
            return Damaged;
        }

        if (!_fixes)
        {
            _errors.WriteLine("redkite check: --fix cuts the broken tail");
            return Damaged;
        }

        return Cut(path, summary.UnitEnd, summary.FileBytes);
    }

    private int CutUntil(string path, AofSummary summary, bool isLast)
    {
        if (!isLast || summary.UntilOffset == 0)
        {
            _errors.WriteLine(isLast
                ? $"redkite check: {path} has nothing before that time"
                : $"redkite check: that time is in {path}, which is not the last file; remove the later ones from the manifest first");
            return Damaged;
        }

        return Cut(path, summary.UntilOffset, summary.FileBytes);
    }

    private int Cut(string path, long length, long fileBytes)
    {
        _output.Write(string.Create(CultureInfo.InvariantCulture, $"{path} will be cut from {Times(fileBytes, "byte")} by {fileBytes - length} to {length}. Continue? [y/N] "));
        if (_answersYes) _output.WriteLine("y");
        else if (_input.ReadLine()?.Trim() is not ("y" or "Y" or "yes")) return Damaged;
        using IOpenFile file = Files.OpenWrite(path);
        file.SetLength(length);
        file.SyncData();
        _output.WriteLine($"{path}: cut");
        return Whole;
    }

    private void Write(string path, RdbSummary summary)
    {
        _output.WriteLine(string.Create(CultureInfo.InvariantCulture, $"{path}: RDB version {summary.Version} of {summary.Family}, {Times(summary.End, "byte")}, {(summary.IsSumChecked ? "checksum correct" : "no checksum")}, {Times(summary.Functions, "function library")}"));
        foreach ((string name, string value) in summary.Fields) _output.WriteLine($"  {name}: {value}");
        foreach ((int number, DatabaseSummary database) in summary.Databases)
        {
            _output.WriteLine(string.Create(CultureInfo.InvariantCulture, $"  database {number}: {Times(database.Keys, "key")}, {database.Expiring} with an expiry, {database.Expired} of them expired"));
            foreach ((string type, TypeSummary sum) in database.Types) _output.WriteLine(string.Create(CultureInfo.InvariantCulture, $"    {type}: {Times(sum.Keys, "key")}, {Times(sum.Bytes, "byte")}"));
        }

        foreach (string corrected in summary.Corrected) _output.WriteLine("  " + corrected);
        if (summary.EmptyKeys > 0) _output.WriteLine(string.Create(CultureInfo.InvariantCulture, $"  {Times(summary.EmptyKeys, "key")} without elements, which {(summary.EmptyKeys == 1 ? "is" : "are")} not loaded"));
        foreach ((string module, long count) in summary.SkippedModules) _output.WriteLine(string.Create(CultureInfo.InvariantCulture, $"  module '{module}': {count} passed over"));
        if (summary.Largest.Any()) _output.WriteLine("  largest:");
        foreach (CheckedKey key in summary.Largest) _output.WriteLine(string.Create(CultureInfo.InvariantCulture, $"    {Times(key.Bytes, "byte")}: {key.Type} {key.Name} in database {key.Database}"));
    }

    private static string Time(long seconds) => DateTimeOffset.FromUnixTimeSeconds(Math.Clamp(seconds, 0, 253_402_300_799)).ToString("yyyy-MM-dd HH:mm:ss'Z'", CultureInfo.InvariantCulture);
}
