using System.Buffers.Binary;

namespace RedKite.Store.Values.Strings;

/// <summary>
/// A HyperLogLog as a string in Redis's format, so that values can be exchanged with Redis byte by byte.
/// <code>
///  0  "HYLL"
///  4  u8   encoding: 0 = dense, 1 = sparse
///  5       three zero bytes
///  8  u64  the cardinality as it was counted last; the highest bit: it is stale
/// 16       16,384 registers, as DenseRegisters or SparseRegisters has them
/// </code>
/// An element's hash selects a register with 14 bits, and the register keeps the largest rank (position of the lowest set bit)
/// of the other 50 bits of its elements. The estimate is Otmar Ertl's ("New cardinality estimation algorithms for
/// HyperLogLog sketches", 2017), computed in Redis's order of operations, so that counts agree exactly.
/// </summary>
internal static class HyperLogLog
{
    internal const int Registers = 1 << IndexBits;
    internal const int HeaderBytes = 16;
    internal const int DenseBytes = HeaderBytes + DenseRegisters.Bytes;

    /// <summary>The number of ranks that registers of six bits can hold, although hashes only produce ranks up to 51.</summary>
    internal const int Ranks = 64;

    private const int IndexBits = 14;
    private const int RankBits = 64 - IndexBits;
    private const ulong HashSeed = 0xadc83b19;
    private const byte DenseEncoding = 0;
    private const byte SparseEncoding = 1;
    private const int EncodingAt = 4;
    private const int CardinalityAt = 8;
    private const byte StaleBit = 0x80;

    // 1 / (2 ln 2), the limit of the correction factor for many registers.
    private const double Alpha = 0.721347520444481703680;

    private static ReadOnlySpan<byte> Magic => "HYLL"u8;

    /// <summary>A value without elements: sparse, all registers zero.</summary>
    internal static ReadOnlySpan<byte> Empty => [(byte)'H', (byte)'Y', (byte)'L', (byte)'L', SparseEncoding, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x7F, 0xFF];

    /// <summary>Whether a string can be a HyperLogLog. The registers of a sparse one are not looked at.</summary>
    internal static bool HasForm(ReadOnlySpan<byte> value)
    {
        if (value.Length < HeaderBytes || !value.StartsWith(Magic)) return false;
        return IsDense(value) ? value.Length == DenseBytes : value[EncodingAt] == SparseEncoding;
    }

    internal static bool IsDense(ReadOnlySpan<byte> value) => value[EncodingAt] == DenseEncoding;

    internal static void MarkDense(Span<byte> value) => value[EncodingAt] = DenseEncoding;

    /// <summary>The cardinality that was counted last, unless registers have changed since.</summary>
    internal static bool TryCached(ReadOnlySpan<byte> value, out long cardinality)
    {
        cardinality = BinaryPrimitives.ReadInt64LittleEndian(value[CardinalityAt..]);
        return (value[CardinalityAt + 7] & StaleBit) == 0;
    }

    internal static void Cache(Span<byte> value, long cardinality) => BinaryPrimitives.WriteInt64LittleEndian(value[CardinalityAt..], cardinality);

    internal static void MarkStale(Span<byte> value) => value[CardinalityAt + 7] |= StaleBit;

    /// <summary>The register that an element belongs to, and its rank there.</summary>
    internal static int RegisterOf(ReadOnlySpan<byte> element, out int rank)
    {
        ulong hash = MurmurHash(element);
        ulong rest = (hash >> IndexBits) | (1UL << RankBits); // the highest rank's bit is always set
        rank = 1 + System.Numerics.BitOperations.TrailingZeroCount(rest);
        return (int)(hash & (Registers - 1));
    }

    /// <summary>The estimate of the cardinality.</summary>
    /// <param name="histogram">How many registers have each rank; <see cref="Ranks"/> counts.</param>
    internal static long Estimate(ReadOnlySpan<int> histogram)
    {
        const double registers = Registers;
        double sum = registers * Tau((registers - histogram[RankBits + 1]) / registers);
        for (int rank = RankBits; rank >= 1; rank--)
        {
            sum += histogram[rank];
            sum *= 0.5;
        }

        sum += registers * Sigma(histogram[0] / registers);
        double estimate = Math.Round(Alpha * registers * registers / sum, MidpointRounding.AwayFromZero);

        // Only registers that no hash can produce lead here; Redis replies the lowest number too.
        return estimate < 9.2e18 ? (long)estimate : long.MinValue;
    }

    // The contribution of saturated registers.
    private static double Tau(double x)
    {
        if (x is 0 or 1) return 0;
        double weight = 1;
        double sum = 1 - x;
        double before;
        do
        {
            before = sum;
            x = Math.Sqrt(x);
            weight *= 0.5;
            sum -= (1 - x) * (1 - x) * weight;
        }
        while (before != sum);

        return sum / 3;
    }

    // The contribution of empty registers.
    private static double Sigma(double x)
    {
        if (x == 1) return double.PositiveInfinity;
        double weight = 1;
        double sum = x;
        double before;
        do
        {
            before = sum;
            x *= x;
            sum += x * weight;
            weight += weight;
        }
        while (before != sum);

        return sum;
    }

    // MurmurHash64A, Austin Appleby's public-domain function, with Redis's seed.
    private static ulong MurmurHash(ReadOnlySpan<byte> bytes)
    {
        const ulong factor = 0xc6a4a7935bd1e995;
        const int shift = 47;
        ulong hash = HashSeed ^ ((ulong)bytes.Length * factor);
        for (; bytes.Length >= 8; bytes = bytes[8..])
        {
            ulong word = BinaryPrimitives.ReadUInt64LittleEndian(bytes) * factor;
            hash = (hash ^ ((word ^ (word >> shift)) * factor)) * factor;
        }

        if (!bytes.IsEmpty)
        {
            ulong last = 0;
            for (int i = 0; i < bytes.Length; i++) last |= (ulong)bytes[i] << (8 * i);
            hash = (hash ^ last) * factor;
        }

        hash = (hash ^ (hash >> shift)) * factor;
        return hash ^ (hash >> shift);
    }
}
