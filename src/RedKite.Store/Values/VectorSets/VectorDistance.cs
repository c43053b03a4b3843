using System.Numerics;
using System.Runtime.CompilerServices;
using System.Runtime.Intrinsics;
using System.Runtime.Intrinsics.X86;

namespace RedKite.Store.Values.VectorSets;

/// <summary>
/// The distance of two nodes' vectors: 1 minus the cosine of their angle, from 0 (same direction) to 2 (opposite). Of signs it is twice the
/// share of those that differ. It is never NaN: stored components are finite.
/// </summary>
internal static unsafe class VectorDistance
{
    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    internal static float Between(VectorQuantization quantization, int dimensions, byte* first, byte* second)
    {
        byte* a = VectorNode.Vector(first);
        byte* b = VectorNode.Vector(second);
        switch (quantization)
        {
            case VectorQuantization.Int8:
                float scale = VectorNode.Head(first).Range * VectorNode.Head(second).Range / (VectorCodec.Int8Max * VectorCodec.Int8Max);
                return Math.Clamp(1 - (DotOfBytes((sbyte*)a, (sbyte*)b, dimensions) * scale), 0f, 2f);
            case VectorQuantization.None:
                return Math.Clamp(1 - DotOfFloats((float*)a, (float*)b, dimensions), 0f, 2f);
            default:
                return DifferentSigns((ulong*)a, (ulong*)b, (dimensions + 63) / 64) * 2f / dimensions;
        }
    }

    // Components are from -127 to 127, so the sum of two products fits 16 bits, and that of 65,536 fits 32.
    internal static int DotOfBytes(sbyte* a, sbyte* b, int count)
    {
        int sum = 0;
        int i = 0;
        if (Avx2.IsSupported && count >= Vector256<sbyte>.Count)
        {
            Vector256<int> sums = default;
            for (; i <= count - Vector256<sbyte>.Count; i += Vector256<sbyte>.Count)
            {
                sums = AddProducts(sums, Vector256.Load(a + i), Vector256.Load(b + i));
            }

            if (i < count)
            {
                // The last 32 components, of which some have been added: those are cleared.
                int last = count - Vector256<sbyte>.Count;
                Vector256<sbyte> isNew = Vector256.GreaterThanOrEqual(Vector256<sbyte>.Indices, Vector256.Create((sbyte)(i - last)));
                sums = AddProducts(sums, Vector256.Load(a + last) & isNew, Vector256.Load(b + last));
            }

            return Vector256.Sum(sums);
        }

        if (Vector128.IsHardwareAccelerated)
        {
            Vector128<int> sums = default;
            for (; i <= count - Vector128<sbyte>.Count; i += Vector128<sbyte>.Count)
            {
                (Vector128<short> aLow, Vector128<short> aHigh) = Vector128.Widen(Vector128.Load(a + i));
                (Vector128<short> bLow, Vector128<short> bHigh) = Vector128.Widen(Vector128.Load(b + i));
                (Vector128<int> lowLow, Vector128<int> lowHigh) = Vector128.Widen(aLow * bLow);
                (Vector128<int> highLow, Vector128<int> highHigh) = Vector128.Widen(aHigh * bHigh);
                sums += lowLow + lowHigh + highLow + highHigh;
            }

            sum = Vector128.Sum(sums);
        }

        for (; i < count; i++) sum += a[i] * b[i];
        return sum;
    }

    internal static float DotOfFloats(float* a, float* b, int count)
    {
        float sum = 0;
        int i = 0;
        if (Vector512.IsHardwareAccelerated && count >= Vector512<float>.Count * 2)
        {
            Vector512<float> even = default;
            Vector512<float> odd = default;
            for (; i <= count - (Vector512<float>.Count * 2); i += Vector512<float>.Count * 2)
            {
                even = Vector512.FusedMultiplyAdd(Vector512.Load(a + i), Vector512.Load(b + i), even);
                odd = Vector512.FusedMultiplyAdd(Vector512.Load(a + i + Vector512<float>.Count), Vector512.Load(b + i + Vector512<float>.Count), odd);
            }

            sum = Vector512.Sum(even + odd);
        }
        else if (Vector256.IsHardwareAccelerated && count >= Vector256<float>.Count * 2)
        {
            Vector256<float> even = default;
            Vector256<float> odd = default;
            for (; i <= count - (Vector256<float>.Count * 2); i += Vector256<float>.Count * 2)
            {
                even = Vector256.MultiplyAddEstimate(Vector256.Load(a + i), Vector256.Load(b + i), even);
                odd = Vector256.MultiplyAddEstimate(Vector256.Load(a + i + Vector256<float>.Count), Vector256.Load(b + i + Vector256<float>.Count), odd);
            }

            sum = Vector256.Sum(even + odd);
        }

        for (; i <= count - Vector128<float>.Count; i += Vector128<float>.Count)
        {
            sum += Vector128.Dot(Vector128.Load(a + i), Vector128.Load(b + i));
        }

        for (; i < count; i++) sum += a[i] * b[i];
        return sum;
    }

    private static int DifferentSigns(ulong* a, ulong* b, int words)
    {
        int different = 0;
        for (int i = 0; i < words; i++) different += BitOperations.PopCount(a[i] ^ b[i]);
        return different;
    }

    // The instructions multiply unsigned by signed bytes, so the sign of each first component moves to the second one.
    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    private static Vector256<int> AddProducts(Vector256<int> sums, Vector256<sbyte> a, Vector256<sbyte> b)
    {
        Vector256<byte> size = Avx2.Abs(a);
        Vector256<sbyte> signed = Avx2.Sign(b, a);
        return AvxVnni.IsSupported
            ? AvxVnni.MultiplyWideningAndAdd(sums, size, signed)
            : sums + Avx2.MultiplyAddAdjacent(Avx2.MultiplyAddAdjacent(size, signed), Vector256<short>.One);
    }
}
