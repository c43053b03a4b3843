namespace RedKite.Server.Model;

/// <summary>
/// How many bytes of clients' names may be kept in the managed heap: a share of what the process may use, and nothing while that is nearly used up. It is
/// checked before they are allocated, because an allocation that fails there ends the process.
/// </summary>
internal static class ManagedText
{
    /// <summary>What is not worth checking.</summary>
    internal const int FreeBytes = 4096;

    private const long BytesMost = 64L * 1024 * 1024;
    private const int Share = 16;
    private const int TrackedShare = 8;

    // The machine's memory, its container's, or the limit of the managed heap.
    private static readonly long ProcessBytes = GC.GetGCMemoryInfo().TotalAvailableMemoryBytes;

    /// <summary>The maximum bytes of what one client keeps.</summary>
    internal static long BytesMax { get; } = BytesMaxOf(ProcessBytes);

    /// <summary>The maximum bytes of the names of tracked keys, of all clients together.</summary>
    internal static long TrackedBytesMax { get; } = ProcessBytes / TrackedShare;

    internal static long BytesMaxOf(long processBytes) => Math.Min(BytesMost, processBytes / Share);

    /// <summary>Whether a client may keep more. Its command copies what it adds at most three times.</summary>
    /// <param name="bytes">What it would keep in all.</param>
    /// <param name="addedBytes">What is added.</param>
    internal static bool HasRoom(long bytes, long addedBytes) =>
        bytes <= BytesMax && GC.GetTotalMemory(forceFullCollection: false) + (3 * addedBytes) <= ProcessBytes / 4 * 3;
}
