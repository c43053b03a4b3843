namespace RedKite.Persistence.Aof;

/// <summary>An append-only file or its manifest that cannot be read: which file, where, and why.</summary>
internal sealed class AofException : IOException
{
    private AofException(string path, long offset, string position, string reason)
        : base($"{path}: {position}: {reason}")
    {
        Path = path;
        Offset = offset;
        Reason = reason;
    }

    internal string Path { get; }

    /// <summary>The position of the first byte that is not understood; -1 for a manifest.</summary>
    internal long Offset { get; }

    internal string Reason { get; }

    /// <summary>An error at a byte of a file.</summary>
    internal static AofException AtByte(string path, long offset, string reason) => new(path, offset, $"at byte {offset}", reason);

    /// <summary>An error in a line of a manifest, from 1.</summary>
    internal static AofException AtLine(string path, int line, string reason) => new(path, -1, $"line {line}", reason);
}
