using Microsoft.Win32.SafeHandles;
using RedKite.Persistence.Interop;

namespace RedKite.Persistence.Files;

/// <summary>The real file system. Stateless: one instance serves all threads.</summary>
internal sealed class DiskFiles : IFiles
{
    internal static readonly DiskFiles Instance = new();

    // Other programs, such as a backup, may read, rename and delete the files.
    private const FileShare Shared = FileShare.ReadWrite | FileShare.Delete;

    // As Linux: a path that leads through more links is a circle.
    private const int LinksMax = 40;

    private DiskFiles()
    {
    }

    public IOpenFile OpenRead(string path) => Open("open", path, FileMode.Open, FileAccess.Read);

    public IOpenFile Create(string path) => Open("create", path, FileMode.Create, FileAccess.ReadWrite);

    public IOpenFile OpenWrite(string path) => Open("open", path, FileMode.OpenOrCreate, FileAccess.ReadWrite);

    public bool FileExists(string path) => File.Exists(path);

    public bool FolderExists(string path) => Directory.Exists(path);

    public IReadOnlyList<string> List(string folder)
    {
        try
        {
            string[] names = Directory.GetFiles(folder);
            for (int i = 0; i < names.Length; i++) names[i] = Path.GetFileName(names[i]);
            Array.Sort(names, StringComparer.Ordinal);
            return names;
        }
        catch (Exception failure) when (FileFailure.Covers(failure))
        {
            throw FileFailure.Of("list", folder, failure);
        }
    }

    public void CreateFolder(string path)
    {
        try
        {
            Directory.CreateDirectory(path);
        }
        catch (Exception failure) when (FileFailure.Covers(failure))
        {
            throw FileFailure.Of("make folder", path, failure);
        }
    }

    public void Rename(string from, string to)
    {
        try
        {
            File.Move(from, to, overwrite: true);
        }
        catch (Exception failure) when (FileFailure.Covers(failure))
        {
            throw FileFailure.Of("rename", from, failure);
        }
    }

    public void Delete(string path)
    {
        try
        {
            File.Delete(path);
        }
        catch (DirectoryNotFoundException)
        {
            // Without its folder the file does not exist either.
        }
        catch (Exception failure) when (FileFailure.Covers(failure))
        {
            throw FileFailure.Of("delete", path, failure);
        }
    }

    public string RealPath(string path)
    {
        try
        {
            string absolute = Path.GetFullPath(path);
            for (int links = 0; links <= LinksMax; links++)
            {
                if (WithoutFirstLink(absolute) is not { } target) return Path.TrimEndingDirectorySeparator(absolute);
                absolute = Path.GetFullPath(target);
            }

            throw new IOException("Too many levels of symbolic links");
        }
        catch (Exception failure) when (FileFailure.Covers(failure))
        {
            throw FileFailure.Of("follow links", path, failure);
        }
    }

    // The path with its first link replaced by what it points to; null: there is none.
    private static string? WithoutFirstLink(string absolute)
    {
        string walked = Path.GetPathRoot(absolute)!;
        string[] names = absolute[walked.Length..].Split(Path.DirectorySeparatorChar, StringSplitOptions.RemoveEmptyEntries);
        for (int i = 0; i < names.Length; i++)
        {
            string next = Path.Combine(walked, names[i]);
            if (new DirectoryInfo(next).LinkTarget is { } target) return Path.Combine([walked, target, .. names[(i + 1)..]]);
            walked = next;
        }

        return null;
    }

    // Windows has no such call: its file systems journal changes of names.
    public void SyncFolder(string folder)
    {
        if (OperatingSystem.IsWindows()) return;
        int error = UnixCalls.SyncFolder(folder);
        if (error != 0) throw new FileFailure("sync folder", folder, error);
    }

    public long FreeBytes(string folder)
    {
        try
        {
            return new DriveInfo(Path.GetFullPath(folder)).AvailableFreeSpace;
        }
        catch (Exception failure) when (FileFailure.Covers(failure))
        {
            throw FileFailure.Of("free space", folder, failure);
        }
    }

    private static DiskFile Open(string operation, string path, FileMode mode, FileAccess access)
    {
        try
        {
            return new DiskFile(path, File.OpenHandle(path, mode, access, Shared));
        }
        catch (Exception failure) when (FileFailure.Covers(failure))
        {
            throw FileFailure.Of(operation, path, failure);
        }
    }

    private sealed class DiskFile(string path, SafeFileHandle handle) : IOpenFile
    {
        public string Path => path;

        public long Length
        {
            get
            {
                try
                {
                    return RandomAccess.GetLength(handle);
                }
                catch (Exception failure) when (FileFailure.Covers(failure))
                {
                    throw FileFailure.Of("read", path, failure);
                }
            }
        }

        public int Read(long position, Span<byte> target)
        {
            int read = 0;
            try
            {
                while (read < target.Length)
                {
                    int part = RandomAccess.Read(handle, target[read..], position + read);
                    if (part == 0) break;
                    read += part;
                }
            }
            catch (Exception failure) when (FileFailure.Covers(failure))
            {
                throw FileFailure.Of("read", path, failure);
            }

            return read;
        }

        public void Write(long position, ReadOnlySpan<byte> bytes)
        {
            try
            {
                RandomAccess.Write(handle, bytes, position);
            }
            catch (Exception failure) when (FileFailure.Covers(failure))
            {
                throw FileFailure.Of("write", path, failure);
            }
        }

        public void SetLength(long bytes)
        {
            try
            {
                RandomAccess.SetLength(handle, bytes);
            }
            catch (Exception failure) when (FileFailure.Covers(failure))
            {
                throw FileFailure.Of("truncate", path, failure);
            }
        }

        public void SyncData()
        {
            if (OperatingSystem.IsLinux())
            {
                int error = UnixCalls.SyncData(handle);
                if (error != 0) throw new FileFailure("sync", path, error);
                return;
            }

            try
            {
                RandomAccess.FlushToDisk(handle);
            }
            catch (Exception failure) when (FileFailure.Covers(failure))
            {
                throw FileFailure.Of("sync", path, failure);
            }
        }

        public void Dispose() => handle.Dispose();
    }
}
