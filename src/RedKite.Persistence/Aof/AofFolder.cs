using RedKite.Persistence.Files;

namespace RedKite.Persistence.Aof;

/// <summary>
/// The folder of an append-only file, with the order in which its files change on the disk: a manifest takes effect by a rename and a
/// sync of the folder, and files that it no longer names are deleted only afterwards.
/// </summary>
/// <param name="files">The file system.</param>
/// <param name="directory">The server's folder (the setting dir).</param>
/// <param name="folderName">The setting appenddirname.</param>
/// <param name="fileName">The setting appendfilename.</param>
internal sealed class AofFolder(IFiles files, string directory, string folderName, string fileName)
{
    internal IFiles Files => files;

    internal string FileName => fileName;

    internal string FolderPath { get; } = Path.Combine(directory, folderName);

    internal string ManifestPath => PathOf(AofManifest.ManifestName(fileName));

    internal string PathOf(string name) => Path.Combine(FolderPath, name);

    /// <summary>Creates the folder, so that its name survives a power loss.</summary>
    internal void Create()
    {
        if (files.FolderExists(FolderPath)) return;
        files.CreateFolder(FolderPath);
        files.SyncFolder(directory);
    }

    /// <summary>Reads the manifest; an empty one if there is none.</summary>
    /// <exception cref="AofException">It is invalid.</exception>
    internal AofManifest ReadManifest()
    {
        if (!files.FolderExists(FolderPath) || !files.FileExists(ManifestPath)) return AofManifest.Empty;
        return ReadManifest(files, ManifestPath);
    }

    /// <summary>Reads a manifest.</summary>
    internal static AofManifest ReadManifest(IFiles files, string path)
    {
        const int BytesMax = 64 * 1024 * 1024;
        using IOpenFile file = files.OpenRead(path);
        if (file.Length > BytesMax) throw AofException.AtLine(path, 1, "the manifest is too large");
        var bytes = new byte[file.Length];
        int read = file.Read(0, bytes);
        return AofManifest.Parse(bytes.AsSpan(0, read), path);
    }

    /// <summary>Writes a manifest. When this returns it is in force, also after a power loss.</summary>
    internal void WriteManifest(AofManifest manifest)
    {
        string name = AofManifest.ManifestName(fileName);
        using var replacement = new FileReplacement(files, FolderPath, "temp-" + name, syncsWhileGrowing: false);
        replacement.Append(manifest.Format());
        replacement.Commit(name);
    }

    /// <summary>Deletes the files of a manifest's history, after the manifest that no longer needs them is in force.</summary>
    /// <returns>The manifest without them, which is to be written.</returns>
    internal AofManifest DeleteHistory(AofManifest manifest)
    {
        foreach (AofFile file in manifest.History) files.Delete(PathOf(file.Name));
        return manifest.WithoutHistory();
    }

    /// <summary>
    /// Whether there is a single file of a Redis before 7.0 to take over: without a folder or manifest of the new layout, or when taking it
    /// over was interrupted.
    /// </summary>
    internal bool HasOldFile(AofManifest manifest)
    {
        if (!files.FileExists(Path.Combine(directory, fileName))) return false;
        if (!files.FolderExists(FolderPath) || !files.FileExists(ManifestPath)) return true;
        return manifest.Increments.IsEmpty && manifest.Base?.Name == fileName && !files.FileExists(PathOf(fileName));
    }

    /// <summary>Makes the single file of a Redis before 7.0 the base of the new layout. Interrupted anywhere, it can be repeated.</summary>
    internal AofManifest TakeOverOldFile()
    {
        var manifest = AofManifest.OfSingleFile(fileName);
        Create();
        WriteManifest(manifest);
        files.Rename(Path.Combine(directory, fileName), PathOf(fileName));
        files.SyncFolder(FolderPath);
        files.SyncFolder(directory);
        return manifest;
    }
}
