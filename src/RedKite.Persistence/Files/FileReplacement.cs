namespace RedKite.Persistence.Files;

/// <summary>
/// Writes a file so that its name always refers to a whole one, also after a power loss: a temporary file, synced while it grows and at
/// its end, then renamed, then its folder synced. Disposed without a commit, it removes the temporary file.
/// </summary>
internal sealed class FileReplacement : IDisposable
{
    /// <summary>After this many bytes the file is synced while it grows, so that the last sync is short (rdb-save-incremental-fsync).</summary>
    internal const int SyncedBytes = 4 * 1024 * 1024;

    private readonly IFiles _files;
    private readonly bool _syncsWhileGrowing;
    private readonly IOpenFile _file;
    private long _synced;
    private bool _committed;

    /// <param name="files">The file system.</param>
    /// <param name="folder">The folder of both files.</param>
    /// <param name="temporaryName">The name of the file while it is incomplete.</param>
    /// <param name="syncsWhileGrowing">Whether it is synced while it grows.</param>
    internal FileReplacement(IFiles files, string folder, string temporaryName, bool syncsWhileGrowing)
    {
        _files = files;
        Folder = folder;
        TemporaryPath = Path.Combine(folder, temporaryName);
        _syncsWhileGrowing = syncsWhileGrowing;
        _file = files.Create(TemporaryPath);
    }

    internal string Folder { get; }

    /// <summary>Its path until the commit.</summary>
    internal string TemporaryPath { get; }

    /// <summary>The number of bytes written.</summary>
    internal long Length { get; private set; }

    internal void Append(ReadOnlySpan<byte> bytes)
    {
        _file.Write(Length, bytes);
        Length += bytes.Length;
        if (_syncsWhileGrowing && Length - _synced >= SyncedBytes) Sync();
    }

    /// <summary>Syncs what was written, so that <see cref="Commit"/> does not wait for that.</summary>
    internal void Sync()
    {
        if (_synced == Length && Length > 0) return;
        _file.SyncData();
        _synced = Length;
    }

    /// <summary>Syncs the file and gives it its name in place of any file that had it.</summary>
    internal void Commit(string name)
    {
        Sync();
        _file.Dispose();
        _files.Rename(TemporaryPath, Path.Combine(Folder, name));
        _committed = true;
        _files.SyncFolder(Folder);
    }

    public void Dispose()
    {
        _file.Dispose();
        if (_committed) return;
        try
        {
            _files.Delete(TemporaryPath);
        }
        catch (FileFailure)
        {
            // Reported already: the failure that prevented the commit. The next save overwrites the file.
        }
    }
}
