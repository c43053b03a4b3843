using System.Buffers.Text;
using System.Globalization;
using System.Runtime.CompilerServices;
using RedKite.Store.Memory;

namespace RedKite.Json.Store;

/// <summary>Numbers: their form in documents, and as text. Integers keep their digits; others have a point or an exponent, in the shortest form that reads back as the same double.</summary>
internal static unsafe class JsonNumber
{
    /// <summary>The most bytes of a number, as a value and as text.</summary>
    internal const int BytesMax = 9;
    internal const int TextMax = 32;

    // A decimal number of more digits is a double: these are exact in one.
    private const int DigitsMax = 15;

    // Below it the text has an exponent. A number with fewer places is not so small.
    private const double PlainMin = 1e-5;
    private const int PlainPlacesMax = 5;

    // The digits in front of a point, beyond which there is an exponent.
    private const int PlainDigitsMax = 16;
    private const int PlainZerosMax = 5;

    internal static ReadOnlySpan<double> PowersOfTen => [1, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7];

    /// <summary>Appends an integer.</summary>
    internal static void Append(NativeBuffer output, long value)
    {
        Span<byte> room = output.Room(BytesMax);
        int bytes;
        switch (value)
        {
            case >= 0 and <= JsonTag.SmallIntegerMax:
                room[0] = (byte)(JsonTag.SmallInteger + value);
                bytes = 1;
                break;
            case >= sbyte.MinValue and <= sbyte.MaxValue:
                room[0] = JsonTag.Int8;
                room[1] = (byte)value;
                bytes = 2;
                break;
            case >= short.MinValue and <= short.MaxValue:
                room[0] = JsonTag.Int16;
                Unsafe.WriteUnaligned(ref room[1], (short)value);
                bytes = 3;
                break;
            case >= int.MinValue and <= int.MaxValue:
                room[0] = JsonTag.Int32;
                Unsafe.WriteUnaligned(ref room[1], (int)value);
                bytes = 5;
                break;
            default:
                room[0] = JsonTag.Int64;
                Unsafe.WriteUnaligned(ref room[1], value);
                bytes = 9;
                break;
        }

        output.Advance(bytes);
    }

    /// <summary>Appends an integer above those with a sign.</summary>
    internal static void AppendUnsigned(NativeBuffer output, ulong value)
    {
        if (value <= long.MaxValue)
        {
            Append(output, (long)value);
            return;
        }

        Span<byte> room = output.Room(BytesMax);
        room[0] = JsonTag.UInt64;
        Unsafe.WriteUnaligned(ref room[1], value);
        output.Advance(BytesMax);
    }

    /// <summary>Appends a double.</summary>
    internal static void Append(NativeBuffer output, double value)
    {
        Span<byte> room = output.Room(BytesMax);
        room[0] = JsonTag.Double;
        Unsafe.WriteUnaligned(ref room[1], value);
        output.Advance(BytesMax);
    }

    /// <summary>Appends a number with a fraction by its digits, if it has a shorter form than a double.</summary>
    /// <param name="output">Where to.</param>
    /// <param name="isNegative">Whether it is negative.</param>
    /// <param name="digits">The digits.</param>
    /// <param name="places">How many of them are behind the point.</param>
    internal static bool TryAppendDecimal(NativeBuffer output, bool isNegative, ulong digits, int places)
    {
        for (; places > 0 && digits % 10 == 0; places--) digits /= 10;
        if (digits == 0) places = 0;
        if (places > JsonTag.PlacesMax || digits >= 1_000_000_000_000_000 || (digits == 0 && isNegative)) return false;
        if (places > PlainPlacesMax && digits != 0 && digits / PowersOfTen[places] < PlainMin) return false;
        long value = isNegative ? -(long)digits : (long)digits;
        int size = value switch
        {
            >= sbyte.MinValue and <= sbyte.MaxValue => 0,
            >= short.MinValue and <= short.MaxValue => 1,
            >= int.MinValue and <= int.MaxValue => 2,
            _ => 3,
        };
        Span<byte> room = output.Room(BytesMax);
        room[0] = (byte)(JsonTag.Decimal + (places << 2) + size);
        Unsafe.WriteUnaligned(ref room[1], value);
        output.Advance(1 + (1 << size));
        return true;
    }

    /// <summary>Appends any finite double in its shortest form.</summary>
    internal static void AppendShortest(NativeBuffer output, double value)
    {
        double magnitude = Math.Abs(value);
        if (magnitude is < 1e9 and >= PlainMin || value == 0)
        {
            for (int places = 0; places <= JsonTag.PlacesMax; places++)
            {
                double digits = magnitude * PowersOfTen[places];
                if (digits == Math.Floor(digits) && digits < 1e15 && digits / PowersOfTen[places] == magnitude && TryAppendDecimal(output, double.IsNegative(value), (ulong)digits, places)) return;
            }
        }

        Append(output, value);
    }

