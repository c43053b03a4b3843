using System.Buffers.Binary;
using RedKite.Store.Values.Packed;
using RedKite.Store.Values.Sets;

namespace RedKite.Persistence.Rdb;

/// <summary>
/// Reads sets: single members, integers, or packed members. Duplicate members are an error. As in Redis, packed members stay packed
/// while there are few enough, and single members or integers become a table if there are more than a set of integers may have.
/// </summary>
internal static class RdbSetReader
{
    // u32 width in bytes, u32 count; then the numbers in ascending order.
    private const int IntegersHeaderBytes = 8;

    internal static bool TryRead(RdbType type, ref RdbInput input, in RdbTarget target, RdbScratch scratch)
    {
        if (type == RdbType.Set) return TryMembers(ref input, target, scratch);
        if (!input.TryString(scratch.First, out ReadOnlySpan<byte> bytes)) return false;
        if (type == RdbType.SetIntSet) return IntSet.IsSound(bytes, out bool ascends) && (ascends || scratch.Corrects("the order of its integers")) && TryAddAll(target, isPacked: false, new IntegersReader(bytes), IntegersReader.CountOf(bytes));
        return scratch.TryOpen(bytes, out PackedListReader packed) && TryAddAll(target, isPacked: true, packed, packed.Count);
    }

    private static bool TryMembers(ref RdbInput input, in RdbTarget target, RdbScratch scratch)
    {
        if (!input.TryCount(out long count) || count == 0 || !input.TryString(scratch.First, out ReadOnlySpan<byte> member)) return false;
        SetValue set = Create(target, isPacked: false, member, count);
        while (set.Add(member))
        {
            if (--count == 0) return true;
            if (!input.TryString(scratch.First, out member)) return false;
        }

        return false;
    }

    private static bool TryAddAll<TReader>(in RdbTarget target, bool isPacked, scoped TReader members, int count)
        where TReader : struct, IElementReader, allows ref struct
    {
        bool areNew = false;
        if (isPacked && !PackedNames.AreDistinct(members, count, step: 1, target.Limits.Set.PackedMax, target.Database.Hasher, out areNew)) return false;
        Span<byte> digits = stackalloc byte[CanonicalInteger.TextBytesMax];
        if (!members.MoveNext()) return false;
        SetValue set = Create(target, isPacked, members.Bytes(digits), isPacked && !areNew ? long.MaxValue : count);
        do
        {
            if (areNew) set.AddNew(members.Bytes(digits));
            else if (!set.Add(members.Bytes(digits))) return false;
        }
        while (members.MoveNext());

        return true;
    }

    private static SetValue Create(in RdbTarget target, bool isPacked, scoped ReadOnlySpan<byte> first, long count)
    {
        SetLimits limits = target.Limits.Set;
        if (isPacked) limits = limits with { IntegersMax = 0, PackedBytesMax = long.MaxValue };
        else if (count > limits.IntegersMax) limits = limits with { PackedMax = 0 };
        return SetValue.Create(target.Database, target.Key, target.Hash, target.AccessClock, first, count, limits);
    }

    private ref struct IntegersReader(ReadOnlySpan<byte> bytes) : IElementReader
    {
        private readonly int _width = BinaryPrimitives.ReadInt32LittleEndian(bytes);
        private ReadOnlySpan<byte> _left = bytes[IntegersHeaderBytes..];
        private long _number;

        internal static int CountOf(ReadOnlySpan<byte> bytes) => BinaryPrimitives.ReadInt32LittleEndian(bytes[sizeof(int)..]);

        public bool MoveNext()
        {
            if (_left.IsEmpty) return false;
            _number = _width switch
            {
                sizeof(short) => BinaryPrimitives.ReadInt16LittleEndian(_left),
                sizeof(int) => BinaryPrimitives.ReadInt32LittleEndian(_left),
                _ => BinaryPrimitives.ReadInt64LittleEndian(_left),
            };
            _left = _left[_width..];
            return true;
        }

        public readonly ReadOnlySpan<byte> Bytes(Span<byte> digits) => digits[..CanonicalInteger.Format(_number, digits)];
    }
}
