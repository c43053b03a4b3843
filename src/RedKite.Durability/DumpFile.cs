using RedKite.Persistence.Files;
using RedKite.Persistence.Rdb;

namespace RedKite.Server.Durability;

/// <summary>An RDB file that is being written: a temporary file, which gets its name when it is whole and on the disk.</summary>
internal sealed class DumpFile : IDisposable
{
    private readonly FileReplacement _replacement;
    private bool _hasEnded;

    /// <param name="files">The file system.</param>
    /// <param name="folder">The file's folder.</param>
    /// <param name="options">How it is written.</param>
    /// <param name="temporary">The beginning of its temporary name: no two files of a folder that are written at a time may have the same.</param>
    internal DumpFile(IFiles files, string folder, DumpOptions options, string temporary = "temp")
    {
        _replacement = new FileReplacement(files, folder, $"{temporary}-{Environment.ProcessId}.rdb", options.SyncsWhileGrowing);
        Writer = new RdbFileWriter(_replacement.Append, options.Compresses, options.Sums);
    }

    internal RdbFileWriter Writer { get; }

    internal long Bytes => _replacement.Length;

    /// <summary>Its path until the commit.</summary>
    internal string TemporaryPath => _replacement.TemporaryPath;

    /// <summary>Ends the data and syncs it.</summary>
    internal void End()
    {
        Writer.End();
        _hasEnded = true;
        _replacement.Sync();
    }

    /// <summary>Ends the data unless it has ended, syncs it, and gives the file its name.</summary>
    internal void Commit(string name)
    {
        if (!_hasEnded) End();
        _replacement.Commit(name);
    }

    public void Dispose()
    {
        Writer.Dispose();
        _replacement.Dispose();
    }
}

/// <summary>How an RDB file is written.</summary>
/// <param name="Compresses">Whether strings are compressed (rdbcompression).</param>
/// <param name="Sums">Whether it ends with a checksum (rdbchecksum).</param>
/// <param name="SyncsWhileGrowing">Whether it is synced while it grows (rdb-save-incremental-fsync).</param>
internal readonly record struct DumpOptions(bool Compresses, bool Sums, bool SyncsWhileGrowing);
