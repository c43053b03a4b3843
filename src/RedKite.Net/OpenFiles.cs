using RedKite.Net.Interop;

namespace RedKite.Net;

/// <summary>The process's open files, including connections, and the system's limit. Known on Linux only.</summary>
internal static class OpenFiles
{
    /// <summary>The limit if none is known.</summary>
    public const long Unlimited = long.MaxValue;

    private const string DescriptorFolder = "/proc/self/fd";

    /// <summary>How many files the process has open, the runtime's own included; 0: unknown.</summary>
    public static int Count
    {
        get
        {
            try
            {
                return Directory.Exists(DescriptorFolder) ? Directory.EnumerateFileSystemEntries(DescriptorFolder).Count() : 0;
            }
            catch (IOException)
            {
                return LinuxCalls.TryGetFileLimit(out ulong soft, out _) ? (int)Math.Min(soft, int.MaxValue) : 0; // not even the folder can be opened: all are in use
            }
        }
    }

    /// <summary>Writes a line to standard error without opening a file, as the runtime's console would.</summary>
    public static void WriteError(string line) => LinuxCalls.WriteToError(System.Text.Encoding.ASCII.GetBytes(line + "\n"));

    /// <summary>
    /// Raises the process's limit if it is lower than what is needed: the hard limit too where that is allowed, otherwise
    /// up to it. It is never lowered.
    /// </summary>
    /// <returns>The limit from now on; it may be lower than what is needed.</returns>
    public static long RaiseLimit(long needed)
    {
        if (!LinuxCalls.IsSupported || !LinuxCalls.TryGetFileLimit(out ulong soft, out ulong hard)) return Unlimited;
        var wanted = (ulong)needed;
        if (soft < wanted)
        {
            if (LinuxCalls.TrySetFileLimit(wanted, Math.Max(wanted, hard))) soft = wanted;
            else if (LinuxCalls.TrySetFileLimit(hard, hard)) soft = hard;
        }

        return (long)Math.Min(soft, (ulong)Unlimited);
    }
}
