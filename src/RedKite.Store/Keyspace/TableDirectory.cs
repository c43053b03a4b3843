using System.Runtime.CompilerServices;

namespace RedKite.Store.Keyspace;

/// <summary>
/// The directory: which segment has a prefix. Up to 16 bits of a prefix lead to a segment in one step. Where more are needed, as for millions of keys of one slot, which begin
/// with the same bits, the entry leads to a lower directory for the bits behind: one directory for all would be as deep as its deepest segment, 4 bytes for each of ten million
/// keys of a slot, and a copy of it a pause of milliseconds.
/// </summary>
internal sealed unsafe partial class Table
{
    private const int DepthMax = 31; // a cursor has 5 bits for it

    private const int UpperDepthMax = 16;

    // Segments are aligned, and so are directories.
    private const nuint LowerBit = 1;

    private nuint* _directory; // [0]: depth; then 2^depth segments, or lower directories with the bit set

    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    private byte* SegmentOfPrefix(uint prefix)
    {
        nuint* directory = _directory; // read once: depth and segments always belong together
        nuint found = directory[1 + ((ulong)prefix >> (32 - (int)directory[0]))];
        return (found & LowerBit) == 0 ? (byte*)found : SegmentBelow(found, prefix);
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    private static byte* SegmentBelow(nuint found, uint prefix)
    {
        nuint* lower = Lower(found);
        return (byte*)lower[1 + ((ulong)(prefix << UpperDepthMax) >> (32 - (int)lower[0]))];
    }

    private static nuint* Lower(nuint entry) => (nuint*)(entry & ~LowerBit);

    // Makes a directory so deep that a segment with a prefix may have a depth, one more than now.
    private void DeepenDirectory(uint prefix, int depth)
    {
        if (depth > DepthMax) throw new InvalidOperationException("A table's directory is at its largest.");
        nuint* old = _directory;
        if (depth <= UpperDepthMax)
        {
            if (depth <= (int)old[0]) return;
            nuint* wider = Wider(old, isLower: false);
            Thread.MemoryBarrier(); // a prefetch on another thread sees the new directory filled
            _directory = wider;
            _pool.ReturnDirectory(old, isLower: false);
            return;
        }

        nuint* entry = old + 1 + (prefix >> (32 - UpperDepthMax)); // the upper directory has its full depth, since the segment has it
        nuint* lower;
        if ((*entry & LowerBit) == 0)
        {
            lower = _pool.TakeDirectory(depth: 1, isLower: true);
            lower[1] = lower[2] = *entry;
            old = null;
        }
        else
        {
            old = Lower(*entry);
            if (depth - UpperDepthMax <= (int)old[0]) return;
            lower = Wider(old, isLower: true);
        }

        Thread.MemoryBarrier();
        *entry = (nuint)lower | LowerBit;
        if (old != null) _pool.ReturnDirectory(old, isLower: true);
    }

    private nuint* Wider(nuint* old, bool isLower)
    {
        var depth = (int)old[0] + 1;
        nuint* wider = _pool.TakeDirectory(depth, isLower);
        for (nuint i = 0; i < (nuint)1 << (depth - 1); i++) wider[1 + (2 * i)] = wider[2 + (2 * i)] = old[1 + i];
        return wider;
    }

    // Makes every entry of a segment's prefix range point to it. The range of a joined segment may be all of a lower directory, which is returned then.
    private void Point(byte* segment)
    {
        Segment.Header* header = Segment.Of(segment);
        nuint* directory = _directory;
        uint prefix = header->Prefix;
        int own = header->Depth;
        if (own > UpperDepthMax)
        {
            directory = Lower(directory[1 + (prefix >> (32 - UpperDepthMax))]);
            prefix <<= UpperDepthMax;
            own -= UpperDepthMax;
        }

        var depth = (int)directory[0];
        nuint* entries = directory + 1 + ((ulong)prefix >> (32 - depth));
        nuint before = *entries;
        nuint count = (nuint)1 << (depth - own);
        for (nuint i = 0; i < count; i++) entries[i] = (nuint)segment;
        if ((before & LowerBit) != 0) _pool.ReturnDirectory(Lower(before), isLower: true);
    }

    // Of a table without segments.
    private void ReturnDirectories()
    {
        if ((int)_directory[0] == UpperDepthMax)
        {
            for (nuint i = 1; i <= 1 << UpperDepthMax; i++)
            {
                if ((_directory[i] & LowerBit) != 0) _pool.ReturnDirectory(Lower(_directory[i]), isLower: true);
            }
        }

        _pool.ReturnDirectory(_directory, isLower: false);
    }
}
