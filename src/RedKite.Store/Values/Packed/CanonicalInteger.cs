using System.Buffers.Text;

namespace RedKite.Store.Values.Packed;

/// <summary>
/// Text that is a 64-bit integer in its one canonical form, so that it can be kept as a number and written out again
/// byte for byte: an optional minus, no plus, no blanks, no leading zeros.
/// </summary>
internal static class CanonicalInteger
{
    /// <summary>The longest text of a 64-bit integer.</summary>
    internal const int TextBytesMax = 20;

    internal static bool TryParse(ReadOnlySpan<byte> text, out long value)
    {
        value = 0;
        if (text.Length is 0 or > TextBytesMax) return false;
        int first = text[0] == '-' && text.Length > 1 ? text[1] : text[0];
        if (first is < '1' or > '9') return text is [(byte)'0'];
        return Utf8Parser.TryParse(text, out value, out int read) && read == text.Length;
    }

    /// <summary>Writes the text; the destination has at least <see cref="TextBytesMax"/> bytes.</summary>
    internal static int Format(long value, Span<byte> destination)
    {
        Utf8Formatter.TryFormat(value, destination, out int written);
        return written;
    }
}
