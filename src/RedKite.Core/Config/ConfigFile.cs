using System.IO.Enumeration;
using RedKite.Persistence.Files;
using RedKite.Protocol;

namespace RedKite.Server.Config;

/// <summary>
/// Reads redis.conf syntax into a <see cref="Configuration"/>: the file, then standard input, then the program's
/// arguments. The last line of a directive wins. Every fault is collected; they are thrown together at the end.
/// </summary>
/// <remarks>
/// A line is blank, a comment ('#' first), or a directive and its words. "include" is replaced by the files it names. Its
/// path is relative to the process's directory and may have wildcards, which may match nothing.
/// </remarks>
internal sealed class ConfigFile
{
    private const int IncludeDepthMax = 16;

    private readonly Configuration _configuration;
    private readonly HashSet<Setting> _accumulated = [];
    private readonly List<string> _faults = [];
    private int _includeDepth;

    private ConfigFile(Configuration configuration) => _configuration = configuration;

    /// <summary>Reads everything that the command line names. <see cref="Configuration.CheckAtStart"/> is next.</summary>
    /// <exception cref="RedKiteConfigException">Lines are wrong, or a file cannot be read. All other lines have taken effect.</exception>
    internal static void Load(Configuration configuration, CommandLine commandLine, Stream standardInput)
    {
        ConfigFile reader = new(configuration);
        if (commandLine.FilePath is { } path)
        {
            configuration.StartWith(path);
            reader.ReadFile(path, path);
        }

        if (commandLine.ReadsStandardInput)
        {
            using MemoryStream copy = new();
            standardInput.CopyTo(copy);
            reader.ReadLines("standard input", SplitLines(copy.ToArray()));
        }

        foreach (string line in commandLine.Lines)
        {
            reader.ReadLine(line, commandLine.Source);
        }

        if (reader._faults.Count > 0) throw new RedKiteConfigException(reader._faults);
    }

    /// <summary>Splits a file's bytes into lines of setting text, without line ends.</summary>
    internal static string[] SplitLines(byte[] bytes)
    {
        string text = SettingText.FromBytes(bytes);
        if (text.EndsWith('\n')) text = text[..^1];
        return text.Length == 0 ? [] : text.Split('\n');
    }

    private void ReadFile(string path, string where)
    {
        byte[] bytes;
        try
        {
            bytes = File.ReadAllBytes(path);
        }
        catch (Exception exception) when (exception is IOException or UnauthorizedAccessException or ArgumentException)
        {
            string prefix = where == path ? "" : where + ": ";
            string reason = exception is FileNotFoundException or DirectoryNotFoundException
                ? "no such file"
                : FileFailure.ReasonOf(exception);
            _faults.Add($"{prefix}can't open the configuration file {ConfigLine.Show(SettingText.FromNative(path))}: {reason}");
            return;
        }

        ReadLines(path, SplitLines(bytes));
    }

    private void ReadLines(string source, string[] lines)
    {
        for (int i = 0; i < lines.Length; i++)
        {
            ReadLine(lines[i], $"{source}:{i + 1}");
        }
    }

    private void ReadLine(string line, string where)
    {
        line = line.Trim(' ', '\t', '\r', '\n');
        if (line.Length == 0 || line[0] == '#') return;
        if (!ConfigLine.TrySplit(line, out List<string> words))
        {
            _faults.Add($"{where}: unbalanced quotes: a quote must be closed, and followed by a space or the line's end");
            return;
        }

        string name = words[0].ToLowerInvariant();
        words.RemoveAt(0);
        if (SettingTable.Find(name) is { } row)
        {
            LoadSetting(row, name, words, where);
        }
        else
        {
            ReadDirective(name, words, where);
        }
    }

