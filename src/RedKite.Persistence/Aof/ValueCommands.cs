using RedKite.Persistence.Files;
using RedKite.Persistence.Rdb;
using RedKite.Protocol;
using RedKite.Store.Keyspace;
using RedKite.Store.Values.Arrays;
using RedKite.Store.Values.Hashes;
using RedKite.Store.Values.Lists;
using RedKite.Store.Values.Packed;
using RedKite.Store.Values.Sets;
using RedKite.Store.Values.SortedSets;
using RedKite.Store.Values.Streams;

namespace RedKite.Persistence.Aof;

/// <summary>
/// Writes a key as the commands that create it, those that Redis writes without aof-use-rdb-preamble. What these cannot express is a
/// RESTORE: vector sets, arrays whose ring was changed by other commands, and streams with remembered ids of producers, with pending entries that were deleted, or with ones without a
/// consumer. Not kept are the times at which consumers were seen, as in Redis.
/// </summary>
/// <param name="output">Receives the commands.</param>
/// <param name="payloadBytesMax">The longest payload of a RESTORE.</param>
internal sealed class ValueCommands(CommandOutput output, int payloadBytesMax = ValueCommands.PayloadBytesMax) : IDisposable
{
    /// <summary>How many elements a command adds at most, as in Redis.</summary>
    internal const int ElementsMax = 64;

    /// <summary>The longest payload of a RESTORE: the default of proto-max-bulk-len, which servers apply to the arguments of a log as well.</summary>
    internal const int PayloadBytesMax = 512 * 1024 * 1024;

    private readonly RdbOutput _payload = new();
    private readonly RdbScratch _scratch = new();

    /// <summary>Writes that a key must not be evicted.</summary>
    internal void WriteBlessing(ReadOnlySpan<byte> key) => output.Begin("BLESS"u8, 3).Argument("SET"u8).Argument(key).Argument("NO-EVICT"u8);

    /// <summary>Writes a key with its value and its expiry.</summary>
    /// <exception cref="FileFailure">The value needs a longer payload than servers accept.</exception>
    internal void Write(Database database, Entry entry)
    {
        switch (entry.Type)
        {
            case DataType.String:
                output.Begin("SET"u8, 2).Argument(entry.Key).Argument(entry.Value);
                break;
            case DataType.List:
                WriteList(database, entry);
                break;
            case DataType.Set:
                WriteSet(database, entry);
                break;
            case DataType.SortedSet:
                WriteSortedSet(database, entry);
                break;
            case DataType.Hash:
                WriteHash(database, entry);
                break;
            case DataType.Stream when IsOfCommands(StreamValue.Of(database, entry)):
                WriteStream(entry.Key, StreamValue.Of(database, entry));
                break;
            case DataType.Array when IsOfCommands(ArrayValue.Of(database, entry)):
                WriteArray(entry.Key, ArrayValue.Of(database, entry));
                break;
            default:
                WritePayload(database, entry);
                break;
        }

        if (entry.Expires) output.Begin("PEXPIREAT"u8, 2).Argument(entry.Key).Argument(entry.ExpiryMs);
    }

    public void Dispose()
    {
        _payload.Dispose();
        _scratch.Dispose();
    }

    private void WriteList(Database database, Entry entry)
    {
        var list = new ListValue(database, entry, default);
        ListReader elements = list.Read(0, list.Count);
        for (long left = list.Count; elements.MoveNext(); left--)
        {
            BeginElements("RPUSH"u8, entry.Key, list.Count - left, left, each: 1);
            output.Argument(elements.Current);
        }
    }

    private void WriteSet(Database database, Entry entry)
    {
        Span<byte> number = stackalloc byte[SetEnumerator.NumberBytesMax];
        SetView set = SetView.Of(database, entry);
        SetEnumerator members = set.Enumerate(number);
        for (long left = set.Count; members.MoveNext(); left--)
        {
            BeginElements("SADD"u8, entry.Key, set.Count - left, left, each: 1);
            output.Argument(members.Current);
        }

        if (!entry.FieldsExpire) return;
        members = set.Enumerate(number);
        while (members.MoveNext())
        {
            long expiryMs = set.ExpiryOf(members.Current);
            if (expiryMs < 0) continue;
            output.Begin("SPEXPIREAT"u8, 5).Argument(entry.Key).Argument(expiryMs).Argument("MEMBERS"u8).Argument(1).Argument(members.Current);
        }
    }

    private void WriteSortedSet(Database database, Entry entry)
    {
        Span<byte> score = stackalloc byte[RespDouble.TextMax];
        var set = new SortedSetValue(database, entry);
        long left = set.Count;
        for (SortedSetCursor place = set.At(0, stackalloc byte[CanonicalInteger.TextBytesMax]); place.Exists; place.MoveNext())
        {
            BeginElements("ZADD"u8, entry.Key, set.Count - left, left, each: 2);
            output.Argument(score[..RespDouble.Format(place.Score, score)]).Argument(place.Member);
            left--;
        }
    }

    private void WriteHash(Database database, Entry entry)
    {
        Span<byte> digits = stackalloc byte[CanonicalInteger.TextBytesMax];
        HashValue hash = HashValue.Peek(database, entry, ExpiryClock.Never);
        HashFields fields = hash.Fields();
        for (long left = hash.LivingCount; fields.MoveNext(); left--)
        {
            BeginElements("HMSET"u8, entry.Key, hash.LivingCount - left, left, each: 2);
            output.Argument(fields.Field.Bytes(digits)).Argument(fields.Value.Bytes(digits));
        }

        if (hash.EarliestExpiryMs == long.MaxValue) return;
        fields = hash.Fields();
        while (fields.MoveNext())
        {
            if (fields.ExpiryMs == long.MaxValue) continue;
            output.Begin("HPEXPIREAT"u8, 5).Argument(entry.Key).Argument(fields.ExpiryMs).Argument("FIELDS"u8).Argument(1).Argument(fields.Field.Bytes(digits));
        }
    }

