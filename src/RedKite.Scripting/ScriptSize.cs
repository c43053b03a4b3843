namespace RedKite.Scripting;

/// <summary>
/// How large scripts may be in this process. Compiling holds a text about nine times in the managed heap, and about 400 bytes for each replacement that
/// translating it needs, so both limits follow what the process may use. They are checked before the memory is allocated.
/// </summary>
internal static class ScriptSize
{
    // Compiling is one piece of work while all clients wait: a MiB takes 70 ms, or 200 ms if it has nothing but operators; 15 MB took three seconds.
    private const long SourceBytesMost = 2L * 1024 * 1024;
    private const int SourceShare = 32;
    private const int EditShare = 2048;
    private const int KeptShare = 8;
    private const int MemoryShare = 8;

    // A text of a script fits in one of .NET.
    private const long MemoryBytesMost = 1000L << 20;

    // The machine's memory, its container's, or the limit of the managed heap.
    private static readonly long ProcessBytes = GC.GetGCMemoryInfo().TotalAvailableMemoryBytes;

    /// <summary>The maximum bytes of a script or library.</summary>
    internal static int SourceBytesMax { get; } = (int)SourceBytesMaxOf(ProcessBytes);

    /// <summary>The maximum replacements that translating a script to Lua 5.4 may need.</summary>
    internal static int EditsMax { get; } = (int)Math.Min(ProcessBytes / EditShare, int.MaxValue);

    /// <summary>The maximum bytes of all cached scripts, and of all libraries, whatever the settings say: their texts are in the managed heap.</summary>
    internal static long KeptBytesMax { get; } = ProcessBytes / KeptShare;

    /// <summary>The maximum memory of an interpreter, whatever the settings say: replies, arguments and texts of a third of it are in the managed heap.</summary>
    internal static long MemoryBytesMax { get; } = MemoryBytesMaxOf(ProcessBytes);

    /// <summary>The error of a text that is too long, or null.</summary>
    internal static string? ErrorOf(long sourceBytes) =>
        sourceBytes <= SourceBytesMax ? null : $"the text has more than {SourceBytesMax} bytes, the limit";

    internal static long MemoryBytesMaxOf(long processBytes) => Math.Min(MemoryBytesMost, processBytes / MemoryShare);

    internal static long SourceBytesMaxOf(long processBytes) => Math.Min(SourceBytesMost, processBytes / SourceShare);
}
