using System.Diagnostics;
using System.Numerics;
using System.Runtime.CompilerServices;
using System.Runtime.InteropServices;

namespace RedKite.Store.Memory;

/// <summary>
/// The unmanaged memory of one stripe: size-classed slabs for blocks of up to 4 KiB, runs of units (<see cref="RunSlabs"/>) for
/// those of up to 16 KiB, the system for larger ones.
/// Not thread-safe: every call but <see cref="TakeBack"/> requires the stripe's lock. The owner of a block knows its size.
/// </summary>
/// <remarks>
/// A slab of a class: a 64-byte header, then blocks of one class. Blocks are carved in order as they are needed (untouched pages
/// stay unmapped) and freed ones are linked through their first eight bytes. A class's slabs grow with it: the first ones have a few
/// pages (<see cref="DividedSlabs"/>), later ones at most an eighth of what the class has, up to 64 KiB. A slab without blocks in use
/// is returned, except the one that became empty last. One free list per class was rejected: it cannot release memory.
///
/// Releasing the pages of a large block takes 100 microseconds per MiB. Blocks from 8 MiB on therefore wait, linked through their
/// first bytes, until the background sweep releases them in pieces; a caller that frees very many blocks may queue them there too.
/// Smaller blocks are freed at once: usually their pages stay for the next block, which benefits values that are often replaced.
///
/// A value may move to another stripe by pointer (RENAME). Its blocks stay in the arena that allocated them, and new blocks come
/// from the new stripe's arena. Each slab names its arena, so a block that is freed elsewhere is pushed onto its arena's list of
/// returned blocks, which needs no lock, and is freed there later (docs/adr/0007).
/// </remarks>
internal sealed unsafe partial class Arena : IDisposable
{
    private const int SlabHeaderBytes = 64;

    // The header that the system's allocator puts before a block, for the accounting.
    private const int LargeOverheadBytes = 16;

    // Blocks of this size and more are freed in pieces.
    private const int AtOnceMax = 8 << 20;

    // Two or three pieces per slice of background work.
    private const int PieceBytes = 256 << 10;

    // Beyond this, a client that drops large values faster than they are freed waits for the freeing itself.
    private const long WaitingBytesMax = 2L << 30;

    // The returned blocks that are freed before a class gets another slab: well under a microsecond.
    private const int ReturnedPerSlab = 16;

    private const int SlabPages = SlabSource.SlabBytes / PageBytes;

    // The lowest bit of a returned block's address.
    private const nint RunBit = 1;

    private readonly SlabSource _source;
    private readonly Slab** _open; // for each class, the slabs with free blocks
    private readonly int* _classPages; // for each class, the pages of its slabs
    private readonly RunSlabs _runs;
    private readonly DividedSlabs _divided;
    private readonly ArenaGuard? _guard;
    private readonly int _id;
    private nint _returned;     // blocks that were freed through other arenas, linked through their first bytes
    private nint _takenBack;    // blocks taken off that list, to be freed next
    private long _returnedBytes;
    private Slab* _lastEmptied;
    private byte* _scratch;
    private WaitingBlock* _waiting;
    private long _waitingBytes;
    private long _takenBytes;
    private long _blockBytes;
    private long _largeBytes;
    private long _largeBytesReleased;
    private long _slabs; // of 64 KiB, without the divided ones
    private long _reported; // to the budget
    private long _reportBelow; // the next report is due below this usage, or above _reportAbove
    private long _reportAbove;

    /// <summary>The bytes of <see cref="Scratch"/>.</summary>
    internal const int ScratchBytes = 4096;

    internal Arena(SlabSource source, ArenaGuard? guard = null)
    {
        _source = source;
        _id = source.Register(this);
        _runs = new RunSlabs(source, _id);
        _divided = new DividedSlabs(source);
        _guard = guard;
        Report();
        _open = (Slab**)NativeMemory.AllocZeroed((nuint)BlockSize.ClassCount, (nuint)sizeof(Slab*));
        _classPages = (int*)NativeMemory.AllocZeroed((nuint)BlockSize.ClassCount, sizeof(int));
    }

    /// <summary>Bytes of all blocks in use, rounded to their classes, without those that wait to be freed.</summary>
    internal long UsedBytes => _blockBytes + _largeBytes - FreeingBytes;

    /// <summary>Bytes of blocks that wait to be freed: those of <see cref="FreeLater"/>, those that other stripes returned, and <see cref="NoteTaken"/>.</summary>
    internal long FreeingBytes => _waitingBytes + _takenBytes + Volatile.Read(ref _returnedBytes);

