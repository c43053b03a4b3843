using System.Text;

namespace RedKite.ClusterChecker;

/// <summary>The slot of a key, as clients for Redis Cluster compute it: CRC-16 (XMODEM) of the key, or of what is between its first braces.</summary>
internal static class Slot
{
    internal const int Count = 16_384;

    internal static int Of(string key)
    {
        int open = key.IndexOf('{', StringComparison.Ordinal), close = open < 0 ? -1 : key.IndexOf('}', open + 1);
        byte[] hashed = Encoding.UTF8.GetBytes(close > open + 1 ? key[(open + 1)..close] : key);
        int crc = 0;
        foreach (byte each in hashed)
        {
            crc ^= each << 8;
            for (int bit = 0; bit < 8; bit++) crc = ((crc & 0x8000) != 0 ? (crc << 1) ^ 0x1021 : crc << 1) & 0xffff;
        }

        return crc % Count;
    }
}
