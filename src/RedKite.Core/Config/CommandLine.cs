namespace RedKite.Server.Config;

/// <summary>
/// The program's arguments: <c>redkite [FILE] [--directive value ...] [-]</c>, with redis-server's rules. Directives become
/// lines that follow the file's. <c>-</c>, as the first or the last argument, reads standard input.
/// </summary>
/// <remarks>
/// A directive's first value may start with two dashes (a password, say); any other <c>--</c> starts the next directive.
/// <c>"--port 6380"</c> may be one argument. Redis has no form <c>--port=6380</c>: it is an unknown directive. <c>--save</c> alone, or before another directive, is <c>--save ""</c>.
/// </remarks>
internal sealed class CommandLine
{
    private CommandLine()
    {
    }

    /// <summary>The file to read, as given; null: none.</summary>
    public string? FilePath { get; private set; }

    public bool ReadsStandardInput { get; private set; }

    /// <summary>The first argument is -v or --version: print the version and exit.</summary>
    public bool AsksForVersion { get; private set; }

    /// <summary>The first argument is -h or --help: print the usage and exit.</summary>
    public bool AsksForHelp { get; private set; }

    /// <summary>The directives as lines of a configuration file, in setting text.</summary>
    internal List<string> Lines { get; private init; } = [];

    /// <summary>Where the lines come from, for messages.</summary>
    internal string Source { get; private init; } = "arguments";

    /// <summary>What a host has instead of arguments.</summary>
    internal static CommandLine OfHost(string? filePath, List<string> lines) => new() { FilePath = filePath, Lines = lines, Source = "options" };

    /// <summary>Never fails: errors in directives are found when the lines are read.</summary>
    public static CommandLine Parse(IReadOnlyList<string> arguments)
    {
        CommandLine parsed = new();
        if (arguments.Count == 0) return parsed;

        parsed.AsksForVersion = arguments[0] is "-v" or "--version";
        parsed.AsksForHelp = arguments[0] is "-h" or "--help";
        if (parsed.AsksForVersion || parsed.AsksForHelp) return parsed;

        int index = 0;
        if (!IsDirective(arguments[0]) && arguments[0] != "-")
        {
            parsed.FilePath = arguments[0];
            index++;
        }

        bool mayStartDirective = true;
        for (; index < arguments.Count; index++)
        {
            string argument = arguments[index];
            if (argument == "-" && (index == 0 || index == arguments.Count - 1))
            {
                parsed.ReadsStandardInput = true;
            }
            else if (mayStartDirective && IsDirective(argument))
            {
                string directive = SettingText.FromNative(argument[2..]);
                bool hasValue = !ConfigLine.TrySplit(directive, out List<string> words) || words.Count > 1;
                bool isLast = index == arguments.Count - 1;
                bool emptySave = argument.Equals("--save", StringComparison.OrdinalIgnoreCase)
                    && (isLast || IsDirective(arguments[index + 1]));
                parsed.Lines.Add(emptySave ? directive + " \"\"" : directive);
                mayStartDirective = hasValue || emptySave;
            }
            else
            {
                string value = ConfigLine.Quote(SettingText.FromNative(argument));
                if (parsed.Lines.Count == 0) parsed.Lines.Add(value);
                else parsed.Lines[^1] += " " + value;
                mayStartDirective = true;
            }
        }

        return parsed;
    }

    private static bool IsDirective(string argument) => argument.StartsWith("--", StringComparison.Ordinal);
}
