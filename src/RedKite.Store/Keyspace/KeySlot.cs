using System.Buffers.Binary;
using System.Runtime.CompilerServices;
using System.Runtime.InteropServices;
using System.Runtime.Intrinsics;
using System.Runtime.Intrinsics.X86;

namespace RedKite.Store.Keyspace;

/// <summary>
/// The slot of a key, as Redis's cluster specification defines it: the CRC-16 of the key (polynomial 0x1021, from 0), or of what its first braces hold, modulo 16384.
/// Keys with the same text in braces are in the same slot.
/// </summary>
internal static class KeySlot
{
    internal const int Bits = 14;

    /// <summary>The number of slots.</summary>
    internal const int Count = 1 << Bits;

    /// <summary>No slot: the keyspace has none, or there is no key.</summary>
    internal const int None = -1;

    private const int Polynomial = 0x1021;
    private const int StepBytes = 8;

    // Eight tables: the sum of a byte with 0 to 7 zero bytes behind it, so that eight bytes are summed at once.
    private static readonly ushort[] Sums = NewSums();

    private const int BlockBytes = 16;
    private const int BlocksMax = 4;

    // For sums by multiplication without carries. The sum is the remainder of a division by the polynomial, and the first 16 digits of the quotient's fraction determine it. Fractions add up, so each
    // 4 bytes of a key are multiplied by the fraction of x^n / polynomial for their position n, independently of the others; 48 digits are exact enough, 32 and 16. For each block of a key, the last one
    // first, there are those of the upper and of the lower halves of its two groups of eight bytes.
    private const ulong Divisor = 0x10000 | Polynomial;
    private const int QuotientDigits = 48;
    private static readonly Vector128<ulong>[] UpperQuotients = NewQuotients(112, 48);
    private static readonly Vector128<ulong>[] LowerQuotients = NewQuotients(80, 16);
    private static readonly Vector128<ulong> UpperQuotientsOfLast = UpperQuotients[0];
    private static readonly Vector128<ulong> LowerQuotientsOfLast = LowerQuotients[0];

