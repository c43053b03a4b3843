using RedKite.Store.Keyspace;
using RedKite.Store.Memory;
using RedKite.Store.Values.Packed;

namespace RedKite.Persistence.Rdb;

/// <summary>
/// Looks for fields or members that a packed value names twice, by their hashes: comparing each with all before it takes the square of their number, and of
/// bytes that compression makes from few.
/// </summary>
internal static class PackedNames
{
    /// <summary>
    /// What may be moved to put packed elements in order: a value whose elements are further out of it becomes a table. Values that a server has written are in order.
    /// </summary>
    internal const long MovedBytesMax = 4 << 20;

    /// <summary>Whether all names are different. Two that are not have the same hash by accident once in 2^64 pairs.</summary>
    /// <param name="elements">The elements, before the first.</param>
    /// <param name="count">The number of names.</param>
    /// <param name="step">The distance of the names.</param>
    /// <param name="packedMax">The most names of a value that stays packed.</param>
    /// <param name="hasher">The database's keyed hash, so that a payload cannot choose names that collide.</param>
    /// <param name="stayPacked">Whether the value may stay packed, and its names were compared; a table compares them itself.</param>
    internal static bool AreDistinct<TReader>(scoped TReader elements, int count, int step, long packedMax, KeyHasher hasher, out bool stayPacked)
        where TReader : struct, IElementReader, allows ref struct
    {
        stayPacked = count <= packedMax && NativeList<ulong>.HasRoom(count);
        if (!stayPacked) return true;
        using var list = new NativeList<ulong>(count);
        Span<ulong> hashes = list.Items;
        Span<byte> digits = stackalloc byte[CanonicalInteger.TextBytesMax];
        for (int i = 0; elements.MoveNext(); i++)
        {
            if (i % step == 0) hashes[i / step] = hasher.Hash(elements.Bytes(digits));
        }

        hashes.Sort();
        for (int i = 1; i < hashes.Length; i++)
        {
            if (hashes[i] == hashes[i - 1]) return false;
        }

        return true;
    }
}
