using System.Buffers.Binary;
using System.Numerics;
using System.Runtime.CompilerServices;

namespace RedKite.Store.Values.Sets;

/// <summary>
/// A set of integers in consecutive bytes, in ascending order and with the width of the widest, in the format that Redis calls
/// intset, so that dumps are copies. The caller owns the bytes and resizes them before a change.
/// <code>
/// 0 u32 bytes per number: 2, 4 or 8   4 u32 count   8 the numbers, ascending, signed
/// </code>
/// </summary>
internal static unsafe class IntSet
{
    /// <summary>Bytes of a set without numbers.</summary>
    internal const int EmptyBytes = 8;

    internal static void Initialize(byte* set)
    {
        WriteHeader(set, sizeof(short), 0);
    }

    internal static int Count(byte* set) => (int)Read32(set + 4);

    internal static int Bytes(byte* set) => EmptyBytes + (Count(set) * Width(set));

    /// <summary>The number at an index, from the lowest on.</summary>
    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    internal static long At(byte* set, int index) => At(set + EmptyBytes, Width(set), index);

    /// <summary>Finds a number, or the index where it would be.</summary>
    internal static bool TryFind(byte* set, long number, out int index)
    {
        int width = Width(set);
        byte* numbers = set + EmptyBytes;
        int count = Count(set);

        // Numbers are often added in order.
        if (count == 0 || number > At(numbers, width, count - 1))
        {
            index = count;
            return false;
        }

        int low = 0;
        int high = count - 1;
        while (low < high)
        {
            int middle = (low + high) >> 1;
            if (At(numbers, width, middle) < number) low = middle + 1;
            else high = middle;
        }

        index = low;
        return At(numbers, width, low) == number;
    }

    /// <summary>Whether a number is in the set, looking from an index on, a vector at a time; the index moves on to where it would be.</summary>
    internal static bool ContainsFrom(byte* set, long number, ref int index)
    {
        byte* numbers = set + EmptyBytes;
        int count = Count(set);
        return Width(set) switch
        {
            sizeof(short) => number is >= short.MinValue and <= short.MaxValue && ContainsFrom((short*)numbers, count, (short)number, ref index),
            sizeof(int) => number is >= int.MinValue and <= int.MaxValue && ContainsFrom((int*)numbers, count, (int)number, ref index),
            _ => ContainsFrom((long*)numbers, count, number, ref index),
        };
    }

    /// <summary>How many bytes the set takes with one more number.</summary>
    internal static long BytesWith(byte* set, long number) => EmptyBytes + ((Count(set) + 1L) * Math.Max(Width(set), WidthOf(number)));

    /// <summary>Inserts a new number at the index from <see cref="TryFind"/>. The caller has reserved its bytes.</summary>
    internal static void Insert(byte* set, int index, long number)
    {
        int width = Width(set);
        int count = Count(set);
        byte* numbers = set + EmptyBytes;
        int wider = WidthOf(number);
        if (wider > width)
        {
            // Backwards, since each number moves to a higher address; the new one is the smallest or the largest.
            int shift = index == 0 ? 1 : 0;
            for (int i = count - 1; i >= 0; i--) Write(numbers, wider, i + shift, At(numbers, width, i));
            width = wider;
        }
        else
        {
            byte* at = numbers + (index * width);
            long moved = (long)(count - index) * width;
            Buffer.MemoryCopy(at, at + width, moved, moved);
        }

        Write(numbers, width, index, number);
        WriteHeader(set, width, count + 1);
    }

    /// <summary>Removes the number at an index. The width stays, as in Redis.</summary>
    internal static void RemoveAt(byte* set, int index)
    {
        int width = Width(set);
        int count = Count(set);
        byte* at = set + EmptyBytes + (index * width);
        long moved = (long)(count - index - 1) * width;
        Buffer.MemoryCopy(at + width, at, moved, moved);
        WriteHeader(set, width, count - 1);
    }

    /// <summary>Whether untrusted bytes are a valid set, so that no operation on it reads or writes outside it.</summary>
    internal static bool IsSound(ReadOnlySpan<byte> bytes, out bool ascends)
    {
        ascends = true;
        if (bytes.Length < EmptyBytes) return false;
        uint width = BinaryPrimitives.ReadUInt32LittleEndian(bytes);
        uint count = BinaryPrimitives.ReadUInt32LittleEndian(bytes[4..]);
        if (width is not (sizeof(short) or sizeof(int) or sizeof(long)) || count == 0 || EmptyBytes + ((ulong)count * width) != (ulong)bytes.Length) return false;
        fixed (byte* set = bytes)
        {
            for (int i = 1; i < count; i++)
            {
                ascends &= At(set, i - 1) < At(set, i);
            }
        }

        return true;
    }

    private static bool ContainsFrom<T>(T* numbers, int count, T number, ref int index)
        where T : unmanaged, IBinaryInteger<T>
    {
        while (index + Vector<T>.Count <= count && Unsafe.ReadUnaligned<T>(numbers + index + Vector<T>.Count - 1) < number) index += Vector<T>.Count;
        if (index + Vector<T>.Count <= count) return Vector.EqualsAny(Unsafe.ReadUnaligned<Vector<T>>(numbers + index), new Vector<T>(number));
        for (int i = index; i < count; i++)
        {
            if (Unsafe.ReadUnaligned<T>(numbers + i) == number) return true;
        }

        return false;
    }

    private static int Width(byte* set) => (int)Read32(set);

    private static int WidthOf(long number) => number switch
    {
        >= short.MinValue and <= short.MaxValue => sizeof(short),
        >= int.MinValue and <= int.MaxValue => sizeof(int),
        _ => sizeof(long),
    };

    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    private static long At(byte* numbers, int width, int index) => width switch
    {
        sizeof(short) => Unsafe.ReadUnaligned<short>(numbers + (index * sizeof(short))),
        sizeof(int) => Unsafe.ReadUnaligned<int>(numbers + (index * sizeof(int))),
        _ => Unsafe.ReadUnaligned<long>(numbers + (index * (long)sizeof(long))),
    };

    private static void Write(byte* numbers, int width, int index, long number)
    {
        switch (width)
        {
            case sizeof(short): Unsafe.WriteUnaligned(numbers + (index * sizeof(short)), (short)number); break;
            case sizeof(int): Unsafe.WriteUnaligned(numbers + (index * sizeof(int)), (int)number); break;
            default: Unsafe.WriteUnaligned(numbers + (index * (long)sizeof(long)), number); break;
        }
    }

    private static uint Read32(byte* at) => Unsafe.ReadUnaligned<uint>(at);

    private static void WriteHeader(byte* set, int width, int count)
    {
        Unsafe.WriteUnaligned(set, (uint)width);
        Unsafe.WriteUnaligned(set + 4, (uint)count);
    }
}