    /// <summary>Bytes of blocks that come from the system.</summary>
    internal long LargeBytes => _largeBytes;

    /// <summary>
    /// Whether the pages of large blocks that are freed are released at once: the data of a whole database is freed. The C runtime's heap keeps the pages of free blocks
    /// below any block in use, so that after a flush of 2.2 GiB in values of some ten KiB the process kept 2 GiB.
    /// </summary>
    internal bool ReleasesLargePages { get; private set; }

    internal void BeginReleasingLargePages() => ReleasesLargePages = true;

    internal void EndReleasingLargePages() => ReleasesLargePages = false;

    /// <summary>Bytes of the blocks whose pages were released so since the last call.</summary>
    internal long TakeLargeBytesReleased()
    {
        long bytes = _largeBytesReleased;
        _largeBytesReleased = 0;
        return bytes;
    }

    /// <summary>Bytes of the slabs and large blocks that this arena holds, including free blocks but without released pages.</summary>
    internal long HeldBytes => ((_slabs + _divided.Count) * SlabSource.SlabBytes) + ((long)_runs.Count * SlabSource.LargeSlabBytes) + _largeBytes - ReleasedBytes;

    /// <summary>Whether there are blocks for <see cref="FreeWaiting"/>.</summary>
    internal bool HasWaiting => _waiting != null || HasReturned;

    /// <summary>A buffer for data whose size is not known yet. It belongs to the caller until the stripe's lock is released.</summary>
    internal byte* Scratch => _scratch != null ? _scratch : _scratch = (byte*)NativeMemory.Alloc(ScratchBytes);

    /// <summary>The slab of 64 KiB that contains a block, unless the block is too large for slabs. It may be divided.</summary>
    internal static byte* SlabOf(byte* block) => (byte*)((nuint)block & ~(nuint)(SlabSource.SlabBytes - 1));

    /// <summary>Allocates a block of at least <paramref name="bytes"/>, aligned to 8, with undefined content.</summary>
    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    internal byte* Allocate(long bytes)
    {
        if (_guard is not null) return AllocateGuarded(bytes);
        if (bytes > BlockSize.ClassBlockMax) return AllocateLarge(bytes);

        int sizeClass = BlockSize.ClassOf((int)bytes);
        Slab* slab = _open[sizeClass];
        if (slab == null || slab->Free == null) return AllocateSlow(sizeClass);

        // The common case once data has been freed: the class's first slab has a free block.
        byte* block = slab->Free;
        slab->Free = *(byte**)block;
        slab->Used++;
        _blockBytes += slab->BlockBytes;
        if (_blockBytes > _reportAbove) Report();
        if (slab->Free == null && slab->Next == slab->End) Unlink(slab, sizeClass);
        return block;
    }

    /// <summary>Frees a block; <paramref name="bytes"/> is its size when it was allocated (or another size of the same class).</summary>
    internal void Free(byte* block, long bytes)
    {
        if (bytes >= AtOnceMax) FreeLater(block, bytes);
        else FreeNow(block, bytes);
    }

    /// <summary>Frees a block like <see cref="Free"/>, but only when <see cref="FreeWaiting"/> reaches it. Its contents are lost at once.</summary>
    internal void FreeLater(byte* block, long bytes)
    {
        if (bytes < sizeof(WaitingBlock) || _waitingBytes + bytes > WaitingBytesMax)
        {
            FreeNow(block, bytes);
            return;
        }

        bytes = BlockSize.RoundUp(bytes);
        var waiting = (WaitingBlock*)block;
        waiting->Next = _waiting;
        waiting->Bytes = bytes;
        waiting->Released = 0;
        _waiting = waiting;
        _waitingBytes += AccountedBytes(bytes);
        Report();
    }

    /// <summary>Notes that a removed value of this size stays until a snapshot has written it, or that it does no longer (negative).</summary>
    internal void NoteTaken(long bytes)
    {
        _takenBytes += bytes;
        Report();
    }

    /// <summary>Accepts a block of this arena that was freed through another one. Needs no lock.</summary>
    private void TakeBack(byte* block, long bytes, bool isRun)
    {
        Interlocked.Add(ref _returnedBytes, bytes);
        _source.Budget.Add(-bytes);
        if (_guard is not null)
        {
            _guard.Return(block, bytes);
            return;
        }

        if (isRun) *(long*)(block + sizeof(nint)) = bytes;
        nint head = Volatile.Read(ref _returned);
        while (true)
        {
            *(nint*)block = head;
            nint seen = Interlocked.CompareExchange(ref _returned, (nint)block | (isRun ? RunBit : 0), head);
            if (seen == head) return;
            head = seen;
        }
    }

