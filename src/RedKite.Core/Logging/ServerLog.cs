using System.Text.Encodings.Web;
using System.Text.Json;
using System.Text;
using RedKite.Persistence.Files;
using RedKite.Server.Config;

namespace RedKite.Server.Logging;

/// <summary>
/// The server's log: lines as Redis writes them, to standard output, a file, or the host's delegate. A line has no
/// secret: callers log names and numbers, never arguments. What clients and scripts write themselves goes through OfClient. An entry is
/// one line whatever its text is: control characters are escaped, so that no text can look like another entry or move a terminal's cursor.
/// </summary>
internal sealed class ServerLog(Settings settings, Action<RedKiteLogEntry>? sink)
{
    /// <summary>The most characters of an entry's text, and of what a client wrote at its end: some of it, in names and reasons, is a client's.</summary>
    internal const int TextCharactersMax = 16 * 1024;

    private readonly Lock _writing = new();
    private int _lost; // lines that could not be written

    /// <summary>The log file's folder, or the system's for temporary files.</summary>
    internal string Folder => settings.LogFilePath.Length == 0
        ? Path.GetTempPath()
        : Path.GetDirectoryName(Path.GetFullPath(settings.LogFilePath, settings.DirectoryPath))!;

    /// <summary>Checks that the log file can be written, if there is one.</summary>
    /// <exception cref="RedKiteConfigException">It cannot be opened.</exception>
    internal void Open()
    {
        if (sink is not null && settings.LogFilePath.Length > 0) Warning(LogEvents.LogFileUnused, $"logfile '{settings.LogFilePath}' is not written, because the host receives the log.");
        if (sink is null && !TryAppend("", out string? reason)) throw new RedKiteConfigException($"logfile '{settings.LogFilePath}': it cannot be opened: {reason}");
    }

    /// <summary>The last lines, regardless of where they are written.</summary>
    internal LogTail Tail { get; } = new();

    internal void Debug(LogEvent kind, string text) => Write(kind, LogLevel.Debug, '.', text);

    internal void Verbose(LogEvent kind, string text) => Write(kind, LogLevel.Verbose, '-', text);

    internal void Notice(LogEvent kind, string text) => Write(kind, LogLevel.Notice, '*', text);

    /// <summary>Whether the server follows a primary: its lines have the letter S, as in Redis, and otherwise M.</summary>
    internal bool IsReplica { get; private set; }

    /// <summary>The role has changed.</summary>
    internal void NoteRole(bool isReplica) => IsReplica = isReplica;

    internal void Warning(LogEvent kind, string text) => Write(kind, LogLevel.Warning, '#', text);

    /// <summary>Writes text of a client or its script, or a name that it chose: a debug package leaves it out.</summary>
    /// <param name="kind">The kind of line.</param>
    /// <param name="isWarning">Whether it is a warning, or a notice.</param>
    /// <param name="own">The server's own words before it.</param>
    /// <param name="text">The client's text.</param>
    internal void OfClient(LogEvent kind, bool isWarning, string own, string text)
    {
        text = Cut(text);
        if (isWarning) Write(kind, LogLevel.Warning, '#', own + text, text.Length);
        else Write(kind, LogLevel.Notice, '*', own + text, text.Length);
    }

    // The last characters of the text may be a client's.
    private void Write(LogEvent kind, LogLevel level, char mark, string text, int clientLength = 0)
    {
        if (level < settings.LogLevel) return;
        text = Cut(text[..^clientLength]) + text[^clientLength..];
        string original = text;
        string clients = OneLine(text[^clientLength..]);
        text = OneLine(text[..^clientLength]) + clients;
        clientLength = clients.Length;
        string tail = Line(mark, text);
        int ownLength = tail.Length - Environment.NewLine.Length - clientLength;
        tail = tail.TrimEnd();
        Tail.Add(tail, clientLength == 0 ? tail.Length : Math.Min(ownLength, tail.Length));
        if (sink is not null)
        {
            Hand(sink, new RedKiteLogEntry(kind.Level ?? LevelOf(level), kind.Category, kind.Id, kind.Name, text));
            return;
        }

        lock (_writing)
        {
            // A full disk or a missing folder must not end the server, which continues without these lines.
            string lost = _lost > 0 ? Format(LogLevel.Warning, '#', $"{_lost} lines before this one could not be written") : "";
            _lost = TryAppend(lost + (settings.LogsJson ? Json(level, original) : Line(mark, text)), out _) ? 0 : _lost + 1;
        }
    }

