using System.Buffers.Text;

namespace RedKite.Persistence.Log;

/// <summary>SELECT in the protocol's form, as the log has it where the database changes.</summary>
internal static class SelectCommand
{
    /// <summary>The most bytes of one.</summary>
    internal const int LengthMax = 64;

    private static ReadOnlySpan<byte> Head => "*2\r\n$6\r\nSELECT\r\n$"u8;

    internal static int Length(int database) => Head.Length + DigitsOf(DigitsOf(database)) + 2 + DigitsOf(database) + 2;

    /// <returns>The number of bytes.</returns>
    internal static int Format(int database, Span<byte> target)
    {
        Head.CopyTo(target);
        int length = Head.Length;
        Utf8Formatter.TryFormat(DigitsOf(database), target[length..], out int written);
        length += written;
        "\r\n"u8.CopyTo(target[length..]);
        length += 2;
        Utf8Formatter.TryFormat(database, target[length..], out written);
        length += written;
        "\r\n"u8.CopyTo(target[length..]);
        return length + 2;
    }

    private static int DigitsOf(int value)
    {
        int digits = 1;
        while ((value /= 10) > 0) digits++;
        return digits;
    }
}
