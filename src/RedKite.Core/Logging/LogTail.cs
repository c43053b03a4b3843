namespace RedKite.Server.Logging;

/// <summary>
/// A fixed number of the log's last lines, for the dashboard and the debug package. Each line marks which part of it is the
/// server's own: text of a client or its script that follows may contain keys and values. From any thread.
/// </summary>
internal sealed class LogTail
{
    internal const int LinesMax = 1000;
    private const int CharactersMax = 2000;

    private readonly Lock _lock = new();
    private readonly (string Text, int OwnLength)[] _lines = new (string, int)[LinesMax];
    private long _count;

    /// <summary>The number of lines ever added: a reader remembers it to find new lines.</summary>
    internal long Count
    {
        get
        {
            lock (_lock) return _count;
        }
    }

    /// <summary>The kept lines, oldest first.</summary>
    internal string[] Lines => After(0).Lines;

    /// <summary>The kept lines without the text of clients and scripts.</summary>
    internal string[] RedactedLines
    {
        get
        {
            lock (_lock) return [.. Newest(_count).Select(line => line.OwnLength < line.Text.Length ? line.Text[..line.OwnLength] + "(redacted)" : line.Text)];
        }
    }

    /// <summary>The number of lines ever added, and the kept ones that followed the first <paramref name="seen"/>.</summary>
    internal (long Count, string[] Lines) After(long seen)
    {
        lock (_lock) return (_count, [.. Newest(_count - seen).Select(line => line.Text)]);
    }

    internal void Add(string line) => Add(line, line.Length);

    /// <summary>Adds a line of which only the first characters are the server's own.</summary>
    internal void Add(string line, int ownLength)
    {
        if (line.Length > CharactersMax) line = line[..CharactersMax];
        lock (_lock) _lines[_count++ % LinesMax] = (line, ownLength);
    }

    // The newest of the kept lines, oldest first. Under the lock.
    private (string Text, int OwnLength)[] Newest(long count)
    {
        var lines = new (string, int)[(int)Math.Clamp(count, 0, Math.Min(_count, LinesMax))];
        for (int i = 0; i < lines.Length; i++) lines[i] = _lines[(_count - lines.Length + i) % LinesMax];
        return lines;
    }
}