    private void LoadSetting(Setting row, string name, List<string> words, string where)
    {
        string value = row.Has(SettingFlags.Sensitive) ? "" : string.Concat(words.Select(word => " " + ConfigLine.Show(word)));
        string line = $"{where}: {name}{value}";
        if (_configuration.Load(row, words, _accumulated, line) is not { } error) return;

        bool counted = row.Has(SettingFlags.MultipleArguments) || words.Count == 1;
        string allowed = row.Expected is null ? error : $"expected {row.Expected}";
        _faults.Add($"{line}: {(counted ? allowed : "expected one value")}");
    }

    // The directives that are not settings: CONFIG GET does not know them.
    private void ReadDirective(string name, List<string> words, string where)
    {
        switch (name)
        {
            case "include":
                if (Expect(words.Count == 1, name, where, "one path")) Include(SettingText.ToNative(words[0]), where);
                break;
            case "rename-command":
                if (Expect(words.Count == 2, name, where, "a command and its new name (\"\" removes the command)")) _configuration.RenamedCommands.Add(new RenamedCommand(words[0], words[1], where));
                break;
            case "user":
                if (Expect(words.Count >= 1, name, where, "a name and its rules")) _configuration.DeclaredUsers.Add(new DeclaredUser(words[0], words[1..], where));
                break;
            case "loadmodule" or "loadmodule-ex":
                _faults.Add($"{where}: {name}: modules are not supported");
                break;

            // Obsolete directives that Redis accepts and ignores.
            case "list-max-ziplist-entries" or "list-max-ziplist-value" or "lua-replicate-commands" or "io-threads-do-reads":
                Expect(words.Count == 1, name, where, "one value");
                break;
            default:
                string near = SettingNames.Nearest(name) is { } nearest ? $"; did you mean {nearest}?" : "";
                _faults.Add($"{where}: {ConfigLine.Show(name)[1..^1]}: unknown directive{near}");
                break;
        }
    }

    private bool Expect(bool condition, string name, string where, string allowed)
    {
        if (!condition) _faults.Add($"{where}: {name}: expected {allowed}");
        return condition;
    }

    private void Include(string path, string where)
    {
        if (_includeDepth == IncludeDepthMax)
        {
            _faults.Add($"{where}: include {ConfigLine.Show(SettingText.FromNative(path))}: files include each other more than {IncludeDepthMax} deep");
            return;
        }

        _includeDepth++;
        foreach (string file in path.IndexOfAny(['*', '?', '[']) < 0 ? [path] : ExpandWildcards(path))
        {
            ReadFile(file, where);
        }

        _includeDepth--;
    }

    // One path component after the other, because directories may have wildcards too. Sorted by bytes, as glob(3) does.
    private static List<string> ExpandWildcards(string path)
    {
        string root = Path.GetPathRoot(path) ?? "";
        List<string> found = [root];
        string[] components = path[root.Length..].Split(Path.DirectorySeparatorChar, StringSplitOptions.RemoveEmptyEntries);
        for (int i = 0; i < components.Length; i++)
        {
            string component = components[i];
            bool isLast = i == components.Length - 1;
            found = component.IndexOfAny(['*', '?', '[']) < 0
                ? [.. found.Select(directory => Path.Combine(directory, component)).Where(isLast ? File.Exists : Directory.Exists)]
                : [.. found.SelectMany(directory => Matching(directory, component, isLast))];
        }

        found.Sort(StringComparer.Ordinal);
        return found;
    }

    private static List<string> Matching(string directory, string pattern, bool files)
    {
        byte[] bytes = SettingText.ToBytes(SettingText.FromNative(pattern));
        FileSystemEnumerable<string> entries = new(
            directory.Length == 0 ? "." : directory,
            (ref FileSystemEntry entry) => entry.FileName.ToString())
        {
            ShouldIncludePredicate = (ref FileSystemEntry entry) => entry.IsDirectory != files,
        };

        // As in a shell, a wildcard does not match a leading dot.
        return
        [
            .. entries
                .Where(name => name[0] != '.' || pattern[0] == '.')
                .Where(name => GlobPattern.IsMatch(bytes, SettingText.ToBytes(SettingText.FromNative(name))))
                .Select(name => Path.Combine(directory, name)),
        ];
    }
}
