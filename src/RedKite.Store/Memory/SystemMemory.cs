using System.Runtime.InteropServices;

namespace RedKite.Store.Memory;

/// <summary>
/// The store's calls to the operating system: address ranges that stay mapped while their pages are released and faulted in again.
/// On Linux this is mmap and madvise; elsewhere aligned blocks of the C runtime, whose pages are never released early.
/// </summary>
internal static unsafe partial class SystemMemory
{
    private const int ProtReadWrite = 1 | 2;
    private const int MapPrivateAnonymousNoReserve = 0x02 | 0x20 | 0x4000;
    private const int AdviseDontNeed = 4;
    private const int AdviseHugePage = 14;
    private const int AdvisePopulateWrite = 23;
    private const int AdviseCollapse = 25;
    private const int ClockThreadCpu = 3;
    private const int HugePageBytes = 2 << 20;

    // Clearing resident pages is faster than faulting in new ones, but memory of this size usually just came from the system.
    private const int ClearedByDiscardingLeast = 1 << 20;

    [ThreadStatic]
    private static bool _refuses;

    /// <summary>For tests: makes every allocation of the current thread fail.</summary>
    internal static bool Refuses
    {
        get => _refuses;
        set => _refuses = value;
    }

    /// <summary>Allocates a block of the C runtime.</summary>
    /// <exception cref="OutOfMemoryException">There is no memory.</exception>
    internal static byte* Allocate(nuint bytes)
    {
        if (_refuses) throw new InsufficientMemoryException();
        return (byte*)NativeMemory.Alloc(bytes);
    }

    /// <summary>Resizes a block of the C runtime, which moves large ones by remapping their pages.</summary>
    /// <exception cref="OutOfMemoryException">There is no memory; the block is unchanged.</exception>
    internal static byte* Reallocate(byte* block, nuint bytes)
    {
        if (_refuses) throw new InsufficientMemoryException();
        return (byte*)NativeMemory.Realloc(block, bytes);
    }

    /// <summary>Maps <paramref name="bytes"/> of zeroed memory, aligned to 2 MiB. Its pages are faulted in on first access.</summary>
    internal static byte* Map(nuint bytes)
    {
        if (!OperatingSystem.IsLinux())
        {
            var block = (byte*)NativeMemory.AlignedAlloc(bytes, HugePageBytes);
            NativeMemory.Clear(block, bytes);
            return block;
        }

        nint mapped = mmap(0, bytes + HugePageBytes, ProtReadWrite, MapPrivateAnonymousNoReserve, -1, 0);
        if (mapped == -1) throw new InsufficientMemoryException($"The system refused {bytes} bytes of memory.");
        nint aligned = (mapped + HugePageBytes - 1) & ~(nint)(HugePageBytes - 1);

        // The slack on both sides is unmapped at once, so that Unmap needs only the aligned address.
        nint head = aligned - mapped;
        if (head > 0) _ = munmap(mapped, (nuint)head);
        if (HugePageBytes - head > 0) _ = munmap(aligned + (nint)bytes, (nuint)(HugePageBytes - head));
        return (byte*)aligned;
    }

    /// <summary>Faults in the pages of a range.</summary>
    internal static void Populate(byte* address, nuint bytes)
    {
        if (!OperatingSystem.IsLinux() || madvise((nint)address, bytes, AdvisePopulateWrite) != 0) Touch(address, bytes);
    }

    /// <summary>Faults in the pages of a range, as huge pages if the system has them.</summary>
    /// <returns>The CPU time in nanoseconds; 0 if it is unknown.</returns>
    internal static long PopulateHugePage(byte* address, nuint bytes)
    {
        long start = ThreadCpuNs();
        if (OperatingSystem.IsLinux()) _ = madvise((nint)address, bytes, AdviseHugePage);
        Touch(address, bytes);
        return ThreadCpuNs() - start;
    }

