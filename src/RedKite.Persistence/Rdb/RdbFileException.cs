namespace RedKite.Persistence.Rdb;

/// <summary>A file that cannot be read as RDB: which file, at which byte, and why.</summary>
internal sealed class RdbFileException(string path, long offset, string reason) : IOException($"{path}: at byte {offset}: {reason}")
{
    internal string Path { get; } = path;

    internal long Offset { get; } = offset;

    internal string Reason { get; } = reason;
}