    private static string Cut(string text) => text.Length <= TextCharactersMax ? text : $"{text.AsSpan(0, TextCharactersMax)}... ({text.Length} characters)";

    // .NET's word for Redis's level.
    private static RedKiteLogLevel LevelOf(LogLevel level) => level switch
    {
        LogLevel.Debug or LogLevel.Verbose => RedKiteLogLevel.Debug,
        LogLevel.Notice => RedKiteLogLevel.Information,
        _ => RedKiteLogLevel.Warning,
    };

    private static void Hand(Action<RedKiteLogEntry> sink, RedKiteLogEntry entry)
    {
        try
        {
            sink(entry);
        }
#pragma warning disable CA1031 // The host's delegate may throw anything; the server continues.
        catch (Exception)
#pragma warning restore CA1031
        {
        }
    }

    private string Format(LogLevel level, char mark, string text) => settings.LogsJson ? Json(level, text) : Line(mark, text);

    // Escapes what is not printed in place: controls, and separators of lines and paragraphs.
    private static string OneLine(string text)
    {
        if (!text.AsSpan().ContainsAnyInRange('\0', '\x1f') && !text.AsSpan().ContainsAnyInRange('\x7f', '\x9f') && !text.AsSpan().ContainsAny('\u2028', '\u2029')) return text;
        var line = new StringBuilder(text.Length + 16);
        foreach (char character in text)
        {
            string? escape = character switch
            {
                '\n' => "\\n",
                '\r' => "\\r",
                '\t' => "\\t",
                '\u2028' or '\u2029' => $"\\u{(int)character:x4}",
                _ => char.IsControl(character) ? $"\\x{(int)character:x2}" : null,
            };
            if (escape is null) line.Append(character);
            else line.Append(escape);
        }

        return line.ToString();
    }

    // One object a line, for programs that collect logs.
    private static string Json(LogLevel level, string text)
    {
        string word = level switch
        {
            LogLevel.Debug => "debug",
            LogLevel.Verbose => "verbose",
            LogLevel.Notice => "notice",
            _ => "warning",
        };
        string time = DateTime.UtcNow.ToString("yyyy-MM-dd'T'HH:mm:ss.fff'Z'", System.Globalization.CultureInfo.InvariantCulture);
        return $"{{\"time\":\"{time}\",\"level\":\"{word}\",\"pid\":{Environment.ProcessId},\"message\":\"{JsonEncodedText.Encode(text, JavaScriptEncoder.UnsafeRelaxedJsonEscaping)}\"}}{Environment.NewLine}";
    }

    private string Line(char mark, string text) =>
        $"{Environment.ProcessId}:{(IsReplica ? 'S' : 'M')} {DateTime.Now.ToString("dd MMM yyyy HH:mm:ss.fff", System.Globalization.CultureInfo.InvariantCulture)} {mark} {text}{Environment.NewLine}";

    private bool TryAppend(string lines, out string? reason)
    {
        try
        {
            if (settings.LogFilePath.Length == 0) Console.Out.Write(lines);
            else File.AppendAllText(Path.Combine(settings.DirectoryPath, settings.LogFilePath), lines);
            reason = null;
            return true;
        }
        catch (Exception failure) when (failure is IOException or UnauthorizedAccessException)
        {
            reason = FileFailure.ReasonOf(failure);
            return false;
        }
    }
}