    /// <summary>Writes a number as text; the destination has at least <see cref="TextMax"/> bytes.</summary>
    /// <returns>How many bytes were written.</returns>
    internal static int Format(JsonValue number, Span<byte> destination)
    {
        int length;
        if (number.Kind == JsonKind.Integer)
        {
            if (number.IsUnsigned) Utf8Formatter.TryFormat(number.Unsigned, destination, out length);
            else Utf8Formatter.TryFormat(number.Integer, destination, out length);
            return length;
        }

        if (!number.IsDecimal) return Format(number.Double, destination);
        (long digits, int places) = number.Decimal;
        Span<byte> text = stackalloc byte[DigitsMax + 1];
        Utf8Formatter.TryFormat((ulong)Math.Abs(digits), text, out int count);
        int sign = 0;
        if (digits < 0) destination[sign++] = (byte)'-';
        return sign + Layout(text[..count], -places, destination[sign..]);
    }

    /// <summary>The length of a number's text.</summary>
    internal static int TextSize(JsonValue number)
    {
        if (number.Kind == JsonKind.Integer) return number.IsUnsigned ? DigitsOf(number.Unsigned) : SizeOf(number.Integer);
        if (!number.IsDecimal) return Format(number.Double, stackalloc byte[TextMax]);
        (long digits, int places) = number.Decimal;
        int count = DigitsOf((ulong)Math.Abs(digits)), whole = count - places, sign = digits < 0 ? 1 : 0;
        if (places == 0) return sign + count + ".0"u8.Length;
        if (whole > 0) return sign + count + ".".Length;
        if (whole > -PlainZerosMax) return sign + "0.".Length - whole + count;
        return sign + count + (count > 1 ? ".".Length : 0) + "e".Length + SizeOf(whole - 1);
    }

    private static int SizeOf(long integer) => integer < 0 ? "-".Length + DigitsOf(unchecked((ulong)-integer)) : DigitsOf((ulong)integer);

    private static int DigitsOf(ulong value)
    {
        int count = 1;
        for (; value >= 10_000; value /= 10_000) count += 4;
        return count + (value >= 1000 ? 3 : value >= 100 ? 2 : value >= 10 ? 1 : 0);
    }

    /// <summary>Writes a double as text.</summary>
    internal static int Format(double value, Span<byte> destination)
    {
        int length = 0;
        if (double.IsNegative(value)) destination[length++] = (byte)'-';
        value = Math.Abs(value);
        Span<byte> text = stackalloc byte[TextMax];
        value.TryFormat(text, out int written, default, CultureInfo.InvariantCulture);
        return length + Layout(Digits(text[..written], out int exponent), exponent, destination[length..]);
    }

    // The digits of a number's text, without the zeros at both ends, in front of the text, and the power of ten behind them.
    private static Span<byte> Digits(Span<byte> text, out int exponent)
    {
        int count = 0;
        bool behindPoint = false;
        exponent = 0;
        for (int i = 0; i < text.Length; i++)
        {
            byte c = text[i];
            if (c == '.')
            {
                behindPoint = true;
            }
            else if (c == 'E')
            {
                if (Utf8Parser.TryParse(text[(text[i + 1] == '+' ? i + 2 : i + 1)..], out int power, out _)) exponent += power;
                break;
            }
            else
            {
                if (behindPoint) exponent--;
                if (count > 0 || c != '0') text[count++] = c;
            }
        }

        for (; count > 0 && text[count - 1] == '0'; count--) exponent++;
        if (count > 0) return text[..count];
        text[0] = (byte)'0';
        exponent = 0;
        return text[..1];
    }

    // Where the point is and when there is an exponent, which has no sign unless it is negative.
    private static int Layout(ReadOnlySpan<byte> digits, int exponent, Span<byte> destination)
    {
        int whole = digits.Length + exponent; // digits in front of the point
        int length = 0;
        if (exponent >= 0 && whole <= PlainDigitsMax)
        {
            digits.CopyTo(destination);
            destination.Slice(digits.Length, exponent).Fill((byte)'0');
            length = digits.Length + exponent;
            destination[length++] = (byte)'.';
            destination[length++] = (byte)'0';
            return length;
        }

        if (whole is > 0 and <= PlainDigitsMax)
        {
            digits[..whole].CopyTo(destination);
            destination[whole] = (byte)'.';
            digits[whole..].CopyTo(destination[(whole + 1)..]);
            return digits.Length + 1;
        }

        if (whole is > -PlainZerosMax and <= 0)
        {
            destination[length++] = (byte)'0';
            destination[length++] = (byte)'.';
            destination.Slice(length, -whole).Fill((byte)'0');
            length -= whole;
            digits.CopyTo(destination[length..]);
            return length + digits.Length;
        }

        destination[length++] = digits[0];
        if (digits.Length > 1)
        {
            destination[length++] = (byte)'.';
            digits[1..].CopyTo(destination[length..]);
            length += digits.Length - 1;
        }

        destination[length++] = (byte)'e';
        Utf8Formatter.TryFormat(whole - 1, destination[length..], out int power);
        return length + power;
    }
}
