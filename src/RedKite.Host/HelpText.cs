using System.Text;
using System.Text.RegularExpressions;
using RedKite.Server.Config;

namespace RedKite.Host;

/// <summary>What <c>redkite --help</c> prints, and <c>redkite --help SETTING</c>.</summary>
internal static partial class HelpText
{
    private const int WidthMax = 100;

    internal const string Usage = """
        redkite - a Redis-compatible server

        USAGE
          redkite [FILE | -] [--SETTING VALUE ...]     run the server
          redkite COMMAND [ARGUMENT ...]               run one of the programs below
          redkite --help [SETTING | settings]          this text, a setting, or all settings by purpose
          redkite --version

          FILE is a redis.conf file; - reads one from standard input. Settings are redis.conf's directives; they
          take precedence over the file's. Several values follow each other: --save 3600 1 300 100.

        EXAMPLES
          redkite                                      port 6379 on this machine, dashboard on 8379
          redkite --port 7000 --maxmemory 1gb --maxmemory-policy allkeys-lru
          redkite --dir /var/lib/redkite --appendonly yes
          redkite /etc/redkite/redkite.conf --loglevel verbose

        COMMANDS
          bench                                        generates load and measures (redkite bench --help)
          doctor [ADDRESS]                             prints what a running server finds wrong with itself, with remedies
          debug-package [ADDRESS]                      writes what a running server knows about itself into one file
          analyze PACKAGE [--serve]                    says what is wrong with that server, or serves its dashboard
          check FILE|FOLDER                            verifies RDB and append-only files, and says what they hold
          export ADDRESS FILE                          writes the data of a running server into an RDB file
          import ADDRESS                               copies the data of a running server into another
          verify-replica PRIMARY REPLICA               says whether a replica has its primary's data, and which keys differ
          cluster VERB                                 makes, shows and changes a cluster with etcd (redkite cluster --help)
          controller                                   runs the controller of a cluster with etcd, without data
          service install                              writes a systemd unit for this program

        ENVIRONMENT
          REDKITE_PASSWORD    requirepass, and of a node of a cluster masterauth, where neither the file nor an argument
                              has it; no other user of the machine can read it
          NOTIFY_SOCKET       is told when the server is ready and when it stops (systemd, Type=notify)

        SIGNALS
          SIGTERM, SIGINT     stop the server; with save points it saves first (shutdown-on-sigterm, shutdown-on-sigint)

        EXIT STATUS
          0  the server was stopped
          1  the configuration or an address cannot be used, or a data file is damaged; standard error has a line
             for each fault

        SETTINGS
        """;

    private static readonly string[] Commands = ["bench", "doctor", "debug-package", "analyze", "check", "export", "import", "verify-replica", "cluster", "controller", "service"];

    /// <summary>What to say of a first argument that is neither a command nor a configuration file; null: it may be a file.</summary>
    internal static string? UnknownWord(string argument)
    {
        if (File.Exists(argument) || argument.Any(static character => character is '/' or '\\' or '.')) return null;
        string meant = SettingNames.Nearest(argument, Commands) is { } nearest ? $"; did you mean redkite {nearest}?" : ".";
        return $"redkite: there is no command or configuration file '{argument}'{meant} The commands are {string.Join(", ", Commands)}; redkite --help describes them.";
    }

    /// <summary>The usage with the settings that people change first.</summary>
    internal static string Overview()
    {
        var text = new StringBuilder(Usage).Append('\n');
        foreach ((string name, string sentence) in SettingGroups.First) Append(text, "  " + name.PadRight(26), sentence);
        return text.Append("\n  redkite --help settings lists all.").ToString();
    }

    /// <summary>A setting, or what may be meant; null: nothing is.</summary>
    /// <param name="name">A setting's name or alias in any case, with or without dashes in front, or "settings".</param>
    /// <param name="isKnown">Whether there is such a setting.</param>
    internal static string Of(string name, out bool isKnown)
    {
        name = name.TrimStart('-').ToLowerInvariant();
        isKnown = true;
        if (name == "settings") return AllSettings();
        if (SettingTable.Find(name) is { } row) return Describe(row);
        if (Others.TryGetValue(name, out string? other)) return other;
        isKnown = false;
        return $"redkite: there is no setting '{name}'{(SettingNames.Nearest(name) is { } near ? $"; did you mean {near}?" : "")}";
    }

    private static readonly Dictionary<string, string> Others = new()
    {
        ["user"] = "user NAME RULE ...\n\nDeclares a user with its rights, as ACL SETUSER does: user alice on >secret ~cache:* +@read. Each line is a user.",
        ["include"] = "include PATH\n\nReads another file in its place. The path may have wildcards.",
        ["rename-command"] = "rename-command COMMAND NAME\n\nGives a command another name, or with \"\" none.",
    };

    private static string Describe(Setting row)
    {
        var text = new StringBuilder($"{row.Name}{(row.Alias is null ? "" : $", {row.Alias}")}\n");
        if (SettingGroups.TitleOf(row) is { Length: > 0 } title) text.Append($"  {title}\n");
        text.Append('\n');
        if (SettingGroups.SentenceOf(row) is { } sentence) Append(text, "  ", sentence);
        if (row.Remark is { } remark && SettingGroups.First.ContainsKey(row.Name)) Append(text, "  ", $"{char.ToUpperInvariant(remark[0])}{remark[1..]}.");
        if (row.NoEffect is { } reason) Append(text, "  ", $"It has no effect: {reason}.");
        if (row.Refusal is { } refusal) Append(text, "  ", $"Refused values: {refusal.Values}: {refusal.Reason}.");
        if (row.Expected is { } expected) Append(text, "  Values:  ", expected);
        Append(text, "  Default: ", row.DefaultText.Length == 0 ? "(empty)" : row.DefaultText);
        Append(text, "  Changes: ", row.Has(SettingFlags.Immutable) ? "at the start only" : row.Has(SettingFlags.Protected) ? "by CONFIG SET if enable-protected-configs allows it" : "by CONFIG SET at any time");
        return text.ToString().TrimEnd();
    }

    private static string AllSettings()
    {
        var text = new StringBuilder();
        foreach (SettingGroup group in SettingGroups.All)
        {
            text.Append(group.Title).Append('\n');
            foreach (string name in group.Names) text.Append("  ").Append(name).Append('\n');
            text.Append('\n');
        }

        return text.Append("redkite --help SETTING describes one.").ToString();
    }

    // To a page that a user of the program may not have.
    [GeneratedRegex(@":? \[[^\]]*\]\([^)]*\)")]
    private static partial Regex Link();

    // Wraps at words; the following lines begin below the text.
    private static void Append(StringBuilder text, string start, string sentence)
    {
        var line = new StringBuilder(start);
        bool isFirst = true;
        foreach (string word in Link().Replace(sentence, "").Replace("`", "", StringComparison.Ordinal).Split(' '))
        {
            if (!isFirst && line.Length + 1 + word.Length > WidthMax)
            {
                text.Append(line).Append('\n');
                line.Clear().Append(' ', start.Length);
                isFirst = true;
            }

            if (!isFirst) line.Append(' ');
            line.Append(word);
            isFirst = false;
        }

        text.Append(line).Append('\n');
    }
}
