using System.Numerics;
using System.Runtime.CompilerServices;
using System.Runtime.InteropServices;

namespace RedKite.Store.Values.Strings;

/// <summary>BITOP's bitwise operations on strings.</summary>
internal enum BitOperation
{
    And,
    Or,
    Xor,
    Not,

    /// <summary>Set in the first and in no other.</summary>
    Diff,

    /// <summary>Set in another and not in the first.</summary>
    Diff1,

    /// <summary>Set in the first and in another.</summary>
    AndOr,

    /// <summary>Set in exactly one.</summary>
    One,
}

/// <summary>
/// Combines strings bit by bit into a third, a vector at a time. Shorter strings count as padded with zero bytes. The destination
/// may be the memory of the first operand, but must not overlap one partly.
/// </summary>
internal static class BitCombination
{
    private const int VectorsPerRound = 4;

    /// <summary>Writes the bits of a string that another does not have; the destination is at least as long as the first.</summary>
    internal static void Subtract(ReadOnlySpan<byte> a, ReadOnlySpan<byte> b, Span<byte> destination)
    {
        int common = Math.Min(a.Length, b.Length);
        Apply<AndNotOperator>(a[..common], b[..common], destination);
        a[common..].CopyTo(destination[common..]);
        destination[a.Length..].Clear();
    }

    /// <summary>Writes the combination of two strings by AND, OR or XOR; the destination is at least as long as both.</summary>
    internal static void Combine(BitOperation operation, ReadOnlySpan<byte> a, ReadOnlySpan<byte> b, Span<byte> destination)
    {
        int common = Math.Min(a.Length, b.Length);
        switch (operation)
        {
            case BitOperation.And:
                Apply<AndOperator>(a[..common], b[..common], destination);
                destination[common..].Clear();
                return;
            case BitOperation.Or:
                Apply<OrOperator>(a[..common], b[..common], destination);
                break;
            default:
                Apply<XorOperator>(a[..common], b[..common], destination);
                break;
        }

        ReadOnlySpan<byte> longer = a.Length > b.Length ? a : b;
        longer[common..].CopyTo(destination[common..]);
        destination[longer.Length..].Clear();
    }

    /// <summary>Writes a string with each bit inverted; the destination has the same length.</summary>
    internal static void Invert(ReadOnlySpan<byte> source, Span<byte> destination) => Apply<NotOperator>(source, source, destination);

    private static void Apply<TOperator>(ReadOnlySpan<byte> a, ReadOnlySpan<byte> b, Span<byte> destination)
        where TOperator : struct, IBitOperator
    {
        ref byte left = ref MemoryMarshal.GetReference(a);
        ref byte right = ref MemoryMarshal.GetReference(b);
        ref byte result = ref MemoryMarshal.GetReference(destination);
        nuint width = (nuint)Vector<byte>.Count;
        nuint length = (nuint)a.Length;
        nuint at = 0;
        for (; at + (VectorsPerRound * width) <= length; at += VectorsPerRound * width)
        {
            Vector<byte> first = TOperator.Apply(Vector.LoadUnsafe(ref left, at), Vector.LoadUnsafe(ref right, at));
            Vector<byte> second = TOperator.Apply(Vector.LoadUnsafe(ref left, at + width), Vector.LoadUnsafe(ref right, at + width));
            Vector<byte> third = TOperator.Apply(Vector.LoadUnsafe(ref left, at + (2 * width)), Vector.LoadUnsafe(ref right, at + (2 * width)));
            Vector<byte> fourth = TOperator.Apply(Vector.LoadUnsafe(ref left, at + (3 * width)), Vector.LoadUnsafe(ref right, at + (3 * width)));
            first.StoreUnsafe(ref result, at);
            second.StoreUnsafe(ref result, at + width);
            third.StoreUnsafe(ref result, at + (2 * width));
            fourth.StoreUnsafe(ref result, at + (3 * width));
        }

        for (; at + width <= length; at += width)
        {
            TOperator.Apply(Vector.LoadUnsafe(ref left, at), Vector.LoadUnsafe(ref right, at)).StoreUnsafe(ref result, at);
        }

        for (; at < length; at++) Unsafe.Add(ref result, at) = TOperator.Apply(Unsafe.Add(ref left, at), Unsafe.Add(ref right, at));
    }

    private interface IBitOperator
    {
        static abstract Vector<byte> Apply(Vector<byte> a, Vector<byte> b);

        static abstract byte Apply(byte a, byte b);
    }

    private readonly struct AndOperator : IBitOperator
    {
        public static Vector<byte> Apply(Vector<byte> a, Vector<byte> b) => a & b;

        public static byte Apply(byte a, byte b) => (byte)(a & b);
    }

    private readonly struct OrOperator : IBitOperator
    {
        public static Vector<byte> Apply(Vector<byte> a, Vector<byte> b) => a | b;

        public static byte Apply(byte a, byte b) => (byte)(a | b);
    }

    private readonly struct XorOperator : IBitOperator
    {
        public static Vector<byte> Apply(Vector<byte> a, Vector<byte> b) => a ^ b;

        public static byte Apply(byte a, byte b) => (byte)(a ^ b);
    }

    private readonly struct AndNotOperator : IBitOperator
    {
        public static Vector<byte> Apply(Vector<byte> a, Vector<byte> b) => Vector.AndNot(a, b);

        public static byte Apply(byte a, byte b) => (byte)(a & ~b);
    }

    private readonly struct NotOperator : IBitOperator
    {
        public static Vector<byte> Apply(Vector<byte> a, Vector<byte> b) => ~a;

        public static byte Apply(byte a, byte b) => (byte)~a;
    }
}
