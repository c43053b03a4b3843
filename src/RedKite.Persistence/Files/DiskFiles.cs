using Microsoft.Win32.SafeHandles;
using RedKite.Persistence.Interop;

namespace RedKite.Persistence.Files;

/// <summary>The real file system. Stateless: one instance serves all threads.</summary>
internal sealed class DiskFiles : IFiles
{
    internal static readonly DiskFiles Instance = new();

    // Other programs, such as a backup, may read, rename and delete the files.
    private const FileShare Shared = FileShare.ReadWrite | FileShare.Delete;

    // How the runtime reports that another one has locked a file: the code of the system.
    private const int SharingViolation = unchecked((int)0x80070020);
    private const int LinuxTryAgain = 11;
    private const int MacTryAgain = 35;

    // As Linux: a path that leads through more links is a circle.
    private const int LinksMax = 40;

    private DiskFiles()
    {
    }

    public IOpenFile OpenRead(string path) => Open("open", path, FileMode.Open, FileAccess.Read);

    public IOpenFile Create(string path) => Open("create", path, FileMode.Create, FileAccess.ReadWrite);

    public IOpenFile OpenWrite(string path) => Open("open", path, FileMode.OpenOrCreate, FileAccess.ReadWrite);

    public IDisposable? TryHold(string path)
    {
        try
        {
            return new FileStream(path, FileMode.OpenOrCreate, FileAccess.ReadWrite, FileShare.None, bufferSize: 0);
        }
        catch (IOException failure) when (failure.HResult is SharingViolation or LinuxTryAgain or MacTryAgain)
        {
            return null;
        }
        catch (Exception failure) when (FileFailure.Covers(failure))
        {
            throw FileFailure.Of("lock", path, failure);
        }
    }

    public bool FileExists(string path) => File.Exists(path);

    public bool FolderExists(string path) => Directory.Exists(path);

    // Part by part, as the system does: what `..` leaves is the folder that a link leads to.
    public string RealPath(string path)
    {
        string absolute = Path.Combine(Environment.CurrentDirectory, path);
        string real = Path.GetPathRoot(absolute)!;
        var left = new Stack<string>(PartsOf(absolute));
        int links = 0;
        try
        {
            while (left.TryPop(out string? part))
            {
                if (part == ".") continue;
                if (part == "..")
                {
                    real = Path.GetDirectoryName(real) ?? real;
                    continue;
                }

                string next = Path.Combine(real, part);
                if (new DirectoryInfo(next).LinkTarget is not { } target)
                {
                    real = next;
                    continue;
                }

                if (++links > LinksMax) throw new IOException("Too many levels of symbolic links");
                if (Path.IsPathRooted(target)) real = Path.GetPathRoot(target)!;
                foreach (string inner in PartsOf(target)) left.Push(inner);
            }
        }
        catch (Exception failure) when (FileFailure.Covers(failure))
        {
            throw FileFailure.Of("follow links", path, failure);
        }

        return real;

        // The last one first.
        static IEnumerable<string> PartsOf(string whole) =>
            whole[Path.GetPathRoot(whole)!.Length..].Split([Path.DirectorySeparatorChar, Path.AltDirectorySeparatorChar], StringSplitOptions.RemoveEmptyEntries).Reverse();
    }

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

    // Windows has no such call: its file systems journal changes of names.
    public void SyncFolder(string folder)
    {
        if (OperatingSystem.IsWindows()) return;
        int error = UnixCalls.SyncFolder(folder);
        if (error != 0) throw new FileFailure("sync folder", folder, error);
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
