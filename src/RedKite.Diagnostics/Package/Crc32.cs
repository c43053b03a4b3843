namespace RedKite.Server.Diagnostics.Package;

/// <summary>The checksum of zip entries: CRC-32 as in ISO 3309, one byte at a time by a table.</summary>
internal static class Crc32
{
    private const uint Polynomial = 0xEDB88320; // the low bits first
    private static readonly uint[] Table = [.. Enumerable.Range(0, 256).Select(OfByte)];

    /// <summary>The checksum of bytes behind those that already have one; 0 for none.</summary>
    internal static uint Append(uint crc, ReadOnlySpan<byte> bytes)
    {
        crc = ~crc;
        foreach (byte value in bytes) crc = Table[(byte)(crc ^ value)] ^ (crc >> 8);
        return ~crc;
    }

    private static uint OfByte(int value)
    {
        uint crc = (uint)value;
        for (int bit = 0; bit < 8; bit++) crc = (crc & 1) == 0 ? crc >> 1 : (crc >> 1) ^ Polynomial;
        return crc;
    }
}
