using System.Runtime.Intrinsics;
using RedKite.Store.Memory;

namespace RedKite.Store.Values.VectorSets;

/// <summary>
/// A random projection to fewer dimensions (or more). Its components have one size and random signs, which depend on the two numbers of
/// dimensions alone: so a replica, and a log that is replayed, project alike.
/// </summary>
internal static unsafe class VectorProjection
{
    /// <summary>Gives a set its projection.</summary>
    internal static void Create(VectorSetData* data, Arena arena, int projectedFrom)
    {
        float* matrix = Allocate(data, arena, projectedFrom);
        float size = 1 / MathF.Sqrt(projectedFrom);
        ulong state = ((ulong)(uint)projectedFrom << 32) | (uint)data->Dimensions;
        uint negative = BitConverter.SingleToUInt32Bits(-size);
        long floats = (long)data->Dimensions * projectedFrom;
        Vector256<uint> shifts = Vector256.Create(1u << 31, 1u << 30, 1u << 29, 1u << 28, 1u << 27, 1u << 26, 1u << 25, 1u << 24); // bit i becomes the sign of float i
        Vector256<uint> sign = Vector256.Create(1u << 31);
        Vector256<uint> negatives = Vector256.Create(negative);
        for (long i = 0; i < floats;)
        {
            // With its stripe locked, so eight floats at once: one by one, the largest projection took 10 ms, and 29 ms with a branch for each sign.
            ulong bits = Next(ref state);
            long end = Math.Min(i + 64, floats);
            for (; i + Vector256<uint>.Count <= end; i += Vector256<uint>.Count, bits >>= Vector256<uint>.Count)
            {
                (negatives ^ ((Vector256.Create((uint)bits) * shifts) & sign)).Store((uint*)(matrix + i));
            }

            for (; i < end; i++, bits >>= 1) matrix[i] = BitConverter.UInt32BitsToSingle(negative ^ ((uint)bits << 31));
        }
    }

    /// <summary>Allocates a projection; the caller fills it.</summary>
    internal static float* Allocate(VectorSetData* data, Arena arena, int projectedFrom)
    {
        data->ProjectedFrom = projectedFrom;
        data->Projection = (float*)arena.Allocate(data->ProjectionBytes);
        return data->Projection;
    }

    internal static void Apply(VectorSetData* data, ReadOnlySpan<float> vector, Span<float> projected)
    {
        fixed (float* components = vector)
        {
            for (int i = 0; i < projected.Length; i++)
            {
                projected[i] = VectorDistance.DotOfFloats(data->Projection + ((long)i * vector.Length), components, vector.Length);
            }
        }
    }

    // SplitMix64.
    private static ulong Next(ref ulong state)
    {
        state += 0x9E3779B97F4A7C15;
        ulong mixed = (state ^ (state >> 30)) * 0xBF58476D1CE4E5B9;
        mixed = (mixed ^ (mixed >> 27)) * 0x94D049BB133111EB;
        return mixed ^ (mixed >> 31);
    }
}