    /// <summary>Frees a limited number of waiting blocks, or releases a piece of a large one.</summary>
    internal void FreeWaiting(int blocksMax)
    {
        blocksMax -= FreeReturned(blocksMax);
        for (; _waiting != null && blocksMax > 0; blocksMax--)
        {
            WaitingBlock* block = _waiting;
            long left = block->Bytes - block->Released - PieceBytes;
            if (left >= PieceBytes)
            {
                SystemMemory.DiscardWithin((byte*)block + left, PieceBytes);
                block->Released += PieceBytes;
                return;
            }

            _waiting = block->Next;
            _waitingBytes -= AccountedBytes(block->Bytes);
            FreeNow((byte*)block, block->Bytes);
        }
    }

    /// <summary>Resizes a block; the leading bytes that fit both sizes are kept.</summary>
    internal byte* Reallocate(byte* block, long bytes, long newBytes)
    {
        long rounded = BlockSize.RoundUp(bytes);
        long newRounded = BlockSize.RoundUp(newBytes);
        if (rounded == newRounded) return block;
        if (_guard is null && Math.Min(rounded, newRounded) > BlockSize.RunBlockMax)
        {
            // The system moves large blocks by remapping their pages, which copies nothing.
            byte* resized = SystemMemory.Reallocate(block, (nuint)newRounded);
            _largeBytes += newRounded - rounded;
            Report();
            return resized;
        }

        if (_guard is null && IsRun(rounded) && IsRun(newRounded) && RunSlabs.OwnerOf(block) == _id && _runs.TryResize(block, (int)rounded, (int)newRounded))
        {
            _blockBytes += newRounded - rounded;
            return block;
        }

        byte* moved = Allocate(newBytes);
        long kept = Math.Min(bytes, newBytes);
        Buffer.MemoryCopy(block, moved, kept, kept);
        Free(block, bytes);
        return moved;
    }

    /// <summary>Returns the empty slab to the source, and releases the free pages of the divided ones.</summary>
    internal void ReleaseUnused()
    {
        Slab* empty = _lastEmptied;
        _lastEmptied = null;
        if (empty != null && empty->Used == 0)
        {
            Unlink(empty, empty->SizeClass);
            ReturnSlab(empty);
        }

        _divided.ReleaseFreePages();
    }

    /// <summary>Reports the exact usage to the budget.</summary>
    internal void ReportUsage() => Report();

    public void Dispose()
    {
        while (HasWaiting) FreeWaiting(int.MaxValue);
        _guard?.Dispose();
        _runs.Dispose();
        NativeMemory.Free(_scratch);
        _divided.Dispose();
        NativeMemory.Free(_classPages);
        NativeMemory.Free(_open); // The source frees the slabs.
    }

    // The bytes that a block counts.
    private long AccountedBytes(long bytes) => BlockSize.RoundUp(bytes) + (bytes > BlockSize.RunBlockMax && _guard is null ? LargeOverheadBytes : 0);

