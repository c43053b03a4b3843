using System.Buffers.Binary;

namespace RedKite.Persistence.Rdb;

/// <summary>
/// The checksum of RDB files and dumps: CRC-64 with Jones's polynomial, reflected, initial value 0. The check value of
/// "123456789" is e9c6d914c4b8d9ca.
/// </summary>
internal static class Crc64
{
    internal const int Bytes = sizeof(ulong);

    // ad93d23594c935a9 with its bits reversed.
    private const ulong Polynomial = 0x95AC9329AC4BC9B5;

    private const int Tables = 8;

    // Eight tables of 256 entries: the effect of a byte that is followed by seven to zero others, so that each step processes eight bytes.
    private static readonly ulong[] Table = MakeTable();

    /// <summary>Continues a checksum with further bytes.</summary>
    /// <param name="crc">The checksum of the preceding bytes; initially 0.</param>
    /// <param name="bytes">The bytes.</param>
    internal static ulong Append(ulong crc, ReadOnlySpan<byte> bytes)
    {
        ReadOnlySpan<ulong> table = Table;
        while (bytes.Length >= sizeof(ulong))
        {
            crc ^= BinaryPrimitives.ReadUInt64LittleEndian(bytes);
            crc = table[(7 * 256) + (byte)crc] ^ table[(6 * 256) + (byte)(crc >> 8)]
                ^ table[(5 * 256) + (byte)(crc >> 16)] ^ table[(4 * 256) + (byte)(crc >> 24)]
                ^ table[(3 * 256) + (byte)(crc >> 32)] ^ table[(2 * 256) + (byte)(crc >> 40)]
                ^ table[256 + (byte)(crc >> 48)] ^ table[(int)(crc >> 56)];
            bytes = bytes[sizeof(ulong)..];
        }

        foreach (byte b in bytes) crc = table[(byte)(crc ^ b)] ^ (crc >> 8);
        return crc;
    }

    private static ulong[] MakeTable()
    {
        ulong[] table = new ulong[Tables * 256];
        for (int i = 0; i < 256; i++)
        {
            ulong crc = (ulong)i;
            for (int bit = 0; bit < 8; bit++) crc = (crc >> 1) ^ ((crc & 1) * Polynomial);
            table[i] = crc;
        }

        for (int i = 256; i < table.Length; i++) table[i] = table[(byte)table[i - 256]] ^ (table[i - 256] >> 8);
        return table;
    }
}
