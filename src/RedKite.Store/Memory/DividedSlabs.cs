using System.Diagnostics;
using System.Numerics;
using System.Runtime.InteropServices;

namespace RedKite.Store.Memory;

/// <summary>
/// One arena's small slabs: runs of 1 to 8 pages within slabs of 64 KiB, for classes of which the arena holds little yet. 64 stripes
/// with 70 classes each would otherwise hold 4,480 partly filled slabs, 140 MiB of free space. Used with the stripe's lock held.
/// </summary>
/// <remarks>
/// A divided slab begins with a header of one cache line: the masks of its pages, and for each page where its small slab's header is. A
/// small slab begins at its first page, or behind the divided slab's header if that is the first page. From then on it is a slab
/// like others: same header, one class. A byte at the place of a slab's class tells the two apart.
///
/// Rejected: wider classes for small stripes, because a block's size must not depend on its stripe, and arenas that several stripes
/// share, which would need a lock of their own.
/// </remarks>
internal sealed unsafe class DividedSlabs(SlabSource source) : IDisposable
{
    internal const int PageBytes = 4096;
    internal const int PagesMax = 8; // of a small slab

    /// <summary>The offset of the byte that is 0 in a divided slab, and the class in others.</summary>
    internal const int KindOffset = 56;

    internal const int HeaderBytes = 64;

    private const int Pages = SlabSource.SlabBytes / PageBytes;
    private const ushort AllPages = (1 << Pages) - 1;

    // Slabs that are looked at for free pages before another one is taken.
    private const int SearchedMax = 8;

    private Divided* _first; // those with free pages

    /// <summary>The number of divided slabs.</summary>
    internal int Count { get; private set; }

    /// <summary>Bytes of free pages that are released.</summary>
    internal long ReleasedBytes { get; private set; }

    /// <summary>The header of the slab that contains a block, which is in a divided slab.</summary>
    /// <param name="slab">The block's slab of 64 KiB.</param>
    /// <param name="block">The block.</param>
    internal static byte* HeaderOf(byte* slab, byte* block) =>
        slab + ((Divided*)slab)->Headers[(int)((nuint)block / PageBytes) & (Pages - 1)];

    /// <summary>Takes a small slab with undefined content.</summary>
    /// <param name="pages">Its pages.</param>
    /// <param name="end">The end of its last page.</param>
    internal byte* Take(int pages, out byte* end)
    {
        Debug.Assert(pages is > 0 and <= PagesMax, "A small slab is at most half of a slab.");
        Divided* slab = _first;
        int start = -1;
        for (int i = 0; i < SearchedMax && slab != null && (start = FindRun(slab->Free, pages)) < 0; i++) slab = slab->Next;
        if (start < 0)
        {
            slab = Add();
            start = 0;
        }

        int mask = ((1 << pages) - 1) << start;
        slab->Free ^= (ushort)mask;
        ReleasedBytes -= BitOperations.PopCount((uint)(slab->Released & mask)) * PageBytes;
        slab->Released &= (ushort)~mask;
        if (slab->Free == 0) Unlink(slab);
        byte* header = (byte*)slab + (start == 0 ? HeaderBytes : start * PageBytes);
        new Span<ushort>(&slab->Headers[start], pages).Fill((ushort)(header - (byte*)slab));
        end = (byte*)slab + ((start + pages) * PageBytes);
        return header;
    }

    /// <summary>Takes a small slab back.</summary>
    /// <param name="header">Its address.</param>
    /// <param name="pages">Its pages.</param>
    internal void Return(byte* header, int pages)
    {
        var slab = (Divided*)Arena.SlabOf(header);
        int start = (int)(header - (byte*)slab) / PageBytes;
        bool wasFull = slab->Free == 0;
        slab->Free |= (ushort)(((1 << pages) - 1) << start);
        if (wasFull) Link(slab);
        if (slab->Free != AllPages) return;
        Unlink(slab);
        ReleasedBytes -= BitOperations.PopCount(slab->Released) * PageBytes;
        Count--;
        source.Return((byte*)slab);
    }

    /// <summary>Releases the free pages of the slab that contains an address, if it is still divided.</summary>
    internal void ReleaseFreePages(byte* address)
    {
        var slab = (Divided*)address;
        for (int unreleased = slab->Free & ~slab->Released & ~1; unreleased != 0;) // the first page has the header
        {
            int start = BitOperations.TrailingZeroCount(unreleased);
            int pages = BitOperations.TrailingZeroCount(~(unreleased >> start));
            SystemMemory.Discard((byte*)slab + (start * PageBytes), (nuint)pages * PageBytes);
            int mask = ((1 << pages) - 1) << start;
            slab->Released |= (ushort)mask;
            ReleasedBytes += pages * PageBytes;
            unreleased &= ~mask;
        }
    }

    /// <summary>Releases all free pages.</summary>
    internal void ReleaseFreePages()
    {
        for (Divided* slab = _first; slab != null; slab = slab->Next) ReleaseFreePages((byte*)slab);
    }

    public void Dispose() => _first = null; // The source frees the slabs.

    private Divided* Add()
    {
        var slab = (Divided*)source.Take();
        slab->Kind = 0;
        slab->Free = AllPages;
        slab->Released = 0;
        Link(slab);
        Count++;
        return slab;
    }

    private void Link(Divided* slab)
    {
        slab->Previous = null;
        slab->Next = _first;
        if (_first != null) _first->Previous = slab;
        _first = slab;
    }

    private void Unlink(Divided* slab)
    {
        if (slab->Previous != null) slab->Previous->Next = slab->Next;
        else _first = slab->Next;
        if (slab->Next != null) slab->Next->Previous = slab->Previous;
    }

    // The first run of free pages, or -1.
    private static int FindRun(uint free, int pages)
    {
        for (int length = 1; length < pages; length++) free &= free >> 1;
        return free == 0 ? -1 : BitOperations.TrailingZeroCount(free);
    }

    [StructLayout(LayoutKind.Explicit, Size = HeaderBytes)]
    private struct Divided
    {
        [FieldOffset(0)]
        public Divided* Next;

        [FieldOffset(8)]
        public Divided* Previous;

        [FieldOffset(16)]
        public ushort Free; // a bit for each page

        [FieldOffset(18)]
        public ushort Released; // of the free ones

        [FieldOffset(20)]
        public fixed ushort Headers[Pages]; // for each page in use, the offset of its slab's header

        [FieldOffset(KindOffset)]
        public byte Kind;
    }
}
