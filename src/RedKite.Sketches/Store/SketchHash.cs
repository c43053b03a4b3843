using System.Buffers.Binary;
using System.Runtime.CompilerServices;
using System.Runtime.Intrinsics.Arm;
using System.Runtime.Intrinsics.X86;

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
    internal ulong Position(int number, ulong positions) => Position(First + ((ulong)number * Step), positions);

    /// <summary>The position of <see cref="First"/> and some of the steps among <paramref name="positions"/>: the upper half of the product. The lower one would be stored for nothing.</summary>
    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    internal static ulong Position(ulong at, ulong positions) =>
        Bmi2.X64.IsSupported ? Bmi2.X64.MultiplyNoFlags(at, positions)
        : ArmBase.Arm64.IsSupported ? ArmBase.Arm64.MultiplyHigh(at, positions)
        : Math.BigMul(at, positions, out _);

    private static ulong Fold(ulong a, ulong b) => Math.BigMul(a, b, out ulong low) ^ low;
}
