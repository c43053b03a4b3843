using System.Buffers;
using System.Buffers.Text;
using System.IO.Pipelines;
using System.Text;

namespace RedKite.Ladder.Stages;

/// <summary>Writes replies into a pipe's own memory.</summary>
internal static class PipeReplies
{
    private const int LengthBytesMax = 16; // $, ten digits, two line ends

    internal static void WriteOk(this PipeWriter output) => output.Write("+OK\r\n"u8);

    internal static void WriteNull(this PipeWriter output) => output.Write("$-1\r\n"u8);

    internal static void WriteBulk(this PipeWriter output, ReadOnlySpan<byte> value)
    {
        Span<byte> reply = output.GetSpan(value.Length + LengthBytesMax);
        int at = WriteLength(reply, value.Length);
        value.CopyTo(reply[at..]);
        "\r\n"u8.CopyTo(reply[(at + value.Length)..]);
        output.Advance(at + value.Length + 2);
    }

    /// <summary>A value in which each character is a byte.</summary>
    internal static void WriteBulk(this PipeWriter output, string value)
    {
        Span<byte> reply = output.GetSpan(value.Length + LengthBytesMax);
        int at = WriteLength(reply, value.Length);
        Encoding.Latin1.GetBytes(value, reply[at..]);
        "\r\n"u8.CopyTo(reply[(at + value.Length)..]);
        output.Advance(at + value.Length + 2);
    }

    /// <summary>A complete reply in which each character is a byte.</summary>
    internal static void WriteText(this PipeWriter output, string reply) => Encoding.Latin1.GetBytes(reply, output);

    private static int WriteLength(Span<byte> reply, int length)
    {
        reply[0] = (byte)'$';
        Utf8Formatter.TryFormat(length, reply[1..], out int digits);
        "\r\n"u8.CopyTo(reply[(1 + digits)..]);
        return 1 + digits + 2;
    }
}
