using System.Buffers.Text;
using RedKite.Protocol;

namespace RedKite.Server.Client;

/// <summary>Reads parts of replies that the server itself has written, in RESP2.</summary>
internal static class ReplyText
{
    /// <summary>The bytes of a string, status or integer; false for a null.</summary>
    internal static bool TryBulk(ReadOnlySpan<byte> reply, out ReadOnlySpan<byte> value)
    {
        int at = 0;
        return TryRead(reply, ref at, out value);
    }

    /// <summary>Reads one element that is no array, and moves behind it; false for a null.</summary>
    internal static bool TryRead(ReadOnlySpan<byte> reply, scoped ref int at, out ReadOnlySpan<byte> value)
    {
        byte marker = reply[at];
        int end = at + reply[at..].IndexOf((byte)'\r');
        value = reply[(at + 1)..end];
        at = end + 2;
        if (marker is not ((byte)'$' or (byte)'*')) return true;
        long length = Length(value);
        value = default;
        if (length < 0 || marker == '*') return false;
        value = reply.Slice(at, (int)length);
        at += (int)length + 2;
        return true;
    }

    /// <summary>Reads the head of an array; -1 for a null.</summary>
    internal static int Count(ReadOnlySpan<byte> reply, scoped ref int at)
    {
        if (reply[at] != '*') throw new InvalidOperationException("The reply is no array.");
        int end = at + reply[at..].IndexOf((byte)'\r');
        int count = (int)Length(reply[(at + 1)..end]);
        at = end + 2;
        return count;
    }

    internal static double Double(ReadOnlySpan<byte> text)
    {
        if (text.SequenceEqual("inf"u8)) return double.PositiveInfinity;
        if (text.SequenceEqual("-inf"u8)) return double.NegativeInfinity;
        return Utf8Parser.TryParse(text, out double value, out int consumed) && consumed == text.Length ? value : throw new InvalidOperationException("The reply is no number.");
    }

    private static long Length(ReadOnlySpan<byte> digits) => RespNumber.TryParseInt64(digits, out long value) ? value : throw new InvalidOperationException("The reply has no length.");
}
