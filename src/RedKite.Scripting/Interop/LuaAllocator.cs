using System.Diagnostics.CodeAnalysis;
using System.Runtime.CompilerServices;
using System.Runtime.InteropServices;

namespace RedKite.Scripting.Interop;

/// <summary>
/// The memory of one interpreter: counted, limited, and released as a whole. Small blocks come from free lists of 16-byte steps,
/// larger ones from the system.
/// </summary>
/// <remarks>
/// Refusing memory makes Lua raise an error by a long jump, which must not cross managed frames. So the limit holds only while
/// <see cref="IsLimited"/>: in Lua's own code, not while a managed function runs. What a managed function adds beyond it is
/// refused at Lua's next allocation.
/// Lua calls this for every block that it allocates, frees or resizes, so the fields that this uses are together in pinned memory.
/// </remarks>
internal sealed unsafe class LuaAllocator : IDisposable
{
    private const int StepBytes = 16;
    private const uint Seed = 0x5EED_0051;
    private const int SmallBytesMax = 512;
    private const int ChunkBytes = 64 * 1024;
    private const int ChunkHeadBytes = StepBytes; // a pointer to the previous chunk, and padding that keeps the blocks aligned

    private readonly Heap[] _pinned = GC.AllocateArray<Heap>(1, pinned: true); // figures are read after the disposal, too
    private readonly Heap* _heap;

    internal LuaAllocator()
    {
        _heap = (Heap*)Unsafe.AsPointer(ref _pinned[0]);
        _heap->BytesMax = long.MaxValue;
    }

    /// <summary>The bytes that Lua has allocated.</summary>
    internal long Used => _heap->Used;

    /// <summary>The maximum number of bytes that Lua may allocate.</summary>
    internal long BytesMax
    {
        get => _heap->BytesMax;
        set => _heap->BytesMax = value;
    }

    internal bool IsLimited
    {
        get => _heap->IsLimited;
        set => _heap->IsLimited = value;
    }

    /// <summary>How often memory was refused because of the limit.</summary>
    internal long Refusals => _heap->Refusals;

    internal nint Handle => (nint)_heap;

    internal static delegate* unmanaged[Cdecl]<nint, nint, nuint, nuint, nint> Function => &Allocate;

    /// <summary>The function while a state is created.</summary>
    internal static delegate* unmanaged[Cdecl]<nint, nint, nuint, nuint, nint> FirstFunction => &AllocateFirst;

    /// <summary>Counts a refusal of memory that managed code needs for a script.</summary>
    internal void NoteRefusal() => _heap->Refusals++;

    /// <summary>As <see cref="NoteRefusal"/>, with the error that ends the script.</summary>
    internal LuaException OutOfMemory()
    {
        NoteRefusal();
        return new LuaException("not enough memory");
    }

    /// <summary>Finds where the state keeps some addresses, one behind the other; null: nowhere.</summary>
    internal nint* FindInState(ReadOnlySpan<nint> addresses)
    {
        for (long at = 0; at + (addresses.Length * sizeof(nint)) <= _heap->StateBytes; at += sizeof(nint))
        {
            var found = (nint*)(_heap->State + (nint)at);
            if (new ReadOnlySpan<nint>(found, addresses.Length).SequenceEqual(addresses)) return found;
        }

        return null;
    }

    /// <summary>Releases all memory. The interpreter is closed.</summary>
    public void Dispose()
    {
        for (nint chunk = _heap->Chunks; chunk != 0;)
        {
            nint before = *(nint*)chunk;
            NativeMemory.Free((void*)chunk);
            chunk = before;
        }

        _heap->Chunks = 0;
    }

    [UnmanagedCallersOnly(CallConvs = [typeof(CallConvCdecl)])]
    private static nint Allocate(nint heap, nint block, nuint oldBytes, nuint newBytes)
    {
        if (newBytes == 0)
        {
            if (block != 0) Release((Heap*)heap, block, (long)oldBytes);
            return 0;
        }

        return Resize((Heap*)heap, block, block == 0 ? 0 : (long)oldBytes, (long)newBytes);
    }

    // Lua takes the seed of its hash functions from the time and from addresses, and has no parameter for it. The order of a table's keys follows
    // from it. The seed is chosen behind the first block, which is the state, and first used behind the second.
    [UnmanagedCallersOnly(CallConvs = [typeof(CallConvCdecl)])]
    private static nint AllocateFirst(nint data, nint block, nuint oldBytes, nuint newBytes)
    {
        var heap = (Heap*)data;
        if (newBytes == 0)
        {
            if (block != 0) Release(heap, block, (long)oldBytes);
            return 0;
        }

        if (heap->State != 0 && !heap->IsSeeded) FixSeed(heap);
        nint added = Resize(heap, block, block == 0 ? 0 : (long)oldBytes, (long)newBytes);
        if (heap->State == 0) (heap->State, heap->StateBytes) = (added, (long)newBytes);
        return added;
    }

