using System.Buffers;
using System.Text;

namespace RedKite.Protocol;

/// <summary>Writes requests in the protocol's form, for what executes several at once.</summary>
internal static class RequestText
{
    /// <summary>A whole request.</summary>
    internal static byte[] Of(byte[][] arguments)
    {
        var text = new ArrayBufferWriter<byte>();
        Begin(text, arguments.Length);
        foreach (byte[] argument in arguments) AddArgument(text, argument);
        return text.WrittenSpan.ToArray();
    }

    internal static void Begin(IBufferWriter<byte> to, int count) => Head(to, (byte)'*', count);

    internal static void BeginArgument(IBufferWriter<byte> to, int bytes) => Head(to, (byte)'$', bytes);

    internal static void AddArgument(IBufferWriter<byte> to, ReadOnlySpan<byte> argument)
    {
        BeginArgument(to, argument.Length);
        to.Write(argument);
        to.Write("\r\n"u8);
    }

    internal static void AddArgument(IBufferWriter<byte> to, string argument)
    {
        int bytes = Encoding.UTF8.GetByteCount(argument);
        BeginArgument(to, bytes);
        to.Advance(Encoding.UTF8.GetBytes(argument, to.GetSpan(bytes)));
        to.Write("\r\n"u8);
    }

    private static void Head(IBufferWriter<byte> to, byte marker, int number)
    {
        Span<byte> head = to.GetSpan(RespNumber.Int64TextMax + 3);
        head[0] = marker;
        int length = 1 + RespNumber.Format(number, head[1..]);
        head[length++] = (byte)'\r';
        head[length++] = (byte)'\n';
        to.Advance(length);
    }
}
