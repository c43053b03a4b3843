using System.Buffers.Binary;

namespace RedKite.Sketches.Store;

/// <summary>
/// The hash of an element, the same on every server and for good: files and replicas contain what it determines. It folds 128-bit products. Elements that
/// are chosen to collide only make their own sketch less exact.
/// </summary>
internal readonly struct SketchHash
{
    private const ulong Key0 = 0x9E37_79B9_7F4A_7C15;
    private const ulong Key1 = 0xBF58_476D_1CE4_E5B9;
    private const ulong Key2 = 0x94D0_49BB_1331_11EB;

    private SketchHash(ulong first) => (First, Step) = (first, Fold(first ^ Key2, Key1) | 1);

    internal ulong First { get; }

    /// <summary>The distance between the positions that the hash determines.</summary>
    internal ulong Step { get; }

    internal static SketchHash Of(ReadOnlySpan<byte> element)
    {
        ulong length = (ulong)element.Length;
        ulong hash = Key0 ^ (length * Key1);
        for (; element.Length >= 16; element = element[16..])
        {
            hash = Fold(BinaryPrimitives.ReadUInt64LittleEndian(element) ^ Key1, BinaryPrimitives.ReadUInt64LittleEndian(element[8..]) ^ hash);
        }

        (ulong a, ulong b) = element.Length switch
        {
            >= 8 => (BinaryPrimitives.ReadUInt64LittleEndian(element), BinaryPrimitives.ReadUInt64LittleEndian(element[^8..])),
            >= 4 => (BinaryPrimitives.ReadUInt32LittleEndian(element), BinaryPrimitives.ReadUInt32LittleEndian(element[^4..])),
            > 0 => (element[0] | ((ulong)element[element.Length / 2] << 8) | ((ulong)element[^1] << 16), 0UL),
            _ => (0UL, 0UL),
        };
        return new SketchHash(Fold(Fold(a ^ Key1, b ^ hash) ^ Key2, length ^ Key0));
    }

    /// <summary>The position of a number among <paramref name="positions"/>.</summary>
    internal ulong Position(int number, ulong positions) => Math.BigMul(First + ((ulong)number * Step), positions, out _);

    private static ulong Fold(ulong a, ulong b) => Math.BigMul(a, b, out ulong low) ^ low;
}
