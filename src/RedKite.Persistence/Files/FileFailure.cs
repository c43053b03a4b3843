using System.Runtime.InteropServices;

namespace RedKite.Persistence.Files;

/// <summary>A call to the file system that failed: which one, on which path, and the system's reason.</summary>
internal sealed class FileFailure : IOException
{
    // errno on Linux, macOS and FreeBSD.
    /// <summary>EFBIG.</summary>
    internal const int TooLarge = 27;

    /// <summary>EIO.</summary>
    internal const int InputOutput = 5;

    /// <summary>EEXIST.</summary>
    internal const int Exists = 17;

    /// <summary>ECANCELED on Linux.</summary>
    internal const int Canceled = 125;

    private const int NotFound = 2;          // ENOENT
    private const int NameTooLong = 36;      // ENAMETOOLONG on Linux
    private const int NoSpace = 28;          // ENOSPC
    private const int NoSpaceOnWindows = 112; // ERROR_DISK_FULL
    private const int QuotaExceeded = 122;   // EDQUOT on Linux
    private const int ErrnoMax = 4095;

    internal FileFailure(string operation, string path, int error)
        : this(operation, path, error, Marshal.GetPInvokeErrorMessage(error))
    {
    }

    internal FileFailure(string operation, string path, int error, string reason)
        : base($"{path}: {operation} failed: {reason}", error)
    {
        Operation = operation;
        Path = path;
        Error = error;
        Reason = reason;
    }

    /// <summary>The call: open, create, read, write, sync, truncate, rename, delete, list, make folder, sync folder, free space, follow links.</summary>
    internal string Operation { get; }

    internal string Path { get; }

    /// <summary>errno, or on Windows the system's error code.</summary>
    internal int Error { get; }

    /// <summary>The system's text for the error, or why what was read is not what it should be.</summary>
    internal string Reason { get; }

    /// <summary>Whether the disk or the user's quota is full.</summary>
    internal bool IsFull => OperatingSystem.IsWindows() ? Error == NoSpaceOnWindows : Error is NoSpace or QuotaExceeded;

    /// <summary>Whether an exception of the runtime's file calls becomes a <see cref="FileFailure"/>.</summary>
    internal static bool Covers(Exception exception) => exception is UnauthorizedAccessException or (IOException and not FileFailure);

    /// <summary>Converts an exception of the runtime's file calls.</summary>
    internal static FileFailure Of(string operation, string path, Exception exception)
    {
        int error = ErrorOf(exception);
        return OperatingSystem.IsWindows()
            ? new FileFailure(operation, path, error, exception.Message)
            : new FileFailure(operation, path, error);
    }

    /// <summary>The system's text for a failed call, without the runtime's sentence around it; any other exception's message, on one line.</summary>
    internal static string ReasonOf(Exception exception) => exception switch
    {
        FileFailure failure => failure.Reason,
        InvalidDataException or EndOfStreamException => exception.Message,
        _ when IsOfSystem(exception) => Of("", "", exception).Reason,
        _ => exception.Message.ReplaceLineEndings(" "),
    };

    // An exception of the runtime itself has the system's error or a kind of its own; the server's own IOExceptions have neither.
    private static bool IsOfSystem(Exception exception) => !OperatingSystem.IsWindows()
        && exception is UnauthorizedAccessException or FileNotFoundException or DirectoryNotFoundException or PathTooLongException or IOException { HResult: > 0 and <= ErrnoMax };

    // The runtime keeps errno in the exception's result, or in that of the inner exception if access is denied.
    private static int ErrorOf(Exception exception)
    {
        if (OperatingSystem.IsWindows()) return exception.HResult & 0xFFFF;
        return exception switch
        {
            FileNotFoundException or DirectoryNotFoundException => NotFound,
            PathTooLongException => NameTooLong,
            UnauthorizedAccessException { InnerException: { } inner } => inner.HResult,
            { HResult: > 0 and <= ErrnoMax } => exception.HResult,
            _ => InputOutput,
        };
    }
}
