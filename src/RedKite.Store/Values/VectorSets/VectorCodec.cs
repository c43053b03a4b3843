using System.Numerics;
using System.Runtime.InteropServices;

namespace RedKite.Store.Values.VectorSets;

/// <summary>Stores a vector with the norm 1 in the form of its set, and restores it. Components that are not finite make a vector that is 0.</summary>
internal static unsafe class VectorCodec
{
    internal const float Int8Max = 127;

    /// <summary>Normalizes a vector in place.</summary>
    /// <returns>Its norm: 1 for a vector that is 0.</returns>
    internal static float Normalize(Span<float> vector)
    {
        float norm = MathF.Sqrt(SumOfSquares(vector));
        if (norm == 0) return 1;
        if (!float.IsFinite(norm))
        {
            vector.Clear();
            return norm;
        }

        foreach (ref float component in vector) component /= norm;
        return norm;
    }

    /// <summary>Writes a normalized vector to a node.</summary>
    internal static void Encode(VectorQuantization quantization, ReadOnlySpan<float> vector, float norm, byte* node)
    {
        ref VectorNode.Header head = ref VectorNode.Head(node);
        head.Norm = norm;
        head.Range = 0;
        byte* target = VectorNode.Vector(node);
        switch (quantization)
        {
            case VectorQuantization.None:
                MemoryMarshal.AsBytes(vector).CopyTo(new Span<byte>(target, vector.Length * sizeof(float)));
                break;
            case VectorQuantization.Int8:
                head.Range = EncodeBytes(vector, (sbyte*)target);
                break;
            default:
                EncodeSigns(vector, (ulong*)target);
                break;
        }
    }

    /// <summary>Reads a node's vector, with about the norm 1. Of signs each component is 1 or -1.</summary>
    internal static void Decode(VectorQuantization quantization, byte* node, Span<float> vector)
    {
        byte* source = VectorNode.Vector(node);
        switch (quantization)
        {
            case VectorQuantization.None:
                new ReadOnlySpan<float>(source, vector.Length).CopyTo(vector);
                break;
            case VectorQuantization.Int8:
                float range = VectorNode.Head(node).Range;
                for (int i = 0; i < vector.Length; i++) vector[i] = ((sbyte*)source)[i] * range / Int8Max;
                break;
            default:
                for (int i = 0; i < vector.Length; i++) vector[i] = ((((ulong*)source)[i >> 6] >> (i & 63)) & 1) != 0 ? 1 : -1;
                break;
        }
    }

    private static float EncodeBytes(ReadOnlySpan<float> vector, sbyte* target)
    {
        float range = 0;
        foreach (float component in vector) range = MathF.Max(range, MathF.Abs(component));
        float scale = range == 0 ? 0 : Int8Max / range;
        if (!float.IsFinite(scale)) scale = 0; // all components are next to nothing
        for (int i = 0; i < vector.Length; i++)
        {
            float scaled = vector[i] * scale;
            target[i] = (sbyte)Math.Clamp((int)(scaled + (scaled < 0 ? -0.5f : 0.5f)), -(int)Int8Max, (int)Int8Max);
        }

        return range;
    }

    private static void EncodeSigns(ReadOnlySpan<float> vector, ulong* target)
    {
        NativeMemory.Clear(target, (nuint)((vector.Length + 63) / 64 * sizeof(ulong)));
        for (int i = 0; i < vector.Length; i++)
        {
            if (vector[i] > 0) target[i >> 6] |= 1UL << (i & 63);
        }
    }

    // In the order of the components for a few, like a plain loop; several at a time for more.
    private static float SumOfSquares(ReadOnlySpan<float> vector)
    {
        float sum = 0;
        int i = 0;
        if (vector.Length >= Vector<float>.Count * 2)
        {
            Vector<float> sums = default;
            for (; i <= vector.Length - Vector<float>.Count; i += Vector<float>.Count)
            {
                var part = new Vector<float>(vector[i..]);
                sums += part * part;
            }

            sum = Vector.Sum(sums);
        }

        for (; i < vector.Length; i++) sum += vector[i] * vector[i];
        return sum;
    }
}
