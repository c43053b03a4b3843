using System.Runtime.CompilerServices;
using RedKite.Store.Values.Packed;

namespace RedKite.Store.Values.Streams;

/// <summary>
/// A name or value in a stream's node in a compact form: integers as numbers, short texts of digits or letters with fewer bits per
/// character. Every text has exactly one form, and each form determines its end.
/// <code>
/// head
///   00..3F  literal text of this length                (3F: 63 plus a varint that follows)
///   40..7F  letters, digits, - and _: 6 bits each      (7F: the same)
///   80..9F  digits and . - + : , blank: 4 bits each    (9F: 31 plus a varint)
///   A0..DF  the number 0 to 63
///   E0..EF  a number of 1 to 8 bytes, with bit 3 the complement of a negative one
///   F0      the same value as in the node's first entry
/// </code>
/// Characters are packed from the lowest bit on. Longer texts are literal: packing takes time proportional to their length, while
/// the overhead of an entry no longer matters.
/// </summary>
internal readonly unsafe ref struct CompactText
{
    /// <summary>Bytes that a text can take beyond its length.</summary>
    internal const int OverheadMax = 6;

    /// <summary>The buffer size that <see cref="Bytes"/> needs to unpack a text.</summary>
    internal const int ScratchBytes = PackedMax;

    /// <summary>The form of a value that equals the first entry's.</summary>
    internal const byte SameAsFirst = 0xF0;

    private const int PackedMax = 256;

    private const int Letters = 0x40;
    private const int Digits = 0x80;
    private const int SmallNumbers = 0xA0;
    private const int Numbers = 0xE0;
    private const int PlainLengthMax = 63;
    private const int DigitsLengthMax = 31;
    private const int SmallNumberMax = 63;

    // Fewer letters than this would not become shorter.
    private const int LettersMin = 4;

    private static readonly byte[] LetterTexts = [.. "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ-_"u8];
    private static readonly byte[] DigitTexts = [.. "0123456789.-+:, "u8];

    // For each byte its code among the digits, and 8 bits higher that among the letters; 0x80: it has none.
    private static readonly ushort[] Codes = CodeTable();

    private readonly byte* _data;
    private readonly long _number;
    private readonly int _length;
    private readonly byte _kind;

    private CompactText(byte kind, byte* data, int length, long number)
    {
        _kind = kind;
        _data = data;
        _length = length;
        _number = number;
    }

    /// <summary>The text's bytes: where they are in the node, or unpacked into <paramref name="scratch"/>, which has <see cref="ScratchBytes"/>.</summary>
    internal ReadOnlySpan<byte> Bytes(Span<byte> scratch)
    {
        switch (_kind)
        {
            case 0:
                return new ReadOnlySpan<byte>(_data, _length);
            case Letters:
                Unpack(_data, scratch[.._length], 6, LetterTexts);
                return scratch[.._length];
            case Digits:
                Unpack(_data, scratch[.._length], 4, DigitTexts);
                return scratch[.._length];
            default:
                return scratch[..CanonicalInteger.Format(_number, scratch)];
        }
    }

    /// <summary>Reads a form other than <see cref="SameAsFirst"/>.</summary>
    /// <returns>The address after it.</returns>
    internal static byte* Read(byte* at, out CompactText text)
    {
        int head = *at++;
        if (head < SmallNumbers)
        {
            int kind = head < Letters ? 0 : head < Digits ? Letters : Digits;
            int lengthMax = kind == Digits ? DigitsLengthMax : PlainLengthMax;
            int length = head & lengthMax;
            if (length == lengthMax)
            {
                at = Varint.Read(at, out ulong more);
                length += (int)more;
            }

            text = new CompactText((byte)kind, at, length, 0);
            return at + PackedBytes(kind, length);
        }

        long number = head - SmallNumbers;
        if (head >= Numbers)
        {
            int bytes = (head & 7) + 1;
            ulong bits = 0;
            for (int i = 0; i < bytes; i++) bits |= (ulong)at[i] << (8 * i);
            number = (head & 8) != 0 ? ~(long)bits : (long)bits;
            at += bytes;
        }

        text = new CompactText(SmallNumbers, null, 0, number);
        return at;
    }

    /// <summary>The address after the form at an address.</summary>
    internal static byte* Skip(byte* at)
    {
        int head = *at;
        if (head < SmallNumbers) return Read(at, out _);
        return at + (head is >= Numbers and < SameAsFirst ? 2 + (head & 7) : 1);
    }

    /// <summary>Writes a text. The caller has reserved its length plus <see cref="OverheadMax"/>.</summary>
    /// <param name="at">Where to.</param>
    /// <param name="text">What.</param>
    /// <param name="listPackBytes">The size of the text in Redis's packed list.</param>
    /// <returns>The address after it.</returns>
    internal static byte* Write(byte* at, ReadOnlySpan<byte> text, out int listPackBytes)
    {
        if (CanonicalInteger.TryParse(text, out long number))
        {
            listPackBytes = PackedList.ElementBytes(number);
            return WriteNumber(at, number);
        }

        listPackBytes = PackedList.TextElementBytes(text.Length);
        if (text.Length is < 2 or > PackedMax) return WritePlain(at, text);

        uint codes = 0;
        foreach (byte character in text) codes |= Codes[character];
        if ((codes & 0x80) == 0) return Pack(WriteHead(at, Digits, DigitsLengthMax, text.Length), text, 4, 0);
        if ((codes & 0x8000) == 0 && text.Length >= LettersMin) return Pack(WriteHead(at, Letters, PlainLengthMax, text.Length), text, 6, 8);
        return WritePlain(at, text);
    }

    /// <summary>Writes a literal text, which is compared quickly. Requires the same space as <see cref="Write"/>.</summary>
    internal static byte* WritePlain(byte* at, ReadOnlySpan<byte> text)
    {
        at = WriteHead(at, 0, PlainLengthMax, text.Length);
        text.CopyTo(new Span<byte>(at, text.Length));
        return at + text.Length;
    }

    private static byte* WriteHead(byte* at, int kind, int lengthMax, int length)
    {
        *at++ = (byte)(kind | Math.Min(length, lengthMax));
        return length < lengthMax ? at : Varint.Write(at, (ulong)(length - lengthMax));
    }

    private static byte* WriteNumber(byte* at, long number)
    {
        if ((ulong)number <= SmallNumberMax)
        {
            *at = (byte)(SmallNumbers + number);
            return at + 1;
        }

        byte* head = at++;
        ulong bits = number < 0 ? ~(ulong)number : (ulong)number;
        do
        {
            *at++ = (byte)bits;
            bits >>= 8;
        }
        while (bits != 0);

        *head = (byte)(Numbers | (number < 0 ? 8 : 0) | (int)(at - head - 2));
        return at;
    }

    private static int PackedBytes(int kind, int length) => kind switch
    {
        0 => length,
        Letters => ((length * 6) + 7) / 8,
        _ => (length + 1) / 2,
    };

    private static byte* Pack(byte* at, ReadOnlySpan<byte> text, int bits, int codeShift)
    {
        ulong packed = 0;
        int filled = 0;
        foreach (byte character in text)
        {
            packed |= (ulong)((Codes[character] >> codeShift) & 0x3F) << filled;
            filled += bits;
            if (filled < 32) continue;
            Unsafe.WriteUnaligned(at, (uint)packed);
            at += 4;
            packed >>= 32;
            filled -= 32;
        }

        for (; filled > 0; filled -= 8)
        {
            *at++ = (byte)packed;
            packed >>= 8;
        }

        return at;
    }

    private static void Unpack(byte* data, Span<byte> text, int bits, byte[] characters)
    {
        byte* end = data + (((text.Length * bits) + 7) / 8);
        uint mask = (1U << bits) - 1;
        ulong packed = 0;
        int filled = 0;
        for (int i = 0; i < text.Length; i++)
        {
            if (filled < bits)
            {
                if (end - data >= 4)
                {
                    packed |= (ulong)Unsafe.ReadUnaligned<uint>(data) << filled;
                    data += 4;
                    filled += 32;
                }
                else
                {
                    packed |= (ulong)*data++ << filled;
                    filled += 8;
                }
            }

            text[i] = characters[(int)((uint)packed & mask)];
            packed >>= bits;
            filled -= bits;
        }
    }

    private static ushort[] CodeTable()
    {
        var codes = new ushort[256];
        Array.Fill(codes, (ushort)0x8080);
        for (int i = 0; i < DigitTexts.Length; i++) codes[DigitTexts[i]] = (ushort)((codes[DigitTexts[i]] & 0xFF00) | i);
        for (int i = 0; i < LetterTexts.Length; i++) codes[LetterTexts[i]] = (ushort)((codes[LetterTexts[i]] & 0x00FF) | (i << 8));
        return codes;
    }
}
