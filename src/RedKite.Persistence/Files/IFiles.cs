namespace RedKite.Persistence.Files;

/// <summary>
/// The file system as durability needs it: every call goes through here. It is an interface because tests replace the disk by one
/// that fails, stalls, tears or fills at each call and that loses its power; <see cref="DiskFiles"/> is the real one.
/// </summary>
/// <remarks>
/// Every failure is a <see cref="FileFailure"/>, which names the operation, the path and the system's error. A created, renamed or
/// deleted name survives a power loss only after <see cref="SyncFolder"/> of its folder, written bytes only after
/// <see cref="IOpenFile.SyncData"/>.
/// </remarks>
internal interface IFiles
{
    /// <summary>Opens an existing file to read it.</summary>
    IOpenFile OpenRead(string path);

    /// <summary>Creates a file to write it, or empties an existing one.</summary>
    IOpenFile Create(string path);

    /// <summary>Opens a file to read and write it; it is created if it is missing.</summary>
    IOpenFile OpenWrite(string path);

    bool FileExists(string path);

    bool FolderExists(string path);

    /// <summary>The names (not the paths) of a folder's files, in ordinal order.</summary>
    IReadOnlyList<string> List(string folder);

    /// <summary>Creates a folder; an existing one is no error.</summary>
    void CreateFolder(string path);

    /// <summary>
    /// Holds a file that only one holder has at a time, in this process and in others, until it is disposed of or the process ends; the file is created if it is missing, and stays. Null: another one
    /// holds it.
    /// </summary>
    IDisposable? TryHold(string path);

    /// <summary>Renames a file within its file system; an existing target is replaced atomically.</summary>
    void Rename(string from, string to);

    /// <summary>Deletes a file; a missing one is no error.</summary>
    void Delete(string path);

    /// <summary>The absolute path without links, `.` and `..`, by which two paths of one folder are recognized. It need not exist.</summary>
    string RealPath(string path) => Path.TrimEndingDirectorySeparator(Path.GetFullPath(path));

    /// <summary>Makes the names in a folder survive a power loss.</summary>
    void SyncFolder(string folder);
}

/// <summary>An open file. Reads and writes state their position, so a file has no cursor and readers may share it.</summary>
internal interface IOpenFile : IDisposable
{
    string Path { get; }

    long Length { get; }

    /// <summary>Reads up to the target's size; fewer bytes only at the file's end, 0 beyond it.</summary>
    int Read(long position, Span<byte> target);

    /// <summary>Writes all bytes. After a failure the file may hold any part of them.</summary>
    void Write(long position, ReadOnlySpan<byte> bytes);

    /// <summary>Cuts or extends the file.</summary>
    void SetLength(long bytes);

    /// <summary>
    /// Returns when what was written, and the length, are on the disk. After a failure nothing that was not synced before may be
    /// believed written, even if a later call succeeds.
    /// </summary>
    void SyncData();
}