    // The part of the state that all threads share begins with the allocator, its data and the bytes in use. Behind them are three counters, the
    // table of strings (a pointer and two numbers), two values, and the seed.
    private static void FixSeed(Heap* heap)
    {
        const int SeedOffset = (6 * sizeof(long)) + (2 * sizeof(long)) + (2 * 2 * sizeof(long));
        heap->IsSeeded = true;
        if (sizeof(nint) != sizeof(long)) return;
        for (long at = 0; at + SeedOffset + sizeof(uint) <= heap->StateBytes; at += sizeof(long))
        {
            var shared = (long*)(heap->State + (nint)at);
            if (shared[0] != (long)(nint)FirstFunction || shared[1] != (long)heap || shared[2] != heap->StateBytes) continue;
            *(uint*)(heap->State + (nint)(at + SeedOffset)) = Seed;
            return;
        }
    }

    private static nint Resize(Heap* heap, nint block, long oldBytes, long newBytes)
    {
        if (heap->IsLimited && newBytes > oldBytes && heap->Used + newBytes - oldBytes > heap->BytesMax)
        {
            heap->Refusals++;
            return 0;
        }

        if (block == 0) return Take(heap, newBytes);
        if (oldBytes > SmallBytesMax && newBytes > SmallBytesMax)
        {
            var moved = (nint)Realloc((void*)block, newBytes);
            if (moved != 0) heap->Used += newBytes - oldBytes;
            return moved;
        }

        if (newBytes <= SmallBytesMax && ClassOf(newBytes) == ClassOf(oldBytes))
        {
            heap->Used += newBytes - oldBytes;
            return block;
        }

        nint added = Take(heap, newBytes);
        if (added == 0) return 0;
        NativeMemory.Copy((void*)block, (void*)added, (nuint)Math.Min(oldBytes, newBytes));
        Release(heap, block, oldBytes);
        return added;
    }

    private static int ClassOf(long bytes) => (int)(((ulong)bytes + StepBytes - 1) / StepBytes);

    private static nint Take(Heap* heap, long bytes)
    {
        if (bytes > SmallBytesMax)
        {
            var large = (nint)Realloc(null, bytes);
            if (large != 0) heap->Used += bytes;
            return large;
        }

        int step = ClassOf(bytes);
        nint block = heap->Free[step];
        if (block != 0)
        {
            heap->Free[step] = *(nint*)block;
        }
        else
        {
            if (heap->End - heap->Next < step * StepBytes && !TryAddChunk(heap)) return 0;
            block = heap->Next;
            heap->Next += step * StepBytes;
        }

        heap->Used += bytes;
        return block;
    }

    private static void Release(Heap* heap, nint block, long bytes)
    {
        heap->Used -= bytes;
        if (bytes > SmallBytesMax)
        {
            NativeMemory.Free((void*)block);
            return;
        }

        int step = ClassOf(bytes);
        *(nint*)block = heap->Free[step];
        heap->Free[step] = block;
    }

    private static bool TryAddChunk(Heap* heap)
    {
        var chunk = (nint)Realloc(null, ChunkBytes);
        if (chunk == 0) return false;
        *(nint*)chunk = heap->Chunks;
        heap->Chunks = chunk;
        heap->Next = chunk + ChunkHeadBytes;
        heap->End = chunk + ChunkBytes;
        return true;
    }

    [SuppressMessage("Design", "CA1031:Do not catch general exception types", Justification = "No exception may cross Lua's frames.")]
    private static void* Realloc(void* block, long bytes)
    {
        try
        {
            return NativeMemory.Realloc(block, (nuint)bytes);
        }
        catch (Exception)
        {
            return null;
        }
    }

    private struct Heap
    {
        internal long Used;
        internal long BytesMax;
        internal long Refusals;
        internal bool IsLimited;
        internal bool IsSeeded;
        internal nint State; // the first block
        internal long StateBytes;
        internal nint Next; // in the last chunk: where its unused rest begins
        internal nint End;
        internal nint Chunks; // the last one; each begins with a pointer to the one before
        internal FreeBlocks Free; // by steps of size: each free block begins with a pointer to the next
    }

    [InlineArray((SmallBytesMax / StepBytes) + 1)]
    private struct FreeBlocks
    {
        private nint _first;
    }
}
