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

    // Of a hash with a slot: the slot's lower bits choose the stripe, as bits 8 to 13 of every hash do, and its upper bits come first in the order of the stripe's table.
    private const int StripeBits = 6;
    private const int StripeShift = 8;
    private const int UpperShift = 56;
    private const ulong SlotMask = (0xFFUL << UpperShift) | (((1UL << StripeBits) - 1) << StripeShift);

    /// <summary>
    /// Whether the hashes of keys have their slots in them, for a keyspace with the most stripes that there are: then the keys of a slot are in one stripe, next to each other. The other 50 bits
    /// are of the keyed hash, so that within a slot no client can aim at a bucket either.
    /// </summary>
    internal bool UsesSlots { get; init; }

    /// <summary>The hash of a key. Of fields and members, which have no slots, it is <see cref="Hash"/>.</summary>
    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    internal ulong HashKey(ReadOnlySpan<byte> key) => UsesSlots ? HashInSlot(key) : Hash(key);

    /// <summary>The slot that a hash of <see cref="HashKey"/> has in it, with slots.</summary>
    internal static int SlotOf(ulong hash) => ((int)(hash >> UpperShift) << StripeBits) | ((int)(hash >> StripeShift) & ((1 << StripeBits) - 1));

    /// <summary>How many slots a stripe has.</summary>
    internal const int SlotsOfStripe = KeySlot.Count >> StripeBits;

    /// <summary>The part of a slot that is the upper end of the hash.</summary>
    internal static int UpperOfSlot(int slot) => slot >> StripeBits;

    [MethodImpl(MethodImplOptions.NoInlining)]
    private ulong HashInSlot(ReadOnlySpan<byte> key)
    {
        var slot = (ulong)KeySlot.Of(key);
        return (Hash(key) & ~SlotMask) | ((slot >> StripeBits) << UpperShift) | ((slot & ((1UL << StripeBits) - 1)) << StripeShift);
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
