using RedKite.Persistence.Files;

namespace RedKite.Server.Durability;

/// <summary>Whether the folder of BACKUP is one that the server keeps its own files in, whatever the path is called by which it is reached.</summary>
internal static class BackupFolder
{
    // As the systems' usual file systems do.
    private static readonly StringComparison Comparison = OperatingSystem.IsWindows() || OperatingSystem.IsMacOS() ? StringComparison.OrdinalIgnoreCase : StringComparison.Ordinal;

    /// <summary>Compares real paths.</summary>
    /// <param name="files">The file system.</param>
    /// <param name="real">The folder's real path.</param>
    /// <param name="directory">The folder of the dump file.</param>
    /// <param name="logFolder">That of the append-only file, whether there is one or not: it can be switched on later.</param>
    /// <returns>What the folder is already; null: nothing of these.</returns>
    /// <exception cref="FileFailure">A link cannot be followed.</exception>
    internal static string? UseOf(IFiles files, string real, string directory, string logFolder)
    {
        string log = files.RealPath(logFolder), data = files.RealPath(directory);
        if (real.Equals(log, Comparison)) return "the folder of the append-only file (setting appenddirname)";
        if (real.Equals(data, Comparison)) return "the folder of the dump file (setting dir)";
        if (IsWithin(real, log)) return "within the folder of the append-only file (setting appenddirname)";
        if (IsWithin(log, real)) return "one that contains the folder of the append-only file (setting appenddirname)";
        return IsWithin(data, real) ? "one that contains the folder of the dump file (setting dir)" : null;
    }

    private static bool IsWithin(string path, string folder) => path.StartsWith(Path.TrimEndingDirectorySeparator(folder) + Path.DirectorySeparatorChar, Comparison);
}
