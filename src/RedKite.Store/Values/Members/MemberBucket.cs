using System.Numerics;
using System.Runtime.CompilerServices;
using System.Runtime.InteropServices;
using System.Runtime.Intrinsics;
using System.Runtime.Intrinsics.X86;

namespace RedKite.Store.Values.Members;

/// <summary>
/// A bucket of a <see cref="MemberTable{TLayout}"/>: one cache line, and more of them in a chain when it is full.
/// <code>
///  0..7   a tag for each slot: the hash's upper eight bits, 0 = free
///  8..55  eight 6-byte slots: a block's address; its three lowest bits are the hint
/// 56..63  the next bucket of the chain, or null
/// </code>
/// Only the last bucket of a chain has free slots. The hint is three bits of the hash that the next splits need: see
/// <see cref="MemberTable{TLayout}"/>.
/// </summary>
internal static unsafe class MemberBucket
{
    internal const int Bytes = 64;
    internal const int Slots = 8;
    internal const int HintBits = 3;
    internal const ulong HintMask = (1 << HintBits) - 1; // blocks are aligned to 8

    private const int SlotsAt = 8;
    private const int NextAt = 56;
    private const uint SlotMask = (1 << Slots) - 1;

    internal static byte Tag(ulong hash) => (byte)Math.Max((uint)(hash >> 56), 1u);

    internal static void Clear(byte* bucket) => NativeMemory.Clear(bucket, Bytes);

    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    internal static uint Matches(byte* bucket, byte tag) =>
        Vector128.Equals(Vector128.Load(bucket), Vector128.Create(tag)).ExtractMostSignificantBits() & SlotMask;

    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    internal static uint Occupied(byte* bucket) =>
        ~Vector128.Equals(Vector128.Load(bucket), Vector128<byte>.Zero).ExtractMostSignificantBits() & SlotMask;

    /// <summary>The slots of a bucket that are taken and whose tag some slot of another bucket has.</summary>
    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    internal static uint MatchesAny(byte* bucket, byte* other)
    {
        // The tags twice, compared with the other tags rotated by one more in each half: four comparisons cover all eight rotations.
        Vector128<byte> tags = Vector128.Create(*(ulong*)bucket).AsByte();
        Vector128<byte> others = Vector128.Create(*(ulong*)other).AsByte();
        Vector128<byte> equal = Vector128.Equals(tags, Vector128.Shuffle(others, Vector128.Create((byte)0, 1, 2, 3, 4, 5, 6, 7, 1, 2, 3, 4, 5, 6, 7, 0)))
            | Vector128.Equals(tags, Vector128.Shuffle(others, Vector128.Create((byte)2, 3, 4, 5, 6, 7, 0, 1, 3, 4, 5, 6, 7, 0, 1, 2)))
            | Vector128.Equals(tags, Vector128.Shuffle(others, Vector128.Create((byte)4, 5, 6, 7, 0, 1, 2, 3, 5, 6, 7, 0, 1, 2, 3, 4)))
            | Vector128.Equals(tags, Vector128.Shuffle(others, Vector128.Create((byte)6, 7, 0, 1, 2, 3, 4, 5, 7, 0, 1, 2, 3, 4, 5, 6)));
        uint halves = equal.ExtractMostSignificantBits();
        return (halves | (halves >> Slots)) & Occupied(bucket);
    }

    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    internal static byte* Next(byte* bucket) => *(byte**)(bucket + NextAt);

    internal static void WriteNext(byte* bucket, byte* next) => *(byte**)(bucket + NextAt) = next;

    /// <summary>How many buckets a chain has.</summary>
    internal static int ChainLength(byte* first)
    {
        int length = 1;
        while ((first = Next(first)) != null) length++;
        return length;
    }

    /// <summary>A bucket of a chain by its number, from 0.</summary>
    internal static byte* Link(byte* first, int number)
    {
        for (; number > 0; number--) first = Next(first);
        return first;
    }

    /// <summary>A slot's address and hint.</summary>
    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    internal static ulong Slot(byte* bucket, int slot) => *(ulong*)(bucket + SlotsAt - 2 + (slot * 6)) >> 16;

    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    internal static byte* Block(byte* bucket, int slot) => (byte*)(Slot(bucket, slot) & ~HintMask);

    internal static void WriteSlot(byte* bucket, int slot, ulong value)
    {
        byte* at = bucket + SlotsAt + (slot * 6);
        *(uint*)at = (uint)value;
        *(ushort*)(at + 4) = (ushort)(value >> 32);
    }

    /// <summary>Prefetches the first line of every block in the bucket.</summary>
    internal static void PrefetchBlocks(byte* bucket)
    {
        if (!Sse.IsSupported) return;
        for (uint occupied = Occupied(bucket); occupied != 0; occupied &= occupied - 1)
        {
            Sse.Prefetch0(Block(bucket, BitOperations.TrailingZeroCount(occupied)));
        }
    }
}
