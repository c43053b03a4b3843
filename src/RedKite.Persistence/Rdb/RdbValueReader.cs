using RedKite.Store.Keyspace;
using RedKite.Store.Values.Hashes;
using RedKite.Store.Values.Lists;
using RedKite.Store.Values.Packed;
using RedKite.Store.Values.Sets;
using RedKite.Store.Values.SortedSets;
using RedKite.Store.Values.Strings;

namespace RedKite.Persistence.Rdb;

/// <summary>What became of a value that was read.</summary>
internal enum RdbOutcome
{
    /// <summary>The key holds it.</summary>
    Loaded,

    /// <summary>It was a hash of which every field had expired; the key is missing.</summary>
    NothingLeft,

    /// <summary>The bytes are no value; the key is missing.</summary>
    Corrupt,
}

/// <summary>Up to which sizes values stay packed.</summary>
internal readonly record struct RdbLimits(HashLimits Hash, SetLimits Set, SortedSetLimits SortedSet, ListLimits List);

/// <summary>Where a value goes that is read: a key that is missing, whose stripe is locked.</summary>
internal readonly ref struct RdbTarget(Database database, ReadOnlySpan<byte> key, ulong hash, uint accessClock, long nowMs, RdbLimits limits)
{
    internal Database Database { get; } = database;

    internal ReadOnlySpan<byte> Key { get; } = key;

    internal ulong Hash { get; } = hash;

    internal uint AccessClock { get; } = accessClock;

    /// <summary>Fields whose time has come by then are left out.</summary>
    internal long NowMs { get; } = nowMs;

    internal RdbLimits Limits { get; } = limits;
}

/// <summary>
/// Reads a value that may be anything and gives it to a key. Whatever form it comes in, its elements are added one by one
/// as commands add them, so it gets the encoding that the limits ask for, and what cannot be told apart from a value of our
/// own making is one. Bytes that turn out to be no value leave nothing behind.
/// </summary>
internal static class RdbValueReader
{
    /// <summary>Reads a value of a type.</summary>
    internal static RdbOutcome Read(RdbType type, ref RdbInput input, in RdbTarget target, RdbScratch scratch)
    {
        bool read = type switch
        {
            RdbType.String => TryString(ref input, target, scratch),
            RdbType.List or RdbType.ListZipList or RdbType.ListOfZipLists or RdbType.ListOfListPacks => RdbListReader.TryRead(type, ref input, target, scratch),
            RdbType.Set or RdbType.SetIntSet or RdbType.SetListPack => RdbSetReader.TryRead(type, ref input, target, scratch),
            RdbType.SortedSet or RdbType.SortedSetWithTexts or RdbType.SortedSetZipList or RdbType.SortedSetListPack
                => RdbSortedSetReader.TryRead(type, ref input, target, scratch),
            RdbType.Hash or RdbType.HashZipMap or RdbType.HashZipList or RdbType.HashListPack or RdbType.HashWithExpiries
                or RdbType.HashWithExpiriesDraft or RdbType.HashListPackWithExpiries or RdbType.HashListPackWithExpiriesDraft
                => RdbHashReader.TryRead(type, ref input, target, scratch),
            RdbType.StreamOfListPacks or RdbType.StreamOfListPacks2 or RdbType.StreamOfListPacks3 => RdbStreamReader.TryRead(type, ref input, target, scratch),
            _ => false,
        };
        scratch.Clear();
        Entry entry = target.Database.Find(target.Key, target.Hash, target.NowMs);
        if (read) return entry.Exists ? RdbOutcome.Loaded : RdbOutcome.NothingLeft;
        if (entry.Exists) target.Database.Unlink(entry, UnlinkReason.Deleted);
        return RdbOutcome.Corrupt;
    }

    private static bool TryString(ref RdbInput input, in RdbTarget target, RdbScratch scratch)
    {
        if (!input.TryString(scratch.First, out ReadOnlySpan<byte> text)) return false;
        ValueEncoding encoding = CanonicalInteger.TryParse(text, out _) ? ValueEncoding.Integer
            : text.Length <= StringLimits.EmbeddedBytesMax ? ValueEncoding.Embedded : ValueEncoding.Raw;
        Entry entry = target.Database.WriteString(target.Key, target.Hash, default, text.Length, encoding, Database.NoExpiry, target.AccessClock);
        text.CopyTo(entry.Value);
        return true;
    }
}
