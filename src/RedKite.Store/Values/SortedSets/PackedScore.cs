using System.Globalization;
using RedKite.Store.Values.Packed;

namespace RedKite.Store.Values.SortedSets;

/// <summary>
/// A score in a <see cref="PackedList"/>: a number if it is integral, otherwise text that C reads too, as in Redis, so that dumps are copies.
/// </summary>
internal static unsafe class PackedScore
{
    private const int TextBytesMax = 32;

    // Up to here every whole number is a double.
    private const double WholeMax = 1L << 53;

    internal static double Read(byte* list, int offset)
    {
        PackedElement element = PackedList.Read(list, offset);
        return element.IsNumber ? element.Number : ReadText(element.Bytes(default));
    }

    internal static int ElementBytes(double score)
    {
        if (IsWhole(score)) return PackedList.ElementBytes((long)score);
        Span<byte> text = stackalloc byte[TextBytesMax];
        return PackedList.ElementBytes(Format(score, text));
    }

    internal static void Insert(byte* list, int offset, double score)
    {
        if (IsWhole(score))
        {
            PackedList.Insert(list, offset, (long)score);
            return;
        }

        Span<byte> text = stackalloc byte[TextBytesMax];
        PackedList.Insert(list, offset, Format(score, text));
    }

    internal static void Replace(byte* list, int offset, double score)
    {
        if (IsWhole(score))
        {
            PackedList.Replace(list, offset, (long)score);
            return;
        }

        Span<byte> text = stackalloc byte[TextBytesMax];
        PackedList.Replace(list, offset, Format(score, text));
    }

    // Zero loses its sign here, as in Redis's packed sets.
    private static bool IsWhole(double score) => Math.Abs(score) <= WholeMax && score == Math.Floor(score);

    private static Span<byte> Format(double score, Span<byte> text)
    {
        if (double.IsInfinity(score))
        {
            ReadOnlySpan<byte> name = score > 0 ? "inf"u8 : "-inf"u8;
            name.CopyTo(text);
            return text[..name.Length];
        }

        score.TryFormat(text, out int length, "R", CultureInfo.InvariantCulture);
        return text[..length];
    }

    // Text that this class or Redis wrote; any other text of a foreign dump counts as zero.
    private static double ReadText(ReadOnlySpan<byte> text)
    {
        if (text.SequenceEqual("inf"u8)) return double.PositiveInfinity;
        if (text.SequenceEqual("-inf"u8)) return double.NegativeInfinity;
        return double.TryParse(text, NumberStyles.Float, CultureInfo.InvariantCulture, out double score) && !double.IsNaN(score) ? score : 0;
    }
}
