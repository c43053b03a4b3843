using System.Globalization;
using System.Text;

namespace RedKite.Server;

/// <summary>What a reply is.</summary>
public enum ReplyKind
{
    /// <summary>No value.</summary>
    Null,

    /// <summary>A status such as OK.</summary>
    Status,

    /// <summary>An error: its class, a space, the text.</summary>
    Error,

    /// <summary>An integer.</summary>
    Integer,

    /// <summary>A string of bytes (numbers and booleans of RESP3 too, as text).</summary>
    Text,

    /// <summary>An array, set, map (keys and values by turns) or push of replies.</summary>
    Array,
}

/// <summary>A reply to a command that was executed in process.</summary>
public sealed class RedKiteReply
{
    private static readonly RedKiteReply NullReply = new() { Kind = ReplyKind.Null };

    private RedKiteReply()
    {
    }

    /// <summary>What the reply is; the other properties that fit it have values.</summary>
    public ReplyKind Kind { get; private init; }

    /// <summary>The bytes of a status, error or string.</summary>
    public ReadOnlyMemory<byte> Bytes { get; private init; }

    /// <summary>An integer's value.</summary>
    public long Integer { get; private init; }

    /// <summary>An array's elements.</summary>
    public IReadOnlyList<RedKiteReply> Items { get; private init; } = [];

    /// <summary>Whether the command failed.</summary>
    public bool IsError => Kind == ReplyKind.Error;

    /// <summary>Whether there is no value.</summary>
    public bool IsNull => Kind == ReplyKind.Null;

    /// <summary>The bytes as UTF-8, or an integer's digits; null for a null.</summary>
    public string? Text => Kind switch
    {
        ReplyKind.Null => null,
        ReplyKind.Integer => Integer.ToString(CultureInfo.InvariantCulture),
        ReplyKind.Array => string.Join(", ", Items),
        _ => Encoding.UTF8.GetString(Bytes.Span),
    };

    /// <inheritdoc/>
    public override string ToString() => Text ?? "(null)";

    internal static RedKiteReply Parse(ReadOnlySpan<byte> reply)
    {
        // CLIENT REPLY OFF leaves nothing.
        return reply.IsEmpty ? NullReply : Read(ref reply);
    }

    private static RedKiteReply Read(ref ReadOnlySpan<byte> rest)
    {
        byte type = rest[0];
        int end = rest.IndexOf("\r\n"u8);
        ReadOnlySpan<byte> line = rest[1..end];
        rest = rest[(end + 2)..];
        switch (type)
        {
            case (byte)'+':
                return new RedKiteReply { Kind = ReplyKind.Status, Bytes = line.ToArray() };
            case (byte)'-':
                return new RedKiteReply { Kind = ReplyKind.Error, Bytes = line.ToArray() };
            case (byte)':':
                return new RedKiteReply { Kind = ReplyKind.Integer, Integer = Number(line) };
            case (byte)'_':
                return NullReply;
            case (byte)'$' or (byte)'=':
                return ReadBulk(type, Number(line), ref rest);
            case (byte)'*' or (byte)'~' or (byte)'>' or (byte)'%':
                return ReadItems(type == '%' ? Number(line) * 2 : Number(line), ref rest);
            default:
                return new RedKiteReply { Kind = ReplyKind.Text, Bytes = line.ToArray() };
        }
    }

    private static RedKiteReply ReadBulk(byte type, long length, ref ReadOnlySpan<byte> rest)
    {
        if (length < 0) return NullReply;
        ReadOnlySpan<byte> bytes = rest[(type == '=' ? 4 : 0)..(int)length];
        rest = rest[((int)length + 2)..];
        return new RedKiteReply { Kind = ReplyKind.Text, Bytes = bytes.ToArray() };
    }

    private static RedKiteReply ReadItems(long count, ref ReadOnlySpan<byte> rest)
    {
        if (count < 0) return NullReply;
        var items = new RedKiteReply[count];
        for (int i = 0; i < items.Length; i++) items[i] = Read(ref rest);
        return new RedKiteReply { Kind = ReplyKind.Array, Items = items };
    }

    private static long Number(ReadOnlySpan<byte> text) => long.Parse(text, CultureInfo.InvariantCulture);
}
