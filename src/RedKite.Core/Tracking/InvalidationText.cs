using System.Buffers;
using RedKite.Net.Interop;
using RedKite.Protocol;
using RedKite.Server.Model;

namespace RedKite.Server.Tracking;

/// <summary>Invalidations as clients get them: a push over RESP3, a message of a channel over RESP2.</summary>
internal static class InvalidationText
{
    private static readonly byte[] NoKeys2 = [.. "$-1\r\n"u8];
    private static readonly byte[] NoKeys3 = [.. "_\r\n"u8];

    /// <summary>All keys, for a client over a protocol.</summary>
    internal static byte[] AllKeys(bool resp3) => resp3 ? NoKeys3 : NoKeys2;

    /// <summary>A list of keys.</summary>
    internal static byte[] Keys(params ReadOnlySpan<byte[]> keys)
    {
        var text = new ArrayBufferWriter<byte>();
        Line(text, (byte)'*', keys.Length);
        foreach (byte[] key in keys)
        {
            Line(text, (byte)'$', key.Length);
            text.Write(key);
            text.Write("\r\n"u8);
        }

        return text.WrittenSpan.ToArray();
    }

    /// <summary>The whole message, with one reference.</summary>
    internal static Payload Message(BufferPool pool, bool resp3, ReadOnlySpan<byte> keys)
    {
        ReadOnlySpan<byte> start = resp3 ? ">2\r\n$10\r\ninvalidate\r\n"u8 : "*3\r\n$7\r\nmessage\r\n$20\r\n__redis__:invalidate\r\n"u8;
        SharedBuffer buffer = pool.Take(start.Length + keys.Length);
        start.CopyTo(buffer.GetSpan());
        keys.CopyTo(buffer.GetSpan()[start.Length..]);
        return new Payload(buffer, 0, start.Length + keys.Length);
    }

    /// <summary>The message that the client that should get the invalidations has disconnected, with one reference.</summary>
    internal static Payload BrokenRedirect(BufferPool pool, long id)
    {
        var text = new ArrayBufferWriter<byte>();
        text.Write(">2\r\n$21\r\ntracking-redir-broken\r\n"u8);
        Line(text, (byte)':', id);
        return Payload.Of(pool, text.WrittenSpan);
    }

    private static void Line(ArrayBufferWriter<byte> text, byte type, long number)
    {
        Span<byte> line = text.GetSpan(RespNumber.Int64TextMax + 3);
        line[0] = type;
        int length = 1 + RespNumber.Format(number, line[1..]);
        line[length++] = (byte)'\r';
        line[length++] = (byte)'\n';
        text.Advance(length);
    }
}
