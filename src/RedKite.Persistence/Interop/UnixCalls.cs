using System.Runtime.InteropServices;
using Microsoft.Win32.SafeHandles;

namespace RedKite.Persistence.Interop;

/// <summary>
/// The system calls that the runtime has no method for: syncing a file's data without its times, and syncing a folder. Each returns
/// errno, or 0.
/// </summary>
internal static partial class UnixCalls
{
    private const int Interrupted = 4; // EINTR

    private const int ReadOnly = 0;

    private static readonly int CloseOnExec = OperatingSystem.IsLinux() ? 0x80000 : 0x1000000;

    /// <summary>fdatasync. Linux only.</summary>
    internal static int SyncData(SafeFileHandle file)
    {
        int error;
        do error = fdatasync(file) == 0 ? 0 : Marshal.GetLastPInvokeError();
        while (error == Interrupted);
        return error;
    }

    /// <summary>fsync of a folder.</summary>
    internal static int SyncFolder(string path)
    {
        int folder = open(path, ReadOnly | CloseOnExec, 0);
        if (folder < 0) return Marshal.GetLastPInvokeError();
        int error;
        do error = fsync(folder) == 0 ? 0 : Marshal.GetLastPInvokeError();
        while (error == Interrupted);
        _ = close(folder);
        return error;
    }

    [LibraryImport("libc", SetLastError = true)]
    private static partial int fdatasync(SafeFileHandle file);

    [LibraryImport("libc", SetLastError = true, StringMarshalling = StringMarshalling.Utf8)]
    private static partial int open(string path, int flags, int mode);

    [LibraryImport("libc", SetLastError = true)]
    private static partial int fsync(int descriptor);

    [LibraryImport("libc", SetLastError = true)]
    private static partial int close(int descriptor);
}