    /// <summary>
    /// Replaces ordinary pages by a huge one with the same contents. A thread that accesses them waits during the copy, but not
    /// while the host of a virtual machine supplies the huge page: one is allocated and released first, and then reused.
    /// </summary>
    internal static bool TryMakeHugePage(byte* address, nuint bytes)
    {
        if (!OperatingSystem.IsLinux()) return false;
        byte* spare;
        try
        {
            spare = Map(bytes);
        }
        catch (InsufficientMemoryException)
        {
            return false;
        }

        PopulateHugePage(spare, bytes);
        Unmap(spare, bytes);
        return madvise((nint)address, bytes, AdviseCollapse) == 0;
    }

    /// <summary>Ends a mapping made by <see cref="Map"/>.</summary>
    internal static void Unmap(byte* address, nuint bytes)
    {
        if (OperatingSystem.IsLinux()) _ = munmap((nint)address, bytes);
        else NativeMemory.AlignedFree(address);
    }

    /// <summary>Releases the pages but keeps the range mapped: it reads as zero afterwards.</summary>
    internal static void Discard(byte* address, nuint bytes)
    {
        if (OperatingSystem.IsLinux()) _ = madvise((nint)address, bytes, AdviseDontNeed);
    }

    /// <summary>Releases the complete pages of a range whose contents are no longer needed.</summary>
    internal static void DiscardWithin(byte* address, long bytes) => TryDiscardWithin(address, bytes, out _, out _);

    /// <summary>Clears a range. The pages of a large one are released instead: the system supplies zeroed pages on access.</summary>
    internal static void Clear(byte* address, long bytes)
    {
        if (bytes < ClearedByDiscardingLeast || !TryDiscardWithin(address, bytes, out byte* first, out byte* end))
        {
            NativeMemory.Clear(address, (nuint)bytes);
            return;
        }

        NativeMemory.Clear(address, (nuint)(first - address));
        NativeMemory.Clear(end, (nuint)(address + bytes - end));
    }

    private static void Touch(byte* address, nuint bytes)
    {
        for (nuint at = 0; at < bytes; at += 4096) Volatile.Write(ref address[at], 0);
    }

    /// <summary>The CPU time of the calling thread; 0 if the system doesn't count it.</summary>
    internal static long ThreadCpuNs()
    {
        if (!OperatingSystem.IsLinux()) return 0;
        nint* time = stackalloc nint[2];
        return clock_gettime(ClockThreadCpu, time) == 0 ? (time[0] * 1_000_000_000) + time[1] : 0;
    }

    private static bool TryDiscardWithin(byte* address, long bytes, out byte* first, out byte* end)
    {
        nuint page = (nuint)Environment.SystemPageSize;
        first = (byte*)(((nuint)address + page - 1) & ~(page - 1));
        end = (byte*)((nuint)(address + bytes) & ~(page - 1));
        return OperatingSystem.IsLinux() && first < end && madvise((nint)first, (nuint)(end - first), AdviseDontNeed) == 0;
    }

    /// <summary>Makes the C runtime's heap, which holds the large blocks, release its free pages, if it can.</summary>
    internal static void TrimHeap()
    {
        if (!OperatingSystem.IsLinux()) return;
        try
        {
            _ = malloc_trim(0);
        }
        catch (EntryPointNotFoundException)
        {
            // musl has no such call: its heap releases pages by itself.
        }
    }

    [LibraryImport("libc", SetLastError = false)]
    private static partial nint mmap(nint address, nuint length, int protection, int flags, int fileDescriptor, nint offset);

    [LibraryImport("libc", SetLastError = false)]
    private static partial int munmap(nint address, nuint length);

    [LibraryImport("libc", SetLastError = false)]
    private static partial int madvise(nint address, nuint length, int advice);

    [LibraryImport("libc", SetLastError = false)]
    private static partial int clock_gettime(int clock, nint* time);

    [LibraryImport("libc", SetLastError = false)]
    private static partial int malloc_trim(nuint pad);
}
