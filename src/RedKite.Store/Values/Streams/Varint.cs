namespace RedKite.Store.Values.Streams;

/// <summary>Numbers of seven bits a byte, the lowest first; the top bit says that another byte follows.</summary>
internal static unsafe class Varint
{
    /// <summary>The maximum length of a number.</summary>
    internal const int BytesMax = 10;

    internal static int BytesOf(ulong value)
    {
        int bytes = 1;
        while ((value >>= 7) != 0) bytes++;
        return bytes;
    }

    internal static byte* Write(byte* at, ulong value)
    {
        for (; value >= 0x80; value >>= 7) *at++ = (byte)(value | 0x80);
        *at++ = (byte)value;
        return at;
    }

    internal static byte* Read(byte* at, out ulong value)
    {
        value = *at++;
        if (value < 0x80) return at;
        value &= 0x7F;
        for (int shift = 7; ; shift += 7)
        {
            byte next = *at++;
            value |= (ulong)(next & 0x7F) << shift;
            if (next < 0x80) return at;
        }
    }
}
