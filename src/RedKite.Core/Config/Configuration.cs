using System.Collections.Concurrent;
using RedKite.Protocol;

namespace RedKite.Server.Config;

/// <summary>A command's new name from the file; an empty name removes the command.</summary>
internal sealed record RenamedCommand(string Name, string NewName, string Where);

/// <summary>A user from the file: its name and rules.</summary>
internal sealed record DeclaredUser(string Name, IReadOnlyList<string> Rules, string Where);

/// <summary>
/// The engine behind CONFIG GET, SET and REWRITE for one server, and the target of its configuration file. It makes all
/// changes to <see cref="Settings"/>, under one lock: the next CONFIG command sees a change of several settings completely
/// or not at all. Change handlers run under that lock too, so they must not wait for a thread that may be in a CONFIG
/// command. Readers of the typed properties take no lock.
/// </summary>
internal sealed class Configuration(Settings settings)
{
    private readonly Lock _changing = new();
    private readonly Dictionary<Setting, Func<string?>> _handlers = [];
    private readonly ConcurrentDictionary<Setting, long> _changedMs = [];
    private readonly Dictionary<Setting, string> _lines = []; // where a setting got its value, and the line without secrets

    internal Settings Settings { get; } = settings;

    /// <summary>The absolute path of the file that the server was started with; null: none.</summary>
    internal string? FilePath { get; private set; }

    /// <summary>In the file's order. The server applies them to its command table when it starts.</summary>
    internal List<RenamedCommand> RenamedCommands { get; } = [];

    /// <summary>In the file's order. The server creates them when it starts.</summary>
    internal List<DeclaredUser> DeclaredUsers { get; } = [];

    /// <summary>Called with a warning about a setting without effect.</summary>
    internal event Action<string>? Warned;

    /// <summary>The server is started with a file.</summary>
    internal void StartWith(string path) => FilePath = Path.GetFullPath(path);

    /// <summary>
    /// Registers a handler for changes of a setting by CONFIG SET. It runs once, after all settings of the command have
    /// their new values, and only if the value differs or the setting is reapplied. It returns null or an error text, with which the whole command
    /// fails: the old values are restored and the handlers run again for them.
    /// </summary>
    internal void OnChange(string name, Func<string?> apply) => _handlers.Add(Row(name), apply);

    /// <summary>
    /// Returns the settings that match any of the patterns, each name once. A pattern without wildcards is a name and is
    /// returned as it was written; wildcards match names and aliases in the table's order, without hidden settings.
    /// </summary>
    /// <param name="patterns">The patterns.</param>
    /// <param name="budget">The steps that they may take; the list is not complete if they are used up.</param>
    internal List<KeyValuePair<string, string>> Get(IEnumerable<string> patterns, GlobBudget? budget = null)
    {
        budget ??= new GlobBudget();
        List<KeyValuePair<string, string>> found = [];
        HashSet<string> names = new(StringComparer.OrdinalIgnoreCase);
        lock (_changing)
        {
            foreach (string pattern in patterns)
            {
                byte[] bytes = SettingText.ToBytes(pattern);
                if (GlobPattern.IsLiteral(bytes))
                {
                    Add(SettingTable.Find(pattern), pattern);
                    continue;
                }

                foreach (Setting row in SettingTable.Rows)
                {
                    if (row.Has(SettingFlags.Hidden)) continue;
                    if (budget.IsUsedUp) return found;
                    if (Matches(bytes, row.Name)) Add(row, row.Name);
                    if (row.Alias is not null && Matches(bytes, row.Alias)) Add(row, row.Alias);
                }
            }
        }

        return found;

        bool Matches(byte[] pattern, string name) => budget.IsMatch(pattern, SettingText.ToBytes(name), ignoreCase: true);

        void Add(Setting? row, string name)
        {
            if (row is not null && names.Add(name)) found.Add(new(name, row.Read(Settings)));
        }
    }

