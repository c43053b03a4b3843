using System.Buffers.Text;

namespace RedKite.Server.Metrics;

/// <summary>The operating system's figures of this process's memory and the machine's.</summary>
internal static class ProcessMemory
{
    private const string StatmPath = "/proc/self/statm";
    private const string MemInfoPath = "/proc/meminfo";

    /// <summary>Bytes of the machine's memory.</summary>
    internal static long TotalSystemBytes { get; } = ReadTotal();

    /// <summary>Bytes of the process that are in physical memory.</summary>
    internal static long ResidentBytes
    {
        get
        {
            if (!OperatingSystem.IsLinux()) return Environment.WorkingSet;

            // All pages, then resident ones.
            Span<byte> text = stackalloc byte[128];
            text = Read(StatmPath, text);
            int second = text.IndexOf((byte)' ') + 1;
            return second > 0 && Utf8Parser.TryParse(text[second..], out long pages, out _) ? pages * Environment.SystemPageSize : Environment.WorkingSet;
        }
    }

    private static long ReadTotal()
    {
        if (OperatingSystem.IsLinux())
        {
            Span<byte> text = stackalloc byte[128];
            text = Read(MemInfoPath, text);
            int digits = text.IndexOfAnyInRange((byte)'0', (byte)'9');
            if (text.StartsWith("MemTotal:"u8) && digits > 0 && Utf8Parser.TryParse(text[digits..], out long kibibytes, out _)) return kibibytes * 1024;
        }

        return GC.GetGCMemoryInfo().TotalAvailableMemoryBytes;
    }

    /// <summary>Reads the start of a file of /proc into the buffer; empty if it cannot be read.</summary>
    internal static Span<byte> Read(string path, Span<byte> buffer)
    {
        try
        {
            using Microsoft.Win32.SafeHandles.SafeFileHandle file = File.OpenHandle(path);
            return buffer[..RandomAccess.Read(file, buffer, 0)];
        }
        catch (Exception failure) when (failure is IOException or UnauthorizedAccessException or NotSupportedException)
        {
            return [];
        }
    }
}
