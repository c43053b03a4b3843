namespace RedKite.Server.Logging;

/// <summary>The last lines of the log, in a fixed number: for the page and the debug package. From any thread.</summary>
internal sealed class LogTail
{
    internal const int LinesMax = 1000;
    private const int CharactersMax = 2000;

    private readonly Lock _lock = new();
    private readonly string[] _lines = new string[LinesMax];
    private long _count;

    /// <summary>Lines that were ever added: a reader remembers it to see what is new.</summary>
    internal long Count
    {
        get
        {
            lock (_lock) return _count;
        }
    }

    /// <summary>The kept lines, oldest first.</summary>
    internal string[] Lines
    {
        get
        {
            lock (_lock)
            {
                var lines = new string[(int)Math.Min(_count, LinesMax)];
                for (int i = 0; i < lines.Length; i++) lines[i] = _lines[(_count - lines.Length + i) % LinesMax];
                return lines;
            }
        }
    }

    /// <summary>How many lines there were ever, and those of the kept ones that followed the first <paramref name="seen"/>.</summary>
    internal (long Count, string[] Lines) After(long seen)
    {
        lock (_lock)
        {
            var lines = new string[(int)Math.Clamp(_count - seen, 0, Math.Min(_count, LinesMax))];
            for (int i = 0; i < lines.Length; i++) lines[i] = _lines[(_count - lines.Length + i) % LinesMax];
            return (_count, lines);
        }
    }

    internal void Add(string line)
    {
        if (line.Length > CharactersMax) line = line[..CharactersMax];
        lock (_lock) _lines[_count++ % LinesMax] = line;
    }
}