    // Whether the last insertion in the ring, if there is one, can be made again.
    private static bool IsOfCommands(ArrayValue array)
    {
        if (array.Ring == 0) return true;
        ulong next = array.Next;
        return next > 0 && next <= array.Ring && array.Length <= array.Ring && array.TryGet(next - 1, out _) && (next == 1 || array.Count > 1);
    }

    private void WriteArray(ReadOnlySpan<byte> key, ArrayValue array)
    {
        Span<byte> digits = stackalloc byte[CanonicalInteger.TextBytesMax];
        bool isRing = array.Ring != 0;
        ulong next = isRing ? array.Next - 1 : array.Next;
        long count = isRing ? array.Count - 1 : array.Count;
        ArrayCursor elements = array.Between(0, ArrayData.IndexMax);
        long written = 0;
        while (elements.MoveNext())
        {
            if (isRing && elements.Index == next) continue;
            BeginElements("ARMSET"u8, key, written, count - written, each: 2);
            written++;
            output.Index(elements.Index).Argument(elements.Element.Bytes(digits));
        }

        if (next != 0) output.Begin("ARSEEK"u8, 2).Argument(key).Index(next);
        if (isRing && array.TryGet(next, out PackedElement last)) output.Begin("ARRING"u8, 3).Argument(key).Index(array.Ring).Argument(last.Bytes(digits));
    }

    private void BeginElements(ReadOnlySpan<byte> command, ReadOnlySpan<byte> key, long written, long left, int each)
    {
        if (written % ElementsMax == 0) output.Begin(command, 1 + Math.Min(ElementsMax, left) * each).Argument(key);
    }

    // Whether XCLAIM can restore all pending entries: it assigns entries that exist to consumers.
    private static bool IsOfCommands(StreamValue stream)
    {
        if (stream.Producers.Exist) return false;
        for (int i = 0; i < stream.GroupCount; i++)
        {
            PendingCursor pending = stream.GroupAt(i).Pending(default);
            while (pending.MoveNext())
            {
                if (!pending.Entry.Consumer.Exists || !stream.Contains(pending.Id)) return false;
            }
        }

        return true;
    }

    private void WriteStream(ReadOnlySpan<byte> key, StreamValue stream)
    {
        Span<byte> scratch = stackalloc byte[CompactText.ScratchBytes];
        StreamCursor entries = stream.Range(default, StreamId.Max);
        while (entries.MoveNext())
        {
            StreamFields fields = entries.Fields;
            output.Begin("XADD"u8, 2 + 2 * fields.Count).Argument(key).Argument(entries.Id);
            for (int i = 0; i < fields.Count; i++)
            {
                output.Argument(fields.Name().Bytes(scratch));
                output.Argument(fields.Value().Bytes(scratch));
            }
        }

        // An empty stream exists by an entry that is trimmed at once.
        if (stream.Length == 0) output.Begin("XADD"u8, 6).Argument(key).Argument("MAXLEN"u8).Argument(0).Argument("0-1"u8).Argument("x"u8).Argument("y"u8);
        output.Begin("XSETID"u8, 6).Argument(key).Argument(stream.LastId)
            .Argument("ENTRIESADDED"u8).Argument(stream.EntriesAdded)
            .Argument("MAXDELETEDID"u8).Argument(stream.MaxDeletedId);
        for (int i = 0; i < stream.GroupCount; i++) WriteGroup(key, stream.GroupAt(i));
    }

    private void WriteGroup(ReadOnlySpan<byte> key, StreamGroup group)
    {
        output.Begin("XGROUP"u8, 6).Argument("CREATE"u8).Argument(key).Argument(group.Name).Argument(group.LastId)
            .Argument("ENTRIESREAD"u8).Argument(group.EntriesRead);
        for (int i = 0; i < group.ConsumerCount; i++)
        {
            StreamConsumer consumer = group.ConsumerAt(i);
            if (consumer.PendingCount == 0) output.Begin("XGROUP"u8, 4).Argument("CREATECONSUMER"u8).Argument(key).Argument(group.Name).Argument(consumer.Name);
            PendingCursor pending = group.PendingOf(consumer, default);
            while (pending.MoveNext())
            {
                output.Begin("XCLAIM"u8, 11).Argument(key).Argument(group.Name).Argument(consumer.Name).Argument(0).Argument(pending.Id)
                    .Argument("TIME"u8).Argument(pending.Entry.DeliveredMs)
                    .Argument("RETRYCOUNT"u8).Argument(pending.Entry.Deliveries)
                    .Argument("JUSTID"u8).Argument("FORCE"u8);
            }
        }
    }

    private void WritePayload(Database database, Entry entry)
    {
        if (!RdbValueWriter.TryOpenRemovingExpired(database, entry, ExpiryClock.Never, out RdbValueWriter value)) return;
        _payload.Clear();
        DumpPayload.Write(_payload, value, _scratch);
        if (_payload.Overflowed || _payload.Written.Length > payloadBytesMax)
        {
            throw new FileFailure("write", $"{RdbTypes.Shown(entry.Key)} as a command (aof-use-rdb-preamble yes has no such limit)", FileFailure.TooLarge);
        }

        output.Begin("RESTORE"u8, 3).Argument(entry.Key).Argument(0).Argument(_payload.Written);
        _payload.Clear();
        _scratch.Clear();
    }
}
