using System.Runtime.InteropServices;
using RedKite.Sketches.Store;
using RedKite.Store.Memory;

namespace RedKite.Sketches.Tops;

/// <summary>The places of a sketch's elements by their counts, largest first; of equal ones the first place first. Each thread has one, outside the managed heap.</summary>
internal static class TopOrder
{
    [ThreadStatic]
    private static NativeBuffer? _ofThread;

    /// <summary>Valid until the thread asks for another one. The low half of each is the place.</summary>
    internal static ReadOnlySpan<ulong> Of(Sketch sketch)
    {
        NativeBuffer buffer = _ofThread ??= new NativeBuffer();
        buffer.Clear();
        int top = (int)TopSketch.Top(sketch), count = 0;
        Span<ulong> order = MemoryMarshal.Cast<byte, ulong>(buffer.Room(top * sizeof(ulong)))[..top];
        for (int i = 0; i < top; i++)
        {
            uint listed = TopSketch.ListedCount(sketch, i);
            if (listed > 0) order[count++] = ((ulong)(uint.MaxValue - listed) << 32) | (uint)i;
        }

        order[..count].Sort();
        return order[..count];
    }
}