    /// <summary>Returns the canonical text of one setting, by name or alias.</summary>
    internal string Get(string name)
    {
        lock (_changing)
        {
            return Row(name).Read(Settings);
        }
    }

    /// <summary>
    /// Changes all settings or, on an error, none. Returns null or Redis's error text without the leading "ERR ". Names
    /// may be in any case, and none may come twice.
    /// </summary>
    /// <param name="pairs">Names and values as received, in setting text.</param>
    /// <param name="callerIsLocal">The client is on this machine, for enable-protected-configs local.</param>
    internal string? Set(IReadOnlyList<KeyValuePair<string, string>> pairs, bool callerIsLocal = false)
    {
        lock (_changing)
        {
            Setting[] rows = new Setting[pairs.Count];
            for (int i = 0; i < rows.Length; i++)
            {
                string name = pairs[i].Key;
                if (SettingTable.Find(name) is not { } row) return $"Unknown option or number of arguments for CONFIG SET - '{SettingText.UpToZero(name)}'";
                if (row.Has(SettingFlags.Immutable)) return Failed(name, "can't set immutable config");
                if (row.Has(SettingFlags.Protected) && !AllowsProtected(callerIsLocal)) return Failed(name, "can't set protected config");

                // As in Redis, a setting and its alias in one command are two names: the later one wins.
                for (int before = 0; before < i; before++)
                {
                    if (pairs[before].Key.Equals(name, StringComparison.OrdinalIgnoreCase)) return Failed(name, "duplicate parameter");
                }

                rows[i] = row;
            }

            return SetAll(rows, pairs);
        }
    }

    /// <summary>Notes when CONFIG SET changed a setting.</summary>
    internal void NoteChange(string name, long unixMs) => _changedMs[Row(name)] = unixMs;

    /// <summary>When CONFIG SET last changed a setting, in Unix milliseconds; 0: not since the start.</summary>
    internal long ChangedMs(Setting row) => _changedMs.GetValueOrDefault(row);

    /// <summary>CONFIG REWRITE. Returns null or the error text without the leading "ERR ".</summary>
    /// <param name="userLines">The lines that declare the users; null: they are in a file of their own.</param>
    internal string? Rewrite(IReadOnlyList<string>? userLines = null)
    {
        lock (_changing)
        {
            return FilePath is null
                ? "The server is running without a config file"
                : ConfigRewriter.Rewrite(FilePath, Settings, userLines);
        }
    }

    /// <summary>
    /// Sets one value before the server starts: immutable settings too, and no handler runs. Returns null or the error
    /// text.
    /// </summary>
    /// <param name="accumulated">The settings that earlier lines have set.</param>
    /// <param name="line">The line and where it is, for messages.</param>
    internal string? Load(Setting row, IReadOnlyList<string> words, HashSet<Setting> accumulated, string line)
    {
        lock (_changing)
        {
            bool startsAnew = row.Has(SettingFlags.Accumulates) && accumulated.Add(row);
            string? error = Parse(row, [.. words], startsAnew ? "" : row.Read(Settings), out string canonical);
            if (error is not null) return error;
            row.Write(Settings, canonical);
            _lines[row] = line;
            return null;
        }
    }

    /// <summary>
    /// Checks the settings that the server starts with: a value that RedKite refuses prevents the start, and each setting that has
    /// no effect here but a value other than its default is logged as a warning.
    /// </summary>
    /// <exception cref="RedKiteConfigException">Values are refused; the message has a line for each that says which and why.</exception>
    internal void CheckAtStart()
    {
        lock (_changing)
        {
            List<string> faults = [.. SettingTable.Rows.Where(row => row.Refusal?.Applies(Settings) == true).Select(row => $"{LineOf(row)}: {row.Refusal!.Reason}")];
            if (faults.Count > 0) throw new RedKiteConfigException(faults);
            foreach (Setting row in SettingTable.Rows)
            {
                if (HasNoEffect(row)) WarnOf(row, LineOf(row));
            }
        }
    }

