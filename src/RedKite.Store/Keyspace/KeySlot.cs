using System.Buffers.Binary;
using System.Runtime.CompilerServices;
using System.Runtime.InteropServices;

namespace RedKite.Store.Keyspace;

/// <summary>
/// The slot of a key, as Redis's cluster specification defines it: the CRC-16 of the key (polynomial 0x1021, from 0), or of what its first braces hold, modulo 16384.
/// Keys with the same text in braces are in the same slot.
/// </summary>
internal static class KeySlot
{
    /// <summary>The number of slots.</summary>
    internal const int Count = 1 << 14;

    /// <summary>No slot: the keyspace has none, or there is no key.</summary>
    internal const int None = -1;

    private const int Polynomial = 0x1021;
    private const int StepBytes = 8;

    // Eight tables: the sum of a byte with 0 to 7 zero bytes behind it, so that eight bytes are summed at once.
    private static readonly ushort[] Sums = NewSums();

    internal static int Of(ReadOnlySpan<byte> key) => Sum(Tagged(key)) & (Count - 1);

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
