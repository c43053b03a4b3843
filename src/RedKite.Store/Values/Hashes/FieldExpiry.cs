using RedKite.Store.Keyspace;
using RedKite.Store.Values.Members;
using RedKite.Store.Values.Packed;
using RedKite.Store.Values.Sets;
using RedKite.Store.Values.Streams;

namespace RedKite.Store.Values.Hashes;

/// <summary>
/// The expiry of a hash's fields, a set's members, and of what a stream remembers of its producers, for the keyspace: the next expiry, and
/// freeing what has expired.
/// A packed hash with expiries has three elements for each field: name, value, and expiry in Unix milliseconds, 0 for none.
/// Fields are ordered by expiry, those without one last, so that expired fields come first. A table's root stores the earliest
/// expiry, or an earlier time, in its word.
/// </summary>
internal static unsafe class FieldExpiry
{
    /// <summary>Elements for each field of a packed hash with expiries.</summary>
    internal const int PackedElements = 3;

    /// <summary>The next expiry of an entry: of the key or of a field.</summary>
    internal static long NextOf(byte* entry)
    {
        long expiry = EntryBlock.Expires(entry) ? EntryBlock.Expiry(entry) : long.MaxValue;
        return EntryBlock.FieldsExpire(entry) ? Math.Min(expiry, EarliestOf(entry)) : expiry;
    }

    /// <summary>When the next field of a hash expires; long.MaxValue: none does.</summary>
    internal static long EarliestOf(byte* entry) => EntryBlock.Encoding(entry) switch
    {
        ValueEncoding.ListPackEx => EarliestInList(EntryBlock.ValueStart(entry)),
        ValueEncoding.HashTable => (long)EntryBlock.Root(entry).Word,
        ValueEncoding.Stream => ((StreamData*)EntryBlock.Root(entry).Structure)->Producers.EarliestExpiryMs,
        _ => long.MaxValue,
    };

    /// <summary>The expiry of the field at an offset of a packed hash with expiries.</summary>
    internal static long ExpiryAt(byte* list, int offset)
    {
        long expiry = PackedList.Read(list, PackedList.Next(list, PackedList.Next(list, offset))).Number;
        return expiry == 0 ? long.MaxValue : expiry;
    }

    /// <summary>Frees the expired fields of a hash; in a table, about the given number of them.</summary>
    /// <param name="table">The table that the entry is in.</param>
    /// <param name="position">Where the entry is; its block may move.</param>
    /// <param name="nowMs">The time.</param>
    /// <param name="workMax">How many; what is left of it.</param>
    /// <param name="isEmpty">Whether no field is left.</param>
    /// <param name="report">Where each field is reported before it is removed.</param>
    internal static long Free(Table table, ref EntryPosition position, long nowMs, ref int workMax, out bool isEmpty, scoped in ExpiryReport report)
    {
        byte* entry = position.Entry;
        if (EntryBlock.Encoding(entry) == ValueEncoding.Stream)
        {
            ((StreamData*)EntryBlock.Root(entry).Structure)->Producers.ForgetExpired(table.Arena, nowMs, ref workMax);
            isEmpty = false;
            return 0;
        }

        if (EntryBlock.Encoding(entry) == ValueEncoding.HashTable)
        {
            return EntryBlock.Type(entry) == DataType.Set
                ? FreeOfTable<SetMember>(table, entry, nowMs, ref workMax, out isEmpty, report)
                : FreeOfTable<HashField>(table, entry, nowMs, ref workMax, out isEmpty, report);
        }

        byte* list = EntryBlock.ValueStart(entry);
        int due = 0;
        for (int offset = PackedList.Start; !PackedList.IsEnd(list, offset) && ExpiryAt(list, offset) <= nowMs; due++)
        {
            if (report.IsWanted) report.Expired(PackedList.Read(list, offset));
            for (int i = 0; i < PackedElements; i++) offset = PackedList.Next(list, offset);
        }

        PackedList.Remove(list, PackedList.Start, due * PackedElements);
        isEmpty = PackedList.IsEnd(list, PackedList.Start);
        table.Resize(ref position, PackedList.Bytes(list));
        workMax -= due;
        return due;
    }

    private static long FreeOfTable<TLayout>(Table table, byte* entry, long nowMs, ref int workMax, out bool isEmpty, scoped in ExpiryReport report)
        where TLayout : struct, IMemberLayout
    {
        ref ValueRoot root = ref EntryBlock.Root(entry);
        var members = new MemberTable<TLayout>(table.Arena, table.Hasher, (nint)root.Structure);
        long freed = members.FreeExpired(nowMs, ref workMax, out long earliestMs, report);
        root.Word = (ulong)earliestMs;
        isEmpty = members.Count == 0;
        return freed;
    }

    /// <summary>Reports every field of a table as expired.</summary>
    internal static void ReportAll(scoped in ExpiryReport report, byte* entry)
    {
        foreach (nint block in new MemberTable<HashField>(null!, (nint)EntryBlock.Root(entry).Structure)) report.Expired(HashField.Member((byte*)block));
    }

    private static long EarliestInList(byte* list) => PackedList.IsEnd(list, PackedList.Start) ? long.MaxValue : ExpiryAt(list, PackedList.Start);
}
