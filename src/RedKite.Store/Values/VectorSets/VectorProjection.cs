using System.Runtime.Intrinsics;
using RedKite.Store.Memory;

namespace RedKite.Store.Values.VectorSets;

/// <summary>
/// A random projection to fewer dimensions (or more). Its components have one size and random signs, which depend on the two numbers of
/// dimensions alone: so a replica, and a log that is replayed, project alike.
/// </summary>
/// <remarks>A projection is made where its first vector is projected, row by row, and a row is still in the cache when it is applied.</remarks>
internal static unsafe class VectorProjection
{
    /// <summary>Making a component takes as long as reading so many bytes of vectors.</summary>
    internal const int BytesPerMade = 12;

    // A random number has the signs of so many components.
    private const int SignsOfNumber = 64;

    // So many components are made ahead, in pages that are requested together: with a page fault for each, the largest projection took 8 ms instead of 6.
    private const int MadeAtOnce = VectorSetLimits.DimensionsMax;
    private const nint PageBytes = 4096;
    private const int PagesMin = 32;

    private const ulong NumberStep = 0x9E3779B97F4A7C15;

    /// <summary>Allocates a projection, which the caller fills (<see cref="VectorSetData.ProjectionMade"/>), or <see cref="TryApply"/> makes.</summary>
    internal static float* Allocate(VectorSetData* data, Arena arena, int projectedFrom)
    {
        data->ProjectedFrom = projectedFrom;
        data->Projection = (float*)arena.Allocate(data->ProjectionBytes);
        return data->Projection;
    }

    /// <summary>Projects a vector from a row on, and makes what is missing of the projection.</summary>
    /// <param name="data">The set.</param>
    /// <param name="vector">The vector.</param>
    /// <param name="projected">The components, one for each row.</param>
    /// <param name="row">The next row.</param>
    /// <param name="bytes">The bytes that may be read; it stops behind the row that exceeds them.</param>
    /// <returns>Whether all rows are applied.</returns>
    internal static bool TryApply(VectorSetData* data, ReadOnlySpan<float> vector, Span<float> projected, ref int row, ref long bytes)
    {
        fixed (float* components = vector)
        {
            for (; row < projected.Length; row++)
            {
                if (bytes <= 0) return false;
                long start = (long)row * vector.Length;
                if (data->ProjectionMade < start + vector.Length) bytes -= Make(data, start + vector.Length) * BytesPerMade;
                projected[row] = VectorDistance.DotOfFloats(data->Projection + start, components, vector.Length);
                bytes -= (long)vector.Length * sizeof(float);
            }
        }

        return true;
    }

    // Makes whole numbers' components until there are at least so many.
    private static long Make(VectorSetData* data, long count)
    {
        long made = data->ProjectionMade;
        long end = Math.Min((Math.Max(count, made + MadeAtOnce) + SignsOfNumber - 1) / SignsOfNumber * SignsOfNumber, (long)data->Dimensions * data->ProjectedFrom);
        float* matrix = data->Projection;
        Populate((byte*)(matrix + made), (byte*)(matrix + end));
        float size = 1 / MathF.Sqrt(data->ProjectedFrom);
        ulong seed = ((ulong)(uint)data->ProjectedFrom << 32) | (uint)data->Dimensions;
        ulong state = seed + ((ulong)(made / SignsOfNumber) * NumberStep);
        uint negative = BitConverter.SingleToUInt32Bits(-size);
        Vector256<uint> shifts = Vector256.Create(1u << 31, 1u << 30, 1u << 29, 1u << 28, 1u << 27, 1u << 26, 1u << 25, 1u << 24); // bit i becomes the sign of float i
        Vector256<uint> sign = Vector256.Create(1u << 31);
        Vector256<uint> negatives = Vector256.Create(negative);
        for (long i = made; i < end;)
        {
            // With its stripe locked, so eight floats at once: one by one, the largest projection that VADD makes took 10 ms, and 29 ms with a branch for each sign.
            ulong bits = Next(ref state);
            long endOfNumber = Math.Min(i + SignsOfNumber, end);
            for (; i + Vector256<uint>.Count <= endOfNumber; i += Vector256<uint>.Count, bits >>= Vector256<uint>.Count)
            {
                (negatives ^ ((Vector256.Create((uint)bits) * shifts) & sign)).Store((uint*)(matrix + i));
            }

            for (; i < endOfNumber; i++, bits >>= 1) matrix[i] = BitConverter.UInt32BitsToSingle(negative ^ ((uint)bits << 31));
        }

        data->ProjectionMade = end;
        return end - made;
    }

    private static void Populate(byte* start, byte* end)
    {
        var first = (byte*)(((nint)start + PageBytes - 1) & -PageBytes);
        if (end - first >= PagesMin * PageBytes) SystemMemory.Populate(first, (nuint)((end - first) & -PageBytes));
    }

    // SplitMix64.
    private static ulong Next(ref ulong state)
    {
        state += NumberStep;
        ulong mixed = (state ^ (state >> 30)) * 0xBF58476D1CE4E5B9;
        mixed = (mixed ^ (mixed >> 27)) * 0x94D049BB133111EB;
        return mixed ^ (mixed >> 31);
    }
}
