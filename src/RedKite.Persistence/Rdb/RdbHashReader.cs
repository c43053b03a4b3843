using RedKite.Store.Values.Hashes;
using RedKite.Store.Values.Packed;

namespace RedKite.Persistence.Rdb;

/// <summary>
/// Reads hashes: fields and values one by one or packed, with or without expiries. Duplicate fields are an error, packed fields
/// that are not in the order of their expiries are put in order, and expired fields are skipped.
/// </summary>
internal static class RdbHashReader
{
    // Redis keeps a field's expiry in 46 bits.
    private const long ExpiryMaxMs = (1L << 46) - 1;

    // Instead of a time, in Valkey's form.
    internal const long NoTime = -1;

    internal static bool TryRead(RdbType type, ref RdbInput input, in RdbTarget target, RdbScratch scratch)
    {
        // In the final form (not in its drafts), single expiries are relative to the earliest one.
        long earliestMs = 0;
        if (type is RdbType.HashWithExpiries or RdbType.HashListPackWithExpiries && (!input.TryInt64(out earliestMs) || earliestMs < 0)) return false;
        HashValue hash = HashValue.Create(target.Database, target.Key, target.Hash, target.AccessClock, target.Expiry);
        bool read = type switch
        {
            RdbType.Hash or RdbType.HashWithExpiries or RdbType.HashWithExpiriesDraft or RdbType.HashWithTimes => TryFields(type, ref input, ref hash, earliestMs, target, scratch),
            _ => input.TryString(scratch.First, out ReadOnlySpan<byte> bytes) && TryPacked(type, bytes, ref hash, target, scratch),
        };
        if (read) hash.RemoveIfEmpty();
        return read;
    }

    private static bool TryFields(RdbType type, ref RdbInput input, ref HashValue hash, long earliestMs, in RdbTarget target, RdbScratch scratch)
    {
        if (!input.TryCount(out long count) || count == 0) return false;
        for (; count > 0; count--)
        {
            long expiryMs = 0;
            if (type is RdbType.HashWithExpiries or RdbType.HashWithExpiriesDraft && !input.TryLength(out expiryMs)) return false;
            if (type == RdbType.HashWithExpiries && expiryMs > 0)
            {
                if (expiryMs > ExpiryMaxMs || earliestMs > ExpiryMaxMs) return false;
                expiryMs += earliestMs - 1;
            }

            if (!input.TryString(scratch.First, out ReadOnlySpan<byte> field) || !input.TryString(scratch.Second, out ReadOnlySpan<byte> value)) return false;
            if (type == RdbType.HashWithTimes)
            {
                if (!input.TryInt64(out expiryMs)) return false;
                if (expiryMs == NoTime) expiryMs = 0;
            }

            if (!TryAdd(ref hash, field, value, expiryMs, target, target.Limits.Hash)) return false;
        }

        return true;
    }

    private static bool TryPacked(RdbType type, ReadOnlySpan<byte> bytes, ref HashValue hash, in RdbTarget target, RdbScratch scratch)
    {
        bool expiries = type is RdbType.HashListPackWithExpiries or RdbType.HashListPackWithExpiriesDraft;
        HashLimits packedAlready = target.Limits.Hash with { BytesMax = long.MaxValue }; // as in Redis, what is packed stays packed
        switch (type)
        {
            case RdbType.HashZipMap:
                return ZipMapReader.TryOpen(bytes, out ZipMapReader map) && TryAddAll(ref hash, map, map.Count, expiries, target, target.Limits.Hash, scratch);
            case RdbType.HashZipList:
                return ZipListReader.TryOpen(bytes, out ZipListReader zipped) && TryAddAll(ref hash, zipped, zipped.Count, expiries, target, packedAlready, scratch);
            default:
                return scratch.TryOpen(bytes, out PackedListReader packed) && TryAddAll(ref hash, packed, packed.Count, expiries, target, packedAlready, scratch);
        }
    }

    private static bool TryAddAll<TReader>(ref HashValue hash, scoped TReader elements, int count, bool expiries, in RdbTarget target, HashLimits limits, RdbScratch scratch)
        where TReader : struct, IElementReader, allows ref struct
    {
        int step = expiries ? 3 : 2;
        if (count == 0 || count % step != 0) return false;
        if (!PackedNames.AreDistinct(elements, count / step, step, limits.FieldsMax, target.Database.Hasher, out bool stayPacked)) return false;
        if (!stayPacked) hash.Expect(long.MaxValue, limits);
        else if (expiries) hash.ReserveExpiries();
        long moved = 0;
        Span<byte> fieldDigits = stackalloc byte[CanonicalInteger.TextBytesMax];
        Span<byte> valueDigits = stackalloc byte[CanonicalInteger.TextBytesMax];
        Span<byte> expiryDigits = stackalloc byte[CanonicalInteger.TextBytesMax];
        long latestMs = 0;
        while (elements.MoveNext())
        {
            ReadOnlySpan<byte> field = elements.Bytes(fieldDigits);
            elements.MoveNext();
            ReadOnlySpan<byte> value = elements.Bytes(valueDigits);
            long expiryMs = 0;
            if (expiries && (!elements.MoveNext() || !CanonicalInteger.TryParse(elements.Bytes(expiryDigits), out expiryMs))) return false;

            // Redis writes fields in the order of their expiries, those without one last.
            long orderMs = expiryMs == 0 ? long.MaxValue : expiryMs;
            if (orderMs < latestMs && !scratch.Corrects("the order of its fields by their expiries")) return false;
            latestMs = orderMs;
            if (!stayPacked)
            {
                if (!TryAdd(ref hash, field, value, expiryMs, target, limits)) return false;
                continue;
            }

            if (expiryMs is < 0 or > ExpiryMaxMs) return false;
            if (expiryMs > 0 && target.Expiry.HasPassed(expiryMs)) continue;
            moved += hash.AddRead(field, value, expiryMs, limits);
            if (moved > PackedNames.MovedBytesMax) hash.Expect(long.MaxValue, limits);
        }

        return true;
    }

    // An expiry of 0 means none.
    private static bool TryAdd(ref HashValue hash, scoped ReadOnlySpan<byte> field, scoped ReadOnlySpan<byte> value, long expiryMs, in RdbTarget target, HashLimits limits)
    {
        if (expiryMs is < 0 or > ExpiryMaxMs) return false;
        if (expiryMs > 0 && target.Expiry.HasPassed(expiryMs)) return true;
        if (!hash.Set(field, value, limits)) return false;
        if (expiryMs > 0) hash.WriteExpiry(field, expiryMs);
        return true;
    }
}
