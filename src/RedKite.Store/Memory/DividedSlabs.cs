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
/// Runs of free pages that are shorter than what a class wants next are used first, as long as a few of its blocks fit. When they
/// were left for classes that want less, 64 stripes with 1.2 million keys of five types held 19 % more than their blocks, instead of 9.
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

    // Slabs of a list that are looked at for enough free pages.
    private const int SearchedMax = 8;

    // By the length of the longest run of free pages: 1, 2 or 3, 4 to 7, 8 to 15.
    private const int Lists = 4;
    private const byte NoList = byte.MaxValue;

    private readonly Divided*[] _first = new Divided*[Lists];

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
    /// <param name="least">The pages that it must have.</param>
    /// <param name="wanted">The pages that it should have. It gets fewer if they fill a gap: pages that no class can use would add up.</param>
    /// <param name="pages">Its pages.</param>
    internal byte* Take(int least, int wanted, out int pages)
    {
        Debug.Assert(least is > 0 && wanted >= least && wanted <= PagesMax, "A small slab is at most half of a slab.");
        Divided* slab = Find(least, wanted);
        if (slab == null) slab = Add();
        pages = Math.Min(LongestRun(slab->Free), wanted);
        int start = FindRun(slab->Free, pages);
        int mask = ((1 << pages) - 1) << start;
        slab->Free ^= (ushort)mask;
        ReleasedBytes -= BitOperations.PopCount((uint)(slab->Released & mask)) * PageBytes;
        slab->Released &= (ushort)~mask;
        Enlist(slab);
        byte* header = (byte*)slab + (start == 0 ? HeaderBytes : start * PageBytes);
        new Span<ushort>(&slab->Headers[start], pages).Fill((ushort)(header - (byte*)slab));
        return header;
    }

    /// <summary>Takes a small slab back.</summary>
    /// <param name="header">Its address.</param>
    /// <param name="pages">Its pages.</param>
    internal void Return(byte* header, int pages)
    {
        var slab = (Divided*)Arena.SlabOf(header);
        int start = (int)(header - (byte*)slab) / PageBytes;
        slab->Free |= (ushort)(((1 << pages) - 1) << start);
        if (slab->Free != AllPages)
        {
            Enlist(slab);
            return;
        }

        Unlist(slab);
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
        foreach (Divided* first in _first)
        {
            for (Divided* slab = first; slab != null; slab = slab->Next) ReleaseFreePages((byte*)slab);
        }
    }

    public void Dispose() => Array.Clear(_first); // The source frees the slabs.

    // First where the wanted pages may just fit, then in smaller gaps, then in larger ones.
    private Divided* Find(int least, int wanted)
    {
        int fits = BitOperations.Log2((uint)wanted);
        for (int list = fits; list >= BitOperations.Log2((uint)least); list--)
        {
            Divided* slab = _first[list];
            for (int i = 0; i < SearchedMax && slab != null; i++, slab = slab->Next)
            {
                if (LongestRun(slab->Free) >= least) return slab;
            }
        }

        for (int list = fits + 1; list < Lists; list++)
        {
            if (_first[list] != null) return _first[list];
        }

        return null;
    }

    private Divided* Add()
    {
        var slab = (Divided*)source.Take();
        slab->Kind = 0;
        slab->Free = AllPages;
        slab->Released = 0;
        slab->List = NoList;
        Count++;
        return slab;
    }

    // Puts a slab whose free pages have changed into their list.
    private void Enlist(Divided* slab)
    {
        byte list = slab->Free == 0 ? NoList : (byte)BitOperations.Log2((uint)LongestRun(slab->Free));
        if (list == slab->List) return;
        Unlist(slab);
        slab->List = list;
        if (list == NoList) return;
        Divided* first = _first[list];
        slab->Previous = null;
        slab->Next = first;
        if (first != null) first->Previous = slab;
        _first[list] = slab;
    }

    private void Unlist(Divided* slab)
    {
        if (slab->List == NoList) return;
        if (slab->Previous != null) slab->Previous->Next = slab->Next;
        else _first[slab->List] = slab->Next;
        if (slab->Next != null) slab->Next->Previous = slab->Previous;
        slab->List = NoList;
    }

    private static int LongestRun(uint free)
    {
        int length = 0;
        for (; free != 0; length++) free &= free >> 1;
        return length;
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

        [FieldOffset(KindOffset + 1)]
        public byte List;
    }
}