    /// <summary>The slot of a key. Most keys have 8 to 16 bytes and no brace: 3.2 ns, by tables 13.4; 44 bytes take 9.4, by tables 22 (x86).</summary>
    internal static int Of(ReadOnlySpan<byte> key)
    {
        if (Pclmulqdq.IsSupported && (uint)(key.Length - StepBytes) <= StepBytes)
        {
            // Both groups of eight bytes have the bytes in the middle of a shorter key; the first one is to have them only once.
            ref byte start = ref MemoryMarshal.GetReference(key);
            int half = 4 * (BlockBytes - key.Length); // of its bits: a shift by all 64 would be none
            Vector128<byte> bytes = Vector128.Create(Unsafe.ReadUnaligned<ulong>(ref start) << half << half, Unsafe.ReadUnaligned<ulong>(ref Unsafe.Add(ref start, key.Length - StepBytes))).AsByte();
            if (!Vector128.EqualsAny(bytes, Vector128.Create((byte)'{'))) return SlotOf(Products(Ssse3.Shuffle(bytes, Reversed), UpperQuotientsOfLast, LowerQuotientsOfLast));
        }

        return OfOther(key);
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    private static int OfOther(ReadOnlySpan<byte> key) =>
        Pclmulqdq.IsSupported && (uint)(key.Length - BlockBytes - 1) < (BlocksMax - 1) * BlockBytes && !key.Contains((byte)'{') ? OfBlocks(key) : OfAny(key);

    // The first block is what is more than whole ones; it is read with some bytes of the next, which are shifted out.
    private static int OfBlocks(ReadOnlySpan<byte> key)
    {
        ref byte start = ref MemoryMarshal.GetReference(key);
        int block = (key.Length - 1) / BlockBytes, at = key.Length - (block * BlockBytes);
        Vector128<byte> shifted = Reversed - Vector128.Create((byte)(BlockBytes - at)); // a place before the first byte has its upper bit set, and gives 0
        Vector128<ulong> products = Products(Ssse3.Shuffle(Vector128.LoadUnsafe(ref start), shifted), UpperQuotients[block], LowerQuotients[block]);
        while (--block >= 0)
        {
            products ^= Products(Ssse3.Shuffle(Vector128.LoadUnsafe(ref start, (nuint)at), Reversed), UpperQuotients[block], LowerQuotients[block]);
            at += BlockBytes;
        }

        return SlotOf(products);
    }

    /// <summary>The same for every key and processor.</summary>
    internal static int OfAny(ReadOnlySpan<byte> key) => Sum(Tagged(key)) & (Count - 1);

    // Two numbers of eight bytes, whose first byte is the greatest.
    private static Vector128<byte> Reversed => Vector128.Create((byte)7, 6, 5, 4, 3, 2, 1, 0, 15, 14, 13, 12, 11, 10, 9, 8);

    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    private static Vector128<ulong> Products(Vector128<byte> numbers, Vector128<ulong> upperQuotients, Vector128<ulong> lowerQuotients)
    {
        Vector128<ulong> upper = numbers.AsUInt64() >> 32, lower = numbers.AsUInt64() & Vector128.Create((ulong)uint.MaxValue);
        return Pclmulqdq.CarrylessMultiply(upper, upperQuotients, 0x00) ^ Pclmulqdq.CarrylessMultiply(upper, upperQuotients, 0x11)
            ^ Pclmulqdq.CarrylessMultiply(lower, lowerQuotients, 0x00) ^ Pclmulqdq.CarrylessMultiply(lower, lowerQuotients, 0x11);
    }

    // The remainder: the fraction times the divisor, x^16 + x^12 + x^5 + 1, without what is then still a fraction.
    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    private static int SlotOf(Vector128<ulong> products)
    {
        int digits = (ushort)products.AsUInt32().GetElement(1); // of 48 digits the first 16
        return (digits ^ (digits >> 4) ^ (digits >> 11)) & (Count - 1);
    }

    // What is in the first braces, unless they are empty or not closed.
    private static ReadOnlySpan<byte> Tagged(ReadOnlySpan<byte> key)
    {
        int open = key.IndexOf((byte)'{');
        if (open < 0) return key;
        ReadOnlySpan<byte> rest = key[(open + 1)..];
        int length = rest.IndexOf((byte)'}');
        return length > 0 ? rest[..length] : key;
    }

    // Zero bytes in front do not change the sum, so the bytes beyond a multiple of eight come first, as if there were some.
    private static int Sum(ReadOnlySpan<byte> bytes)
    {
        int first = bytes.Length % StepBytes;
        ulong head = 0;
        foreach (byte value in bytes[..first]) head = (head << 8) | value;
        int sum = first == 0 ? 0 : Step(head, 0);
        for (int at = first; at < bytes.Length; at += StepBytes) sum = Step(BinaryPrimitives.ReadUInt64BigEndian(bytes[at..]), sum);
        return sum;
    }

    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    private static int Step(ulong bytes, int sum)
    {
        // The last six bytes need nothing of the sum so far, and are looked up while that is still being computed.
        ref ushort sums = ref MemoryMarshal.GetArrayDataReference(Sums);
        int rest = At(ref sums, 0, bytes) ^ At(ref sums, 1, bytes >> 8) ^ At(ref sums, 2, bytes >> 16) ^ At(ref sums, 3, bytes >> 24) ^ At(ref sums, 4, bytes >> 32) ^ At(ref sums, 5, bytes >> 40);
        return rest ^ At(ref sums, 6, (bytes >> 48) ^ (ulong)sum) ^ At(ref sums, 7, (bytes >> 56) ^ (ulong)(sum >> 8));
    }

    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    private static int At(ref ushort sums, int table, ulong value) => Unsafe.Add(ref sums, (table << 8) + (byte)value);

    private static Vector128<ulong>[] NewQuotients(int exponent, int nextExponent)
    {
        var quotients = new Vector128<ulong>[BlocksMax];
        for (int block = 0; block < BlocksMax; block++) quotients[block] = Vector128.Create(QuotientOf(exponent + (8 * BlockBytes * block)), QuotientOf(nextExponent + (8 * BlockBytes * block)));
        return quotients;
    }

    // The fraction of a power of x divided by the polynomial.
    private static ulong QuotientOf(int exponent)
    {
        ulong rest = 1, quotient = 0;
        for (int i = 0; i < exponent + QuotientDigits; i++)
        {
            rest <<= 1;
            bool divides = (rest & 0x10000) != 0;
            if (divides) rest ^= Divisor;
            if (i >= exponent) quotient = (quotient << 1) | (divides ? 1UL : 0);
        }

        return quotient;
    }

    private static ushort[] NewSums()
    {
        var sums = new ushort[StepBytes << 8];
        for (int value = 0; value < 256; value++)
        {
            int sum = value << 8;
            for (int zeros = 0; zeros < StepBytes; zeros++)
            {
                for (int bit = 0; bit < 8; bit++) sum = ((sum << 1) ^ ((sum & 0x8000) != 0 ? Polynomial : 0)) & 0xFFFF;
                sums[(zeros << 8) + value] = (ushort)sum;
            }
        }

        return sums;
    }
}

/// <summary>Slots that follow each other.</summary>
/// <param name="First">The first.</param>
/// <param name="Last">The last, which belongs to it.</param>
internal readonly record struct SlotRange(int First, int Last)
{
    internal bool Contains(int slot) => slot >= First && slot <= Last;
}