    private void FreeNow(byte* block, long bytes)
    {
        if (_guard is not null)
        {
            FreeGuarded(block, bytes);
            return;
        }

        if (bytes > BlockSize.ClassBlockMax)
        {
            FreeLarge(block, bytes);
            return;
        }

        Slab* slab = ClassSlabOf(block);
        if (slab->Owner != _id)
        {
            _source.ArenaOf(slab->Owner).TakeBack(block, slab->BlockBytes, isRun: false);
            return;
        }

        int sizeClass = slab->SizeClass;
        Debug.Assert(sizeClass == BlockSize.ClassOf((int)bytes), "A block is freed with the size that it was allocated with.");
        bool wasFull = slab->Free == null && slab->Next == slab->End;
        *(byte**)block = slab->Free;
        slab->Free = block;
        slab->Used--;
        _blockBytes -= slab->BlockBytes;
        if (_blockBytes < _reportBelow) Report();
        if (wasFull) Link(slab, sizeClass);

        if (slab->Used == 0 && slab != _lastEmptied) KeepOneEmpty(slab);
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    private byte* AllocateLarge(long bytes)
    {
        long rounded = BlockSize.RoundUp(bytes);
        if (IsRun(rounded))
        {
            byte* run = _runs.Allocate((int)rounded);
            _blockBytes += rounded;
            if (_blockBytes > _reportAbove) Report();
            return run;
        }

        byte* block = SystemMemory.Allocate((nuint)rounded);
        _largeBytes += AccountedBytes(rounded);
        Report();
        return block;
    }

    private void FreeLarge(byte* block, long bytes)
    {
        long rounded = BlockSize.RoundUp(bytes);
        if (IsRun(rounded))
        {
            int owner = RunSlabs.OwnerOf(block);
            if (owner != _id)
            {
                _source.ArenaOf(owner).TakeBack(block, rounded, isRun: true);
                return;
            }

            _runs.Free(block, (int)rounded);
            _blockBytes -= rounded;
            if (_blockBytes < _reportBelow) Report();
            return;
        }

        _largeBytes -= rounded + LargeOverheadBytes;
        Report();
        if (ReleasesLargePages)
        {
            SystemMemory.DiscardWithin(block, rounded);
            _largeBytesReleased += rounded;
        }

        NativeMemory.Free(block);
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    private void Report()
    {
        // Returned blocks were already reported by the arena that returned them.
        long used = _blockBytes + _largeBytes - _waitingBytes - _takenBytes;
        if (used != _reported) _source.Budget.Add(used - _reported);
        _reported = used;
        long step = _source.Budget.StepBytes;
        _reportBelow = _blockBytes - step;
        _reportAbove = _blockBytes + step;
    }

    private bool HasReturned => _takenBack != 0 || Volatile.Read(ref _returned) != 0 || _guard is { HasReturned: true };

    // Frees at most this number of blocks and returns the number freed.
    private int FreeReturned(int blocksMax)
    {
        if (_guard is not null) return FreeReturnedGuarded(blocksMax);
        int freed = 0;
        if (_takenBack == 0 && Volatile.Read(ref _returned) != 0) _takenBack = Interlocked.Exchange(ref _returned, 0);
        for (; _takenBack != 0 && freed < blocksMax; freed++)
        {
            var block = (byte*)(_takenBack & ~RunBit);
            long bytes = (_takenBack & RunBit) != 0 ? *(long*)(block + sizeof(nint)) : ClassSlabOf(block)->BlockBytes;
            _takenBack = *(nint*)block;
            FreeNow(block, bytes);
            Interlocked.Add(ref _returnedBytes, -bytes);
            _source.Budget.Add(bytes);
        }

        return freed;
    }

    private byte* AllocateGuarded(long bytes)
    {
        byte* block = _guard!.Allocate(bytes, ref _largeBytes, _id);
        Report();
        return block;
    }

    private void FreeGuarded(byte* block, long bytes)
    {
        int owner = _guard!.OwnerOf(block, _id);
        if (owner == _id) _guard.Free(block, bytes, ref _largeBytes);
        else _source.ArenaOf(owner).TakeBack(block, BlockSize.RoundUp(bytes), isRun: false);
        Report();
    }

    private int FreeReturnedGuarded(int blocksMax)
    {
        int freed = 0;
        for (; freed < blocksMax && _guard!.TryTakeReturned(out nint block, out long bytes); freed++)
        {
            _guard.Free((byte*)block, bytes, ref _largeBytes);
            Report();
            Interlocked.Add(ref _returnedBytes, -bytes);
            _source.Budget.Add(bytes);
        }

        return freed;
    }

    private static bool IsRun(long rounded) => rounded is > BlockSize.ClassBlockMax and <= BlockSize.RunBlockMax;

    private byte* AllocateSlow(int sizeClass)
    {
        Slab* slab = _open[sizeClass];
        if (slab == null && HasReturned)
        {
            FreeReturned(ReturnedPerSlab);
            slab = _open[sizeClass];
        }

        if (slab == null)
        {
            slab = NewSlab(sizeClass);
            Link(slab, sizeClass);
        }

        if (slab->Free != null) return Allocate(slab->BlockBytes);

        byte* block = slab->Next;
        slab->Next += slab->BlockBytes;
        if (slab->Next > slab->Touched) NoteTouched(slab);
        slab->Used++;
        _blockBytes += slab->BlockBytes;
        if (_blockBytes > _reportAbove) Report();
        if (slab->Next == slab->End) Unlink(slab, sizeClass);
        return block;
    }

    // Keeps one empty slab, so that a class in use doesn't alternate between taking and returning a slab. One per class would be
    // too many: a value that grows from a few bytes to 4 KiB passes through all of them, and left 0.5 MB behind.
    [MethodImpl(MethodImplOptions.NoInlining)]
    private void KeepOneEmpty(Slab* slab)
    {
        Slab* before = _lastEmptied;
        _lastEmptied = slab;
        if (before == null || before->Used > 0) return;
        Unlink(before, before->SizeClass);
        ReturnSlab(before);
    }

    private void ReturnSlab(Slab* slab)
    {
        if (slab->IsLeft) SlabsLeft--;
        _classPages[slab->SizeClass] -= slab->Pages;
        ReleasedInSlabs -= EndOf(slab) - slab->Touched;
        if (slab->Pages < SlabPages)
        {
            _divided.Return((byte*)slab, slab->Pages);
            return;
        }

        _slabs--;
        _source.Return((byte*)slab);
    }

    private Slab* NewSlab(int sizeClass)
    {
        int blockBytes = BlockSize.BytesOfClass(sizeClass);
        int pages = PagesOfNext(sizeClass, blockBytes, out int least);
        Slab* slab;
        if (pages < SlabPages)
        {
            slab = (Slab*)_divided.Take(least, pages, out pages);
        }
        else
        {
            slab = (Slab*)_source.Take();
            _slabs++;
        }

        slab->Pages = (byte)pages;
        byte* end = EndOf(slab);
        slab->NextOpen = slab->PreviousOpen = null;
        slab->Free = null;
        slab->Next = (byte*)slab + SlabHeaderBytes;
        slab->End = slab->Next + ((end - slab->Next) / blockBytes * blockBytes);
        slab->Touched = end; // as far as is known
        slab->Used = 0;
        slab->BlockBytes = blockBytes;
        slab->SizeClass = (byte)sizeClass;
        slab->IsLeft = false;
        slab->Skipped = 0;
        slab->Owner = (ushort)_id;
        _classPages[sizeClass] += pages;
        return slab;
    }

    // At most an eighth of what the class has, but seven blocks, so that what remains at the slab's end is little. With a quarter, 64
    // stripes with 300,000 strings of up to 1,500 bytes held 18 % more than their blocks, instead of 12.
    private int PagesOfNext(int sizeClass, int blockBytes, out int least)
    {
        const int BlocksMin = 7;
        least = ((blockBytes * BlocksMin) + SlabHeaderBytes + DividedSlabs.HeaderBytes + PageBytes - 1) / PageBytes;
        int eighth = _classPages[sizeClass] / 8;
        int pages = eighth > 0 ? Math.Max(least, 1 << BitOperations.Log2((uint)eighth)) : least;
        return pages > DividedSlabs.PagesMax ? SlabPages : pages;
    }

    private static byte* EndOf(Slab* slab) => (byte*)((nuint)slab & ~(nuint)(PageBytes - 1)) + (slab->Pages * PageBytes);

    /// <summary>The slab of a class that contains a block of up to <see cref="BlockSize.ClassBlockMax"/>.</summary>
    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    private static Slab* ClassSlabOf(byte* block)
    {
        var slab = (Slab*)SlabOf(block);
        return slab->SizeClass == 0 ? (Slab*)DividedSlabs.HeaderOf((byte*)slab, block) : slab;
    }

    private void Link(Slab* slab, int sizeClass)
    {
        Slab* first = _open[sizeClass];
        slab->PreviousOpen = null;
        slab->NextOpen = first;
        if (first != null) first->PreviousOpen = slab;
        _open[sizeClass] = slab;
    }

    private void Unlink(Slab* slab, int sizeClass)
    {
        if (slab->PreviousOpen != null) slab->PreviousOpen->NextOpen = slab->NextOpen;
        else _open[sizeClass] = slab->NextOpen;
        if (slab->NextOpen != null) slab->NextOpen->PreviousOpen = slab->PreviousOpen;
        slab->NextOpen = slab->PreviousOpen = null;
    }

    // The first bytes of a waiting block.
    [StructLayout(LayoutKind.Sequential)]
    private struct WaitingBlock
    {
        public WaitingBlock* Next;
        public long Bytes;
        public long Released; // bytes released from its end
    }

    [StructLayout(LayoutKind.Sequential)]
    private struct Slab
    {
        public Slab* NextOpen;
        public Slab* PreviousOpen;
        public byte* Free;   // freed blocks
        public byte* Next;   // the first unused block
        public byte* End;
        public byte* Touched; // pages from here on are released
        public int Used;
        public int BlockBytes;
        public byte SizeClass; // at DividedSlabs.KindOffset; never 0
        public bool IsLeft; // the walk over values moves its blocks to other slabs
        public short Skipped; // searches for a slab to evacuate that still pass this one over
        public ushort Owner; // the arena's id
        public byte Pages;
    }
}
