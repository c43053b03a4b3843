using RedKite.Store.Keyspace;
using RedKite.Store.Memory;
using RedKite.Store.Values.Hashes;
using RedKite.Store.Values.Lists;
using RedKite.Store.Values.Packed;
using RedKite.Store.Values.Sets;
using RedKite.Store.Values.SortedSets;
using RedKite.Store.Values.Streams;

namespace RedKite.Persistence.Rdb;

/// <summary>
/// Writes one value in RDB format, in the variant closest to its representation in memory: packed values are copied as they are.
/// The type is separate from the value's bytes, because in files it precedes the key and in dumps the value.
/// </summary>
/// <remarks>If a value has several possible variants, it writes the same one as Redis 8.0.</remarks>
internal readonly ref struct RdbValueWriter
{
    private readonly Database _database;
    private readonly Entry _entry;
    private readonly ExpiryClock _expiry;
    private readonly long _earliestExpiryMs; // among a hash's fields

    private RdbValueWriter(Database database, Entry entry, ExpiryClock expiry, long earliestExpiryMs)
    {
        _database = database;
        _entry = entry;
        _expiry = expiry;
        _earliestExpiryMs = earliestExpiryMs;
        Type = entry.Type switch
        {
            DataType.String => RdbType.String,
            DataType.List => RdbType.ListOfListPacks,
            DataType.Set when entry.Encoding == ValueEncoding.IntSet => RdbType.SetIntSet,
            DataType.Set => entry.Encoding == ValueEncoding.ListPack ? RdbType.SetListPack : RdbType.Set,
            DataType.SortedSet => entry.Encoding == ValueEncoding.ListPack ? RdbType.SortedSetListPack : RdbType.SortedSet,
            DataType.Stream => RdbType.StreamOfListPacks3,
            _ when entry.Encoding == ValueEncoding.ListPack => RdbType.HashListPack,
            _ when earliestExpiryMs == long.MaxValue => RdbType.Hash,
            _ => entry.Encoding == ValueEncoding.ListPackEx ? RdbType.HashListPackWithExpiries : RdbType.HashWithExpiries,
        };
    }

    internal RdbType Type { get; }

    /// <summary>Prepares to write a value; false if it is a hash whose last fields have expired. In that case its key is removed.</summary>
    /// <param name="database">The database.</param>
    /// <param name="entry">The key's entry.</param>
    /// <param name="expiry">When fields count as expired: those are not written, and removed if reads may modify.</param>
    /// <param name="writer">The writer, valid until the key changes.</param>
    internal static bool TryOpenRemovingExpired(Database database, Entry entry, ExpiryClock expiry, out RdbValueWriter writer)
    {
        long earliestExpiryMs = long.MaxValue;
        if (entry.Type == DataType.Hash)
        {
            var hash = HashValue.OpenToRead(database, entry, expiry);
            hash.RemoveExpired();
            writer = default;
            if (!hash.Exists || hash.LivingCount == 0) return false;
            entry = hash.Entry;
            earliestExpiryMs = hash.EarliestExpiryMs;
        }

        writer = new RdbValueWriter(database, entry, expiry, earliestExpiryMs);
        return true;
    }

    /// <summary>Writes the value.</summary>
    internal void Write(RdbOutput output, RdbScratch scratch)
    {
        switch (Type)
        {
            case RdbType.ListOfListPacks:
                WriteList(output, scratch.First);
                break;
            case RdbType.Set:
                WriteSet(output);
                break;
            case RdbType.SortedSet:
                WriteSortedSet(output);
                break;
            case RdbType.Hash or RdbType.HashWithExpiries:
                WriteHash(output);
                break;
            case RdbType.StreamOfListPacks3:
                RdbStreamWriter.Write(output, StreamValue.Of(_database, _entry), scratch.First);
                break;
            case RdbType.HashListPackWithExpiries:
                output.Int64(_earliestExpiryMs);
                output.String(_entry.Value);
                break;
            default:
                output.String(_entry.Value);
                break;
        }
    }

    private void WriteList(RdbOutput output, NativeBuffer room)
    {
        var nodes = new ListNodes(_entry, room);
        output.Length(nodes.Count);
        while (nodes.MoveNext())
        {
            output.Length(RdbFormat.PackedNode);
            output.String(nodes.Current);
        }
    }

    private void WriteSet(RdbOutput output)
    {
        SetView set = SetView.Of(_database, _entry);
        output.Length(set.Count);
        SetEnumerator members = set.Enumerate(stackalloc byte[SetEnumerator.NumberBytesMax]);
        while (members.MoveNext()) output.String(members.Current);
    }

    private void WriteSortedSet(RdbOutput output)
    {
        var set = new SortedSetValue(_database, _entry);
        output.Length(set.Count);
        for (SortedSetCursor place = set.At(0, default); place.Exists; place.MoveNext())
        {
            output.String(place.Member);
            output.Double(place.Score);
        }
    }

    private void WriteHash(RdbOutput output)
    {
        HashValue hash = HashValue.Peek(_database, _entry, _expiry);
        bool expiries = Type == RdbType.HashWithExpiries;
        if (expiries) output.Int64(_earliestExpiryMs);
        output.Length(hash.LivingCount);
        Span<byte> digits = stackalloc byte[CanonicalInteger.TextBytesMax];
        HashFields fields = hash.Fields();
        while (fields.MoveNext())
        {
            // 0: no expiry.
            if (expiries) output.Length(fields.ExpiryMs == long.MaxValue ? 0 : fields.ExpiryMs - _earliestExpiryMs + 1);
            output.String(fields.Field.Bytes(digits));
            output.String(fields.Value.Bytes(digits));
        }
    }
}
