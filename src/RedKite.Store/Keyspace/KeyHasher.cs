using System.Runtime.CompilerServices;
using System.Runtime.InteropServices;
using System.Runtime.Intrinsics.X86;
using RedKite.Store.Memory;

namespace RedKite.Store.Keyspace;

/// <summary>
/// The keyed hash of the keyspace: folded 64x64 to 128-bit multiplications with random secrets chosen at the start, so that a
/// client cannot aim its keys at one stripe or bucket. SipHash was rejected: three times the cost for a 16-byte key.
/// </summary>
internal sealed class KeyHasher
{
    private readonly ulong _first;
    private readonly ulong _second;
    private readonly ulong _third;

    internal KeyHasher()
        : this(SecretBytes.New(24))
    {
    }

    internal KeyHasher(ReadOnlySpan<byte> secret)
    {
        ReadOnlySpan<ulong> words = MemoryMarshal.Cast<byte, ulong>(secret);
        _first = words[0] | 1;
        _second = words[1] | 1;
        _third = words[2] | 1;
    }

    // Of a hash with a slot: the slot's upper bits come first in the order of a table, and the lower bits choose the stripe, as bits 8 to 13 of every hash do. With one stripe
    // for all slots, four of the lower bits come second in the order of its table, too: four slots share a part of it. With all six, the prefix of a hash would have no more than
    // 17 bits for the keys of a slot, and a table some hundred million of them at most.
    private const int LowerBits = 6;
    private const int LowerShift = 8;
    private const int LowerMask = (1 << LowerBits) - 1;
    private const int UpperShift = 56;
    private const int SharedBits = 2;
    private const int SecondShift = UpperShift - LowerBits;
    private const ulong SharedMask = ((1UL << SharedBits) - 1) << SecondShift;

    private readonly ulong _lowerPlaces; // multiplied by the lower bits
    private readonly ulong _slotMask;

    /// <summary>
    /// Of a keyspace with slots the number of its stripes, 1 or 64; 0: without slots. The hashes of keys have their slots in them then, so that the keys of a slot are in one stripe, next to each other. The other bits,
    /// 46 at least, are of the keyed hash, so that within a slot no client can aim at a bucket either.
    /// </summary>
    internal int SlotStripes
    {
        get;
        init
        {
            if (value is not (0 or 1 or (1 << LowerBits))) throw new ArgumentOutOfRangeException(nameof(value), value, "A keyspace with slots has one stripe, or all.");
            field = value;
            _lowerPlaces = (1UL << LowerShift) | (value == 1 ? 1UL << SecondShift : 0);
            _slotMask = (0xFFUL << UpperShift) | ((LowerMask * _lowerPlaces) & ~SharedMask);
        }
    }

    /// <summary>Whether the hashes of keys have their slots in them.</summary>
    internal bool UsesSlots => SlotStripes != 0;

    /// <summary>How many slots a stripe has.</summary>
    internal int SlotsOfStripe => KeySlot.Count / SlotStripes;

    /// <summary>The hash of a key. Of fields and members, which have no slots, it is <see cref="Hash"/>.</summary>
    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    internal ulong HashKey(ReadOnlySpan<byte> key) => UsesSlots ? HashInSlot(key) : Hash(key);

    /// <summary>The slot that a hash of <see cref="HashKey"/> has in it, with slots.</summary>
    internal static int SlotOf(ulong hash) => ((int)(hash >> UpperShift) << LowerBits) | ((int)(hash >> LowerShift) & LowerMask);

    /// <summary>The number of a slot among those of its stripe.</summary>
    internal int IndexOfSlot(int slot) => SlotStripes == 1 ? slot : slot >> LowerBits;

    /// <summary>The first hash in the order of a table that has one of a stripe's slots in it.</summary>
    internal ulong FirstOf(int index) => SlotStripes == 1 ? (ulong)(index >> SharedBits) << (SecondShift + SharedBits) : (ulong)index << UpperShift;

    /// <summary>The last one.</summary>
    internal ulong LastOf(int index) => FirstOf(index) | (ulong.MaxValue >> (SlotStripes == 1 ? KeySlot.Bits - SharedBits : KeySlot.Bits - LowerBits));

    [MethodImpl(MethodImplOptions.NoInlining)]
    private ulong HashInSlot(ReadOnlySpan<byte> key)
    {
        var slot = (uint)KeySlot.Of(key);
        return (Hash(key) & ~_slotMask) | ((ulong)(slot >> LowerBits) << UpperShift) | (((slot & LowerMask) * _lowerPlaces) & _slotMask);
    }

    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    internal ulong Hash(ReadOnlySpan<byte> key)
    {
        ref byte start = ref MemoryMarshal.GetReference(key);
        int length = key.Length;
        return (uint)(length - 8) <= 8
            ? Finish(Read8(ref start, 0), Read8(ref start, length - 8), _third, length)
            : HashOtherLengths(ref start, length);
    }

    private ulong HashOtherLengths(ref byte start, int length)
    {
        if (length < 4)
        {
            ulong bytes = length == 0 ? 0 : ((ulong)start << 16) | ((ulong)Unsafe.Add(ref start, length >> 1) << 8) | Unsafe.Add(ref start, length - 1);
            return Finish(bytes, 0, _third, length);
        }

        if (length < 8) return Finish(Read4(ref start, 0), Read4(ref start, length - 4), _third, length);

        ulong seed = _third;
        for (int at = 0; length - at > 16; at += 16)
        {
            seed = Fold(Read8(ref start, at) ^ _first, Read8(ref start, at + 8) ^ seed);
        }

        return Finish(Read8(ref start, length - 16), Read8(ref start, length - 8), seed, length);
    }

    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    private ulong Finish(ulong a, ulong b, ulong seed, int length)
    {
        ulong mixed = Fold(a ^ _first, b ^ seed);
        return Fold(mixed ^ _second, (ulong)length ^ _third ^ (mixed >> 32));
    }

    // Folds both halves of the product. Uses two multiplications where the processor can, because for the one that returns both
    // halves the JIT writes one of them to memory and reads it back.
    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    private static ulong Fold(ulong a, ulong b)
    {
        if (Bmi2.X64.IsSupported) return Bmi2.X64.MultiplyNoFlags(a, b) ^ (a * b);
        ulong high = Math.BigMul(a, b, out ulong low);
        return high ^ low;
    }

    private static ulong Read8(ref byte start, int at) => Unsafe.ReadUnaligned<ulong>(ref Unsafe.Add(ref start, at));

    private static ulong Read4(ref byte start, int at) => Unsafe.ReadUnaligned<uint>(ref Unsafe.Add(ref start, at));
}
