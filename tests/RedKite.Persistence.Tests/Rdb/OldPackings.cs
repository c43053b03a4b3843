using System.Buffers.Binary;
using System.Globalization;
using System.Text;

namespace RedKite.Persistence.Tests.Rdb;

/// <summary>Builds ziplists and zipmaps, which current versions no longer write.</summary>
internal static class OldPackings
{
    internal static byte[] ZipList(params string[] elements)
    {
        List<byte> bytes = [.. new byte[10]];
        int tail = 10;
        int previous = 0;
        foreach (string element in elements)
        {
            tail = bytes.Count;
            AddPrevious(bytes, previous);
            AddElement(bytes, element);
            previous = bytes.Count - tail;
        }

        bytes.Add(0xFF);
        byte[] list = [.. bytes];
        BinaryPrimitives.WriteInt32LittleEndian(list, list.Length);
        BinaryPrimitives.WriteInt32LittleEndian(list.AsSpan(4), tail);
        BinaryPrimitives.WriteUInt16LittleEndian(list.AsSpan(8), (ushort)Math.Min(elements.Length, ushort.MaxValue));
        return list;
    }

    /// <param name="unused">Unused bytes after each value.</param>
    /// <param name="elements">Alternating fields and values.</param>
    internal static byte[] ZipMap(int unused, params string[] elements)
    {
        List<byte> bytes = [(byte)Math.Min(elements.Length / 2, 254)];
        for (int i = 0; i < elements.Length; i++)
        {
            AddPrevious(bytes, elements[i].Length);
            if (i % 2 == 1) bytes.Add((byte)unused);
            bytes.AddRange(Encoding.Latin1.GetBytes(elements[i]));
            if (i % 2 == 1) bytes.AddRange(new byte[unused]);
        }

        return [.. bytes, 0xFF];
    }

    // The length before a ziplist's element, and a zipmap's lengths.
    private static void AddPrevious(List<byte> bytes, int length)
    {
        if (length < 254) bytes.Add((byte)length);
        else bytes.AddRange([0xFE, .. LittleEndian(length, sizeof(int))]);
    }

    private static void AddElement(List<byte> bytes, string element)
    {
        bool isNumber = long.TryParse(element, NumberStyles.AllowLeadingSign, CultureInfo.InvariantCulture, out long number)
            && number.ToString(CultureInfo.InvariantCulture) == element;
        if (isNumber)
        {
            switch (number)
            {
                case >= 0 and <= 12: bytes.Add((byte)(0xF1 + number)); break;
                case >= sbyte.MinValue and <= sbyte.MaxValue: bytes.AddRange([0xFE, .. LittleEndian(number, 1)]); break;
                case >= short.MinValue and <= short.MaxValue: bytes.AddRange([0xC0, .. LittleEndian(number, 2)]); break;
                case >= -(1 << 23) and < 1 << 23: bytes.AddRange([0xF0, .. LittleEndian(number, 3)]); break;
                case >= int.MinValue and <= int.MaxValue: bytes.AddRange([0xD0, .. LittleEndian(number, 4)]); break;
                default: bytes.AddRange([0xE0, .. LittleEndian(number, 8)]); break;
            }

            return;
        }

        int length = element.Length;
        if (length <= 63) bytes.Add((byte)length);
        else if (length <= 16383) bytes.AddRange([(byte)(0x40 | (length >> 8)), (byte)length]);
        else bytes.AddRange([0x80, (byte)(length >> 24), (byte)(length >> 16), (byte)(length >> 8), (byte)length]);
        bytes.AddRange(Encoding.Latin1.GetBytes(element));
    }

    private static byte[] LittleEndian(long number, int bytes) => [.. Enumerable.Range(0, bytes).Select(i => (byte)(number >> (8 * i)))];
}
