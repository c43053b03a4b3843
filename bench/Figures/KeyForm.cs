using System.Buffers.Text;
using System.Text;

namespace RedKite.Figures;

/// <summary>The format of a load generator's keys, so that the loader can write the keys that the load will request.</summary>
/// <param name="Digits">Minimum digits, with leading zeros; 0 for none.</param>
internal sealed record KeyForm(string Prefix, int Digits)
{
    internal const int BytesMax = 32;

    internal static readonly KeyForm RedisBenchmark = new("key:", 12);
    /// <summary>The keys of `redkite bench`.</summary>
    internal static readonly KeyForm Memtier = new("memtier-", 0);

    /// <summary>15 bytes in all, as the memory figures assume.</summary>
    internal static readonly KeyForm Memory = new("key:", 11);

    private readonly byte[] _prefix = Encoding.ASCII.GetBytes(Prefix);

    /// <summary>Writes the key with this number and returns its length in bytes.</summary>
    internal int Write(Span<byte> destination, long number)
    {
        _prefix.CopyTo(destination);
        Utf8Formatter.TryFormat(number, destination[_prefix.Length..], out int written, new('D', (byte)Digits));
        return _prefix.Length + written;
    }
}
