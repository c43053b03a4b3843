using System.Runtime.InteropServices;

namespace RedKite.Sketches.Store;

/// <summary>
/// A part of a sketch: bytes in pages. A page that was never written has no block, and reads as zeros. A part of one page has its block's address in the
/// part; one of several pages has the address of a directory.
/// </summary>
[StructLayout(LayoutKind.Sequential)]
internal unsafe struct SketchPart
{
    internal const int NumberCount = 4;

    internal byte* Root;

    /// <summary>All bytes, those of missing pages included.</summary>
    internal long Bytes;

    internal long PageBytes;
    internal int PageCount;

    /// <summary>Whether there is a directory of pages. It stays true while pages are freed.</summary>
    internal bool HasDirectory;

    private fixed ulong _numbers[NumberCount];

    internal static SketchPart Of(long bytes, bool isWhole)
    {
        long pageBytes = isWhole ? Math.Max(bytes, 1) : Math.Clamp(bytes, 1, SketchData.PageBytes);
        int pages = (int)((bytes + pageBytes - 1) / pageBytes);
        return new SketchPart { Bytes = bytes, PageBytes = pageBytes, PageCount = pages, HasDirectory = pages > 1 };
    }

    internal static ref ulong Number(SketchPart* part, int index)
    {
        ArgumentOutOfRangeException.ThrowIfGreaterThanOrEqual((uint)index, (uint)NumberCount);
        return ref part->_numbers[index];
    }

    internal static byte** PageAddress(SketchPart* part, int page) => part->HasDirectory ? (byte**)part->Root + page : &part->Root;

    internal static long PageLength(SketchPart* part, int page) => Math.Min(part->PageBytes, part->Bytes - (page * part->PageBytes));
}
