using System.Globalization;
using System.Text;
using RedKite.Persistence.Aof;
using RedKite.Persistence.Rdb;
using RedKite.Store.Keyspace;
using RedKite.Store.Memory;
using RedKite.Store.Values;
using RedKite.Store.Values.Streams;

namespace RedKite.Persistence.Types;

/// <summary>
/// Streams in files, logs and digests: see <see cref="PersistedType"/>. Commands cannot express remembered ids of producers, nor pending entries that were
/// deleted or have no consumer. They do not keep the times at which consumers were seen, as in Redis.
/// </summary>
internal sealed class PersistedStream() : PersistedType(StoredTypes.Of(DataType.Stream))
{
    internal override ReadOnlySpan<RdbType> Forms =>
        [RdbType.StreamOfListPacks, RdbType.StreamOfListPacks2, RdbType.StreamOfListPacks3, RdbType.StreamOfListPacks4, RdbType.StreamOfListPacks5];

    internal override RdbType FormOf(Database database, Entry entry, int version) =>
        version == RdbFormat.Version && StreamValue.Of(database, entry).Producers.Exist ? RdbType.StreamOfListPacks4 : RdbType.StreamOfListPacks3;

    internal override RdbValueSteps NewSteps() => new Steps();

    internal override bool TryRead(RdbType form, ref RdbInput input, in RdbTarget target, RdbScratch scratch) => RdbStreamReader.TryRead(form, ref input, target, scratch);

    internal override int LowestVersionOf(Entry entry) => RdbFormat.VersionWithoutFieldExpiries;

    internal override bool TryWriteCommands(CommandOutput output, Database database, Entry entry)
    {
        Span<byte> scratch = stackalloc byte[CompactText.ScratchBytes];
        StreamValue stream = StreamValue.Of(database, entry);
        if (!IsOfCommands(stream)) return false;
        ReadOnlySpan<byte> key = entry.Key;
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
        for (int i = 0; i < stream.GroupCount; i++) WriteGroup(output, key, stream.GroupAt(i));
        return true;
    }

    internal override ReadingCommands? Reading { get; } = new("XLEN", static (key, elements, _) => ["XRANGE", key, "-", "+", "COUNT", ReadingCommands.Text(elements)]);

    internal override void MixType(DatasetDigest digest) => digest.MixNumber((int)DataType.Stream);

    internal override bool MixValue(DatasetDigest digest, Database database, Entry entry, ExpiryClock expiry, scoped ref DatasetDigest.ValuePosition position, DatasetDigest.WorkLeft left)
    {
        Span<byte> scratch = stackalloc byte[CompactText.ScratchBytes];
        StreamCursor cursor = StreamValue.Of(database, entry).Range(position.NextId, StreamId.Max);
        while (cursor.MoveNext())
        {
            digest.Mix(Encoding.ASCII.GetBytes(string.Create(CultureInfo.InvariantCulture, $"{cursor.Id.Ms}.{cursor.Id.Sequence}")));
            StreamFields fields = cursor.Fields;
            bool isOver = false;
            for (int i = 0; i < fields.Count; i++)
            {
                digest.Mix(fields.Name().Bytes(scratch));
                ReadOnlySpan<byte> value = fields.Value().Bytes(scratch);
                digest.Mix(value);
                isOver = left.Take(value.Length);
            }

            if (!cursor.Id.TryNext(out StreamId next)) return true;
            position.NextId = next;
            if (isOver) return false;
        }

        return true;
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

    private static void WriteGroup(CommandOutput output, ReadOnlySpan<byte> key, StreamGroup group)
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

    private sealed class Steps : RdbValueSteps
    {
        private RdbStreamSteps _steps;

        internal override void Begin(RdbType form, Database database, Entry entry, ExpiryClock expiry, NativeBuffer scratch) => _steps = new RdbStreamSteps(form, database, entry, scratch);

        internal override bool Step(RdbOutput output) => _steps.Step(output);
    }
}
