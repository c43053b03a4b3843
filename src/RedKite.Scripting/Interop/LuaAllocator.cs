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
/// </remarks>
internal sealed unsafe class LuaAllocator : IDisposable
{
    private const int StepBytes = 16;
    private const int SmallBytesMax = 512;
    private const int ChunkBytes = 64 * 1024;

    private readonly nint[] _free = new nint[(SmallBytesMax / StepBytes) + 1];
    private readonly List<nint> _chunks = [];
    private nint _next;
    private nint _end;
    private GCHandle _self;

    internal LuaAllocator() => _self = GCHandle.Alloc(this);

    /// <summary>The bytes that Lua has allocated.</summary>
    internal long Used { get; private set; }

    /// <summary>The most bytes that Lua may allocate.</summary>
    internal long BytesMax { get; set; } = long.MaxValue;

    internal bool IsLimited { get; set; }

    /// <summary>How often memory was refused because of the limit.</summary>
    internal long Refusals { get; private set; }

    internal nint Handle => GCHandle.ToIntPtr(_self);

    internal static delegate* unmanaged[Cdecl]<nint, nint, nuint, nuint, nint> Function => &Allocate;

    /// <summary>Releases all memory. The interpreter is closed.</summary>
    public void Dispose()
    {
        foreach (nint chunk in _chunks) NativeMemory.Free((void*)chunk);
        _chunks.Clear();
        if (_self.IsAllocated) _self.Free();
    }

    [UnmanagedCallersOnly(CallConvs = [typeof(CallConvCdecl)])]
    private static nint Allocate(nint handle, nint block, nuint oldBytes, nuint newBytes) =>
        Unsafe.As<LuaAllocator>(GCHandle.FromIntPtr(handle).Target!).Resize(block, block == 0 ? 0 : (long)oldBytes, (long)newBytes);

    private nint Resize(nint block, long oldBytes, long newBytes)
    {
        if (newBytes == 0)
        {
            if (block != 0) Release(block, oldBytes);
            return 0;
        }

        if (IsLimited && newBytes > oldBytes && Used + newBytes - oldBytes > BytesMax)
        {
            Refusals++;
            return 0;
        }

        if (oldBytes > SmallBytesMax && newBytes > SmallBytesMax)
        {
            var moved = (nint)Realloc((void*)block, newBytes);
            if (moved != 0) Used += newBytes - oldBytes;
            return moved;
        }

        if (block != 0 && newBytes <= SmallBytesMax && ClassOf(newBytes) == ClassOf(oldBytes))
        {
            Used += newBytes - oldBytes;
            return block;
        }

        nint added = Take(newBytes);
        if (added == 0 || block == 0) return added;
        NativeMemory.Copy((void*)block, (void*)added, (nuint)Math.Min(oldBytes, newBytes));
        Release(block, oldBytes);
        return added;
    }

    private static int ClassOf(long bytes) => (int)((bytes + StepBytes - 1) / StepBytes);

    private nint Take(long bytes)
    {
        if (bytes > SmallBytesMax)
        {
            var large = (nint)Realloc(null, bytes);
            if (large != 0) Used += bytes;
            return large;
        }

        int step = ClassOf(bytes);
        nint block = _free[step];
        if (block != 0)
        {
            _free[step] = *(nint*)block;
        }
        else
        {
            if (_end - _next < step * StepBytes && !TryAddChunk()) return 0;
            block = _next;
            _next += step * StepBytes;
        }

        Used += bytes;
        return block;
    }

    private void Release(nint block, long bytes)
    {
        Used -= bytes;
        if (bytes > SmallBytesMax)
        {
            NativeMemory.Free((void*)block);
            return;
        }

        int step = ClassOf(bytes);
        *(nint*)block = _free[step];
        _free[step] = block;
    }

    private bool TryAddChunk()
    {
        var chunk = (nint)Realloc(null, ChunkBytes);
        if (chunk == 0) return false;
        _chunks.Add(chunk);
        _next = chunk;
        _end = chunk + ChunkBytes;
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
}
