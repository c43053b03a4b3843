using System.Runtime.InteropServices;
using RedKite.Store.Memory;

namespace RedKite.Store.Keyspace;

/// <summary>
/// The segments of one stripe's tables, eight to a slab. Freed ones keep their addresses (see <see cref="SlabSource"/>)
/// but release their pages beyond the first few; directories are kept for the next one of the same depth. Used with the
/// stripe's lock held.
/// </summary>
internal sealed unsafe class SegmentPool : IDisposable
{
    private const int FreeSegmentsKeptMax = 16;

    private readonly SlabSource _source;
    private readonly Stack<nint> _kept = new();
    private readonly Stack<nint> _discarded = new();
    private readonly Stack<nint>?[] _directories = new Stack<nint>?[32];
    private readonly Stack<nint>?[] _lowerDirectories = new Stack<nint>?[32];
    private byte* _next;
    private byte* _end;

    internal SegmentPool(SlabSource source)
    {
        _source = source;
        Scratch = (byte*)NativeMemory.AlignedAlloc(Segment.Bytes, 64);
    }

    /// <summary>Room for one segment while it is split.</summary>
    internal byte* Scratch { get; }

    internal long UsedBytes { get; private set; }

    /// <summary>A segment with undefined content.</summary>
    internal byte* Take()
    {
        Count(Segment.Bytes);
        if (_kept.TryPop(out nint kept)) return (byte*)kept;
        if (_discarded.TryPop(out nint discarded)) return (byte*)discarded;
        if (_next == _end)
        {
            _next = _source.TakeForTables();
            _end = _next + SlabSource.SlabBytes;
        }

        byte* segment = _next;
        _next += Segment.Bytes;
        return segment;
    }

    internal void Return(byte* segment)
    {
        Count(-Segment.Bytes);
        if (_kept.Count < FreeSegmentsKeptMax)
        {
            _kept.Push((nint)segment);
            return;
        }

        SystemMemory.Discard(segment, Segment.Bytes);
        _discarded.Push((nint)segment);
    }

    /// <summary>Releases the pages of every free segment.</summary>
    internal void ReleaseKept()
    {
        while (_kept.TryPop(out nint segment))
        {
            SystemMemory.Discard((byte*)segment, Segment.Bytes);
            _discarded.Push(segment);
        }
    }

    /// <summary>
    /// A directory: its depth, then 2^depth entries, undefined yet. Lower ones are kept in lists of their own: a thread that reads one without the lock, possibly after it was returned and taken again, finds
    /// nothing but segments in it.
    /// </summary>
    internal nuint* TakeDirectory(int depth, bool isLower)
    {
        nuint bytes = DirectoryBytes(depth);
        Count((long)bytes);
        if ((isLower ? _lowerDirectories : _directories)[depth] is { Count: > 0 } kept) return (nuint*)kept.Pop();
        var directory = (nuint*)NativeMemory.Alloc(bytes);
        directory[0] = (nuint)depth;
        return directory;
    }

    internal void ReturnDirectory(nuint* directory, bool isLower)
    {
        var depth = (int)directory[0];
        Count(-(long)DirectoryBytes(depth));
        ((isLower ? _lowerDirectories : _directories)[depth] ??= new Stack<nint>()).Push((nint)directory);
    }

    /// <summary>Ends the pool after its tables.</summary>
    public void Dispose()
    {
        NativeMemory.AlignedFree(Scratch);
        foreach (Stack<nint>? directories in (ReadOnlySpan<Stack<nint>?>)[.. _directories, .. _lowerDirectories])
        {
            while (directories is not null && directories.TryPop(out nint directory)) NativeMemory.Free((void*)directory);
        }
    }

    private void Count(long bytes)
    {
        UsedBytes += bytes;
        _source.Budget.Add(bytes);
    }

    private static nuint DirectoryBytes(int depth) => (nuint)(1 + (1L << depth)) * (nuint)sizeof(nuint);
}
