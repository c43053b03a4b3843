using RedKite.Net.Interop;
using RedKite.Protocol;
using RedKite.Server.Model;

namespace RedKite.Server.PubSub;

/// <summary>
/// Messages as subscribers get them. RESP2 and RESP3 differ in the first byte alone: a push is an array there.
/// </summary>
internal static class MessageText
{
    private const int FrameBytesMax = 64; // the lengths of four elements, and the kind

    /// <summary>An upper bound of a message's length.</summary>
    internal static int BytesMax(ReadOnlySpan<byte> pattern, ReadOnlySpan<byte> channel, ReadOnlySpan<byte> message) =>
        checked(FrameBytesMax + RespNumber.Int64TextMax + pattern.Length + channel.Length + message.Length);

    /// <summary>Writes a message; returns its length.</summary>
    internal static int WriteMessage(Span<byte> to, bool resp3, bool isShard, ReadOnlySpan<byte> channel, ReadOnlySpan<byte> message)
    {
        int length = Raw(to, 0, resp3 ? ">3\r\n"u8 : "*3\r\n"u8);
        length = Raw(to, length, isShard ? "$8\r\nsmessage\r\n"u8 : "$7\r\nmessage\r\n"u8);
        return Bulk(to, Bulk(to, length, channel), message);
    }

    /// <summary>Writes a message for the subscribers of a pattern; returns its length.</summary>
    internal static int WritePatternMessage(Span<byte> to, bool resp3, ReadOnlySpan<byte> pattern, ReadOnlySpan<byte> channel, ReadOnlySpan<byte> message)
    {
        int length = Raw(to, 0, resp3 ? ">4\r\n$8\r\npmessage\r\n"u8 : "*4\r\n$8\r\npmessage\r\n"u8);
        return Bulk(to, Bulk(to, Bulk(to, length, pattern), channel), message);
    }

    /// <summary>A copy of a message for the other protocol, with one reference.</summary>
    internal static Payload InOtherProtocol(BufferPool pool, in Payload message)
    {
        Payload copy = Payload.Of(pool, message.Bytes);
        copy.Buffer.GetSpan()[0] = message.Bytes[0] == '>' ? (byte)'*' : (byte)'>';
        return copy;
    }

    private static int Bulk(Span<byte> to, int at, ReadOnlySpan<byte> value)
    {
        to[at++] = (byte)'$';
        at += RespNumber.Format(value.Length, to[at..]);
        at = Raw(to, at, "\r\n"u8);
        return Raw(to, Raw(to, at, value), "\r\n"u8);
    }

    private static int Raw(Span<byte> to, int at, ReadOnlySpan<byte> bytes)
    {
        bytes.CopyTo(to[at..]);
        return at + bytes.Length;
    }
}
