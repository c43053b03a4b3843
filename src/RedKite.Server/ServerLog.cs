using RedKite.Server.Config;

namespace RedKite.Server;

/// <summary>
/// The server's log: lines as Redis writes them, to standard output, a file, or whatever the host gives. A line has no
/// secret: callers log names and numbers, never arguments.
/// </summary>
internal sealed class ServerLog(Settings settings, Action<string>? sink)
{
    private readonly Lock _writing = new();

    internal void Debug(string text) => Write(LogLevel.Debug, '.', text);

    internal void Verbose(string text) => Write(LogLevel.Verbose, '-', text);

    internal void Notice(string text) => Write(LogLevel.Notice, '*', text);

    internal void Warning(string text) => Write(LogLevel.Warning, '#', text);

    private void Write(LogLevel level, char mark, string text)
    {
        if (level < settings.LogLevel) return;
        if (sink is not null)
        {
            sink(text);
            return;
        }

        string line = $"{Environment.ProcessId}:M {DateTime.Now.ToString("dd MMM yyyy HH:mm:ss.fff", System.Globalization.CultureInfo.InvariantCulture)} {mark} {text}{Environment.NewLine}";
        lock (_writing)
        {
            if (settings.LogFilePath.Length == 0) Console.Out.Write(line);
            else File.AppendAllText(Path.Combine(settings.DirectoryPath, settings.LogFilePath), line);
        }
    }
}
