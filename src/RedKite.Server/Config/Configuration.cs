using RedKite.Protocol;

namespace RedKite.Server.Config;

/// <summary>A command's new name from the file; an empty name removes the command.</summary>
internal sealed record RenamedCommand(string Name, string NewName, string Where);

/// <summary>A "user" line of the file: its words after the directive's name, for the access control list.</summary>
internal sealed record UserDirective(IReadOnlyList<string> Words, string Where);

/// <summary>
/// The engine behind CONFIG GET, SET and REWRITE for one server, and the target of its configuration file. It owns
/// the changes of <see cref="Settings"/>: they are made under one lock, so that a change of several settings is
/// complete or absent for the next CONFIG command, and each change handler runs under it too (a handler must not wait
/// for another thread that may be in a CONFIG command). Readers of the typed properties take no lock.
/// </summary>
internal sealed class Configuration(Settings settings)
{
    private readonly Lock _changing = new();
    private readonly Dictionary<Setting, Func<string?>> _handlers = [];

    internal Settings Settings { get; } = settings;

    /// <summary>The absolute path of the file that the server was started with; null: none.</summary>
    internal string? FilePath { get; set; }

    /// <summary>In the order of the file. The server applies them to its command table when it starts.</summary>
    internal List<RenamedCommand> RenamedCommands { get; } = [];

    /// <summary>In the order of the file. The server gives them to its access control list when it starts.</summary>
    internal List<UserDirective> Users { get; } = [];

    /// <summary>What CONFIG REWRITE writes as "user" lines: the access control list's, without the word "user".</summary>
    internal Func<IEnumerable<string>>? DescribeUsers { get; set; }

    /// <summary>
    /// Registers what must happen when CONFIG SET has changed a setting. The handler runs after all settings of the
    /// command have their new values, once, and only if the value differs; it returns null, or the error text with
    /// which the whole command fails. Then the old values are back and the handlers run again for them.
    /// </summary>
    internal void OnChange(string name, Func<string?> apply) => _handlers.Add(Row(name), apply);

    /// <summary>
    /// The settings that match any of the patterns, each name once. A pattern without wildcards is a name, and is
    /// answered as it was given; wildcards match names and aliases in the table's order, without hidden settings.
    /// </summary>
    internal List<KeyValuePair<string, string>> Get(IEnumerable<string> patterns)
    {
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
                    if (Matches(bytes, row.Name)) Add(row, row.Name);
                    if (row.Alias is not null && Matches(bytes, row.Alias)) Add(row, row.Alias);
                }
            }
        }

        return found;

        void Add(Setting? row, string name)
        {
            if (row is not null && names.Add(name)) found.Add(new(name, row.Read(Settings)));
        }
    }

    /// <summary>The canonical text of one setting, by name or alias.</summary>
    internal string Get(string name)
    {
        lock (_changing)
        {
            return Row(name).Read(Settings);
        }
    }

    /// <summary>
    /// Changes all the settings or, on an error, none. Returns null or the error text as Redis words it, without the
    /// leading "ERR ". The names' case and the number of pairs are free; no name may come twice.
    /// </summary>
    /// <param name="pairs">Names and values as they came, in setting text.</param>
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

                // A setting and its alias in one command are two names, as in Redis: the later one wins.
                if (pairs.Take(i).Any(earlier => earlier.Key.Equals(name, StringComparison.OrdinalIgnoreCase)))
                    return Failed(name, "duplicate parameter");
                rows[i] = row;
            }

            return SetAll(rows, pairs);
        }
    }

    /// <summary>CONFIG REWRITE. Returns null or the error text without the leading "ERR ".</summary>
    internal string? Rewrite()
    {
        lock (_changing)
        {
            return FilePath is null
                ? "The server is running without a config file"
                : ConfigRewriter.Rewrite(FilePath, Settings, DescribeUsers?.Invoke());
        }
    }

    /// <summary>
    /// Sets one value while the server is being configured: immutable settings too, and no handler runs. Returns null
    /// or the error text. <paramref name="accumulated"/> holds the settings that earlier lines gave.
    /// </summary>
    internal string? Load(Setting row, IReadOnlyList<string> words, HashSet<Setting> accumulated)
    {
        lock (_changing)
        {
            bool startsAnew = row.Has(SettingFlags.Accumulates) && accumulated.Add(row);
            string? error = Parse(row, [.. words], startsAnew ? "" : row.Read(Settings), out string canonical);
            if (error is null) row.Write(Settings, canonical);
            return error;
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
        List<Func<string?>> applied = [];
        for (int i = 0; i < rows.Length; i++)
        {
            if (rows[i].Read(Settings) == oldTexts[i]) continue;
            if (!_handlers.TryGetValue(rows[i], out Func<string?>? apply) || applied.Contains(apply)) continue;

            applied.Add(apply);
            if (apply() is not { } error) continue;
            WriteAll(rows, oldTexts);
            applied.ForEach(handler => handler());
            return Failed(NameOf(pairs[i]), error);
        }

        return null;
    }

    // As the table has it: a value is refused under the setting's own name (or alias), a name as it came.
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
            // One word with spaces is a list, in quotes or from CONFIG SET; two spaces in a row make an empty word.
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

    private static bool Matches(byte[] pattern, string name) =>
        GlobPattern.IsMatch(pattern, SettingText.ToBytes(name), ignoreCase: true);

    private static Setting Row(string name) =>
        SettingTable.Find(name) ?? throw new ArgumentException($"no setting is called '{name}'", nameof(name));

    private static string Failed(string name, string error) =>
        $"CONFIG SET failed (possibly related to argument '{name}') - {error}";
}
