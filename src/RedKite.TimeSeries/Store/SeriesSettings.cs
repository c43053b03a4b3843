using System.Runtime.InteropServices;

namespace RedKite.TimeSeries.Store;

/// <summary>What becomes of a sample whose timestamp the series has already.</summary>
internal enum DuplicatePolicy : byte
{
    /// <summary>None was given: as <see cref="Block"/>.</summary>
    None,
    Block,
    First,
    Last,
    Min,
    Max,
    Sum,
}

/// <summary>The settings of one series.</summary>
[StructLayout(LayoutKind.Sequential)]
internal struct SeriesSettings
{
    internal const int ChunkBytesMin = 48;
    internal const int ChunkBytesMax = 1 << 20;
    internal const int ChunkBytesUsual = 4096;

    /// <summary>Those of a series for which nothing else was said.</summary>
    internal static SeriesSettings Usual => new() { ChunkBytes = ChunkBytesUsual, IsCompressed = true };

    /// <summary>Samples that are older than the newest one by more are removed; 0: none are.</summary>
    internal long Retention;

    /// <summary>Of an inserted sample behind the newest one, in milliseconds: as near it is ignored, if its value is near, too.</summary>
    internal long IgnoredTime;

    internal double IgnoredValue;

    /// <summary>The bytes of a new chunk's data, at most.</summary>
    internal int ChunkBytes;

    internal bool IsCompressed;

    internal DuplicatePolicy Policy;

    internal static bool IsChunkSize(long bytes) => bytes is >= ChunkBytesMin and <= ChunkBytesMax && bytes % 8 == 0;

    internal readonly bool IsValid() =>
        Retention >= 0 && IgnoredTime >= 0 && IgnoredValue >= 0 && double.IsFinite(IgnoredValue) && IsChunkSize(ChunkBytes) && Policy <= DuplicatePolicy.Sum;
}
