using System.Globalization;
using System.Runtime.InteropServices;
using System.Text;
using System.Text.Unicode;

namespace RedKite.Store.Keyspace;

/// <summary>
/// The crash report of a process whose managed heap is exhausted. Everything that it needs is made in advance: on Linux, writing it
/// allocates no managed memory.
/// </summary>
internal sealed unsafe partial class PreparedReport
{
    private const int OpenForWriting = 1;
    private const int CreateNewCloseOnExec = 0x40 | 0x80 | 0x80000;
    private const int WritableByOwner = 0x1A4; // rw-r--r--
    private const int CommandBytesMax = 64;

    private readonly string _path;
    private readonly byte[] _pathBytes;
    private readonly byte[] _text;
    private readonly int _prefixLength;

    /// <summary>Prepares a report.</summary>
    /// <param name="folder">The folder of the file.</param>
    /// <param name="version">The product's version.</param>
    internal PreparedReport(string folder, string version)
    {
        // The time in the name is the server's start: the name is part of what is made in advance.
        string name = string.Create(CultureInfo.InvariantCulture, $"redkite-crash-{DateTime.UtcNow:yyyyMMdd-HHmmss}-{Environment.ProcessId}-memory.txt");
        _path = Path.Combine(folder, name);
        _pathBytes = Encoding.UTF8.GetBytes(_path + '\0');
        Message = $"RedKite: an exception escaped while keys were locked. Crash report: {_path}";
        byte[] prefix = Encoding.UTF8.GetBytes(string.Create(CultureInfo.InvariantCulture, $"""
            RedKite {version} has stopped: an exception escaped while keys were locked, so they may be half changed.
            It could not be described here, most likely because the managed heap is exhausted; standard error has its stack.

            process:    {Environment.ProcessId}
            runtime:    {RuntimeInformation.FrameworkDescription}, {RuntimeInformation.RuntimeIdentifier}
            command:    
            """));
        _prefixLength = prefix.Length;
        _text = new byte[prefix.Length + CommandBytesMax + 1];
        prefix.CopyTo(_text, 0);
        _ = OperatingSystem.IsLinux() && WriteOnLinux("/dev/null\0"u8, Complete("ping"), OpenForWriting); // compiled and linked while there is memory
    }

    /// <summary>The process's last words once the report is written.</summary>
    internal string Message { get; }

    /// <summary>Writes the report.</summary>
    /// <param name="command">The command that failed, or other work of the thread, if known.</param>
    /// <returns>False: the file could not be created or written.</returns>
    internal bool TryWrite(string? command)
    {
        ReadOnlySpan<byte> text = Complete(command ?? "unknown");
        return OperatingSystem.IsLinux() ? WriteOnLinux(_pathBytes, text, OpenForWriting | CreateNewCloseOnExec) : WriteByFramework(text);
    }

    private ReadOnlySpan<byte> Complete(string command)
    {
        Utf8.FromUtf16(command, _text.AsSpan(_prefixLength, CommandBytesMax), out _, out int commandLength);
        int end = _prefixLength + commandLength;
        _text[end] = (byte)'\n';
        return _text.AsSpan(0, end + 1);
    }

    private static bool WriteOnLinux(ReadOnlySpan<byte> path, ReadOnlySpan<byte> text, int flags)
    {
        fixed (byte* pathStart = path, textStart = text)
        {
            int file = open(pathStart, flags, WritableByOwner);
            if (file < 0) return false;
            nint written = write(file, textStart, (nuint)text.Length);
            _ = close(file);
            return written == text.Length;
        }
    }

    private bool WriteByFramework(ReadOnlySpan<byte> text)
    {
        try
        {
            using Microsoft.Win32.SafeHandles.SafeFileHandle file = File.OpenHandle(_path, FileMode.CreateNew, FileAccess.Write);
            RandomAccess.Write(file, text, 0);
            return true;
        }
        catch (Exception failure) when (failure is IOException or UnauthorizedAccessException)
        {
            return false;
        }
    }

    [LibraryImport("libc")]
    private static partial int open(byte* path, int flags, int mode);

    [LibraryImport("libc")]
    private static partial nint write(int file, byte* bytes, nuint count);

    [LibraryImport("libc")]
    private static partial int close(int file);
}