    private string? SetAll(Setting[] rows, IReadOnlyList<KeyValuePair<string, string>> pairs)
    {
        // Everything is parsed before anything is written: readers of the properties never see a refused change.
        string[] newTexts = new string[rows.Length];
        for (int i = 0; i < rows.Length; i++)
        {
            string current = rows[i].Has(SettingFlags.Accumulates) ? "" : rows[i].Read(Settings);
            if (Parse(rows[i], [pairs[i].Value], current, out newTexts[i]) is { } error) return Failed(NameOf(pairs[i]), error);
        }

        string[] oldTexts = Array.ConvertAll(rows, row => row.Read(Settings));
        WriteAll(rows, newTexts);
        for (int i = 0; i < rows.Length; i++)
        {
            if (rows[i].Refusal is not { } refusal || !refusal.Applies(Settings)) continue;
            WriteAll(rows, oldTexts);
            return Failed(NameOf(pairs[i]), refusal.Reason);
        }

        List<Func<string?>> applied = [];
        for (int i = 0; i < rows.Length; i++)
        {
            if (rows[i].Read(Settings) == oldTexts[i] && !rows[i].Has(SettingFlags.Reapplied)) continue;
            if (!_handlers.TryGetValue(rows[i], out Func<string?>? apply) || applied.Contains(apply)) continue;

            applied.Add(apply);
            if (apply() is not { } error) continue;
            WriteAll(rows, oldTexts);
            applied.ForEach(handler => handler());
            return Failed(NameOf(pairs[i]), error);
        }

        for (int i = 0; i < rows.Length; i++)
        {
            _lines.Remove(rows[i]);
            if (rows[i].Read(Settings) != oldTexts[i] && HasNoEffect(rows[i])) WarnOf(rows[i], "CONFIG SET " + LineOf(rows[i]));
        }

        return null;
    }

    private bool HasNoEffect(Setting row) => row.NoEffect is not null && row.Read(Settings) != row.DefaultText;

    private void WarnOf(Setting row, string line) => Warned?.Invoke($"{line}: no effect: {row.NoEffect}");

    /// <summary>Whether a line of the file or an argument has set a setting.</summary>
    internal bool IsGiven(string name) => _lines.ContainsKey(Row(name));

    // The line that set the value, or one that would. It contains no secret.
    private string LineOf(Setting row)
    {
        if (_lines.TryGetValue(row, out string? line)) return line;
        return row.Has(SettingFlags.Sensitive) ? row.Name : $"{row.Name} {ConfigLine.Show(row.Read(Settings))}";
    }

    // Redis reports a bad value under the name or alias in lower case, and a bad name as received.
    private static string NameOf(KeyValuePair<string, string> pair) => pair.Key.ToLowerInvariant();

    private void WriteAll(Setting[] rows, string[] texts)
    {
        for (int i = 0; i < rows.Length; i++)
        {
            rows[i].Write(Settings, texts[i]);
        }
    }

    private static string? Parse(Setting row, string[] words, string current, out string canonical)
    {
        if (row.Has(SettingFlags.MultipleArguments))
        {
            // A single word with spaces, from quotes or from CONFIG SET, is a list. Two spaces in a row make an empty word.
            if (words.Length == 1) words = words[0].Length == 0 ? [] : words[0].Split(' ');
        }
        else if (words.Length != 1)
        {
            canonical = "";
            return "wrong number of arguments";
        }

        return row.Parse(words, current, out canonical);
    }

    private bool AllowsProtected(bool callerIsLocal) =>
        Settings.EnableProtectedConfigs == ProtectedAccess.Yes
        || (Settings.EnableProtectedConfigs == ProtectedAccess.Local && callerIsLocal);

    private static Setting Row(string name) =>
        SettingTable.Find(name) ?? throw new ArgumentException($"no setting is called '{name}'", nameof(name));

    private static string Failed(string name, string error) =>
        $"CONFIG SET failed (possibly related to argument '{name}') - {error}";
}
