using System.Buffers.Text;

namespace RedKite.Server.Metrics;

/// <summary>The processor time of the calling thread, from Linux; unknown elsewhere.</summary>
internal static class ThreadTime
{
    private const string StatPath = "/proc/thread-self/stat";

    // The unit of the file's times is 1/100 second on every architecture that .NET runs on.
    private const double TicksPerSecond = 100;

    // Counted from the field after the thread's name.
    private const int UserField = 11;

    internal static bool TryRead(out double userSeconds, out double systemSeconds)
    {
        userSeconds = systemSeconds = 0;
        if (!OperatingSystem.IsLinux()) return false;
        Span<byte> buffer = stackalloc byte[1024];
        ReadOnlySpan<byte> text = ProcessMemory.Read(StatPath, buffer);

        // The name is in parentheses and may contain spaces and parentheses.
        int nameEnd = text.LastIndexOf((byte)')');
        if (nameEnd < 0 || nameEnd + 2 > text.Length) return false;
        text = text[(nameEnd + 2)..];
        for (int skipped = 0; skipped < UserField; skipped++)
        {
            int blank = text.IndexOf((byte)' ');
            if (blank < 0) return false;
            text = text[(blank + 1)..];
        }

        if (!Utf8Parser.TryParse(text, out long user, out int digits) || digits + 1 > text.Length) return false;
        if (!Utf8Parser.TryParse(text[(digits + 1)..], out long system, out _)) return false;
        userSeconds = user / TicksPerSecond;
        systemSeconds = system / TicksPerSecond;
        return true;
    }
}
