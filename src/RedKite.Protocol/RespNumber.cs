using System.Buffers.Text;
using System.Runtime.CompilerServices;
using System.Runtime.InteropServices;

namespace RedKite.Protocol;

/// <summary>Integers as the protocol and Redis's commands accept and write them.</summary>
internal static class RespNumber
{
    /// <summary>The longest text of a 64-bit integer.</summary>
    public const int Int64TextMax = 20;

    /// <summary>
    /// Reads a 64-bit integer in its one canonical form: an optional minus, no plus, no blanks, no leading zeros. That is
    /// what Redis accepts as an integer and what decides that a string is kept as one.
    /// </summary>
    public static bool TryParseInt64(ReadOnlySpan<byte> text, out long value)
    {
        value = 0;
        if (text.Length is 0 or > Int64TextMax) return false;
        ref byte start = ref MemoryMarshal.GetReference(text);
        bool negative = start == '-';
        int at = negative ? 1 : 0;
        if (at == text.Length) return false;
        uint first = Unsafe.Add(ref start, at) - (uint)'0';
        if (first > 9) return false;
        if (first == 0) return text.Length == 1;

        ulong magnitude = first;
        for (at++; at < text.Length; at++)
        {
            uint digit = Unsafe.Add(ref start, at) - (uint)'0';
            if (digit > 9) return false;
            if (magnitude > (ulong.MaxValue - digit) / 10) return false;
            magnitude = (magnitude * 10) + digit;
        }

        if (negative)
        {
            if (magnitude > 1UL << 63) return false;
            value = (long)(0 - magnitude);
            return true;
        }

        value = (long)magnitude;
        return magnitude <= long.MaxValue;
    }

    /// <summary>Writes the canonical form; the destination has at least <see cref="Int64TextMax"/> bytes.</summary>
    public static int Format(long value, Span<byte> destination)
    {
        Utf8Formatter.TryFormat(value, destination, out int written);
        return written;
    }

    /// <summary>How many bytes <see cref="Format"/> writes.</summary>
    public static int TextLength(long value)
    {
        Span<byte> text = stackalloc byte[Int64TextMax];
        return Format(value, text);
    }
}
