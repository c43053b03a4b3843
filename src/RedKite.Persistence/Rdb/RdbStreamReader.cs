using RedKite.Store.Keyspace;
using RedKite.Store.Values;
using RedKite.Store.Values.Packed;
using RedKite.Store.Values.Streams;

namespace RedKite.Persistence.Rdb;

/// <summary>Reads streams: nodes as packed lists (in the form of <see cref="StreamListPacks"/>), then the fields that <see cref="RdbStreamSteps"/> writes.</summary>
/// <remarks>
/// As in Redis, a stream loads although stored numbers contradict its entries: its length, the counts of its nodes, its last id, the entries ever added.
/// Redis believes the numbers, and has a wrong XLEN from then on; here the entries count (<see cref="RdbScratch.Corrects"/>).
/// </remarks>
internal static class RdbStreamReader
{
    // Longer field names of a node are never repeated in each entry.
    private const int RepeatedNameBytesMax = 128;

    internal static bool TryRead(RdbType type, ref RdbInput input, in RdbTarget target, RdbScratch scratch)
    {
        Entry entry = target.Database.WriteValue(
            target.Key, target.Hash, default, new ValueHeader(DataType.Stream, ValueEncoding.Stream, target.AccessClock), ValueRoot.Bytes, Database.NoExpiry);
        StreamValue stream = StreamValue.Create(target.Database, entry);
        if (!input.TryCount(out long nodes)) return false;
        bool hasNodes = nodes > 0;
        for (; nodes > 0; nodes--)
        {
            if (!input.TryString(scratch.First, out ReadOnlySpan<byte> key) || key.Length != RdbFormat.StreamIdBytes) return false;
            StreamId id = RdbInput.IdOf(key);
            if (!input.TryString(scratch.First, out ReadOnlySpan<byte> bytes)) return false;
            if (!scratch.TryOpen(bytes, out PackedListReader list) || !TryNode(stream, id, list, scratch)) return false;
        }

        return TryNumbers(type, ref input, stream, hasNodes, scratch) && RdbStreamGroupReader.TryRead(type, ref input, stream, target.NowMs, scratch)
            && (type < RdbType.StreamOfListPacks4 || TryProducers(ref input, stream, scratch));
    }

    private static bool TryNumbers(RdbType type, ref RdbInput input, StreamValue stream, bool hasNodes, RdbScratch scratch)
    {
        if (!input.TryLength(out ulong length) || (length > 0 && !hasNodes) || (length != (ulong)stream.Length && !scratch.Corrects("its number of entries"))) return false;
        if (!input.TryId(out StreamId lastId)) return false;
        if (lastId < stream.LastId)
        {
            if (!scratch.Corrects("its last id")) return false;
            lastId = stream.LastId;
        }

        ulong added = (ulong)stream.Length;
        StreamId maxDeletedId = default;
        if (type != RdbType.StreamOfListPacks)
        {
            // The first entry's id follows from the entries.
            if (!input.TryId(out _) || !input.TryId(out maxDeletedId)) return false;
            // XADD increments a number set by XSETID, possibly beyond the largest signed number: as in Redis, all 64 bits are written.
            if (!input.TryLength(out added)) return false;
            if (added < (ulong)stream.Length)
            {
                if (!scratch.Corrects("how many entries it has had")) return false;
                added = (ulong)stream.Length;
            }
        }

        stream.SetLastId(lastId);
        stream.SetMaxDeletedId(maxDeletedId);
        stream.SetEntriesAdded((long)added);
        return true;
    }

    private static bool TryProducers(ref RdbInput input, StreamValue stream, RdbScratch scratch)
    {
        if (!input.TryLength(out ulong seconds) || !input.TryLength(out ulong idsMax) || !input.TryCount(out long producers)) return false;

        // For a stream without producers, other servers may write a duration and a maximum outside the range of XCFGSET.
        bool remembers = seconds is > 0 and <= StreamProducers.DurationSecondsMax && idsMax is > 0 and <= StreamProducers.IdsPerProducerMax;
        if (!remembers && producers > 0) return false;
        if (remembers) stream.ConfigureProducers((int)seconds, (int)idsMax);
        int outOfOrder = 0;
        for (; producers > 0; producers--)
        {
            if (!input.TryString(scratch.First, out ReadOnlySpan<byte> name) || !input.TryCount(out long ids)) return false;
            int producer = ids > 0 ? stream.ReadProducer(name) : 0;
            if (ids > 0 && producer < stream.Producers.Items.Count - 1 && ++outOfOrder > RdbStreamGroupReader.OutOfOrderMax) return false;
            for (; ids > 0; ids--)
            {
                if (!input.TryString(scratch.Second, out ReadOnlySpan<byte> text) || !input.TryId(out StreamId id)) return false;
                stream.AddReadId(producer, text, id);
            }
        }

        if (!input.TryLength(out ulong added) || !input.TryLength(out ulong duplicates)) return false;
        if (remembers) stream.EndProducersRead((long)added, (long)duplicates);
        return true;
    }

    private static bool TryNode(StreamValue stream, in StreamId key, PackedListReader list, RdbScratch scratch)
    {
        if (!list.TryNextNumber(out long alive) || !list.TryNextNumber(out long deleted) || !TryPairs(ref list, out int nameCount)) return false;
        PackedListReader names = list;
        if (!TryMeasure(ref list, nameCount, step: 1, out long nameBytes)) return false;
        if (!list.TryNextNumber(out long zero) || (zero != 0 && !scratch.Corrects("the end of a node's head"))) return false;
        var node = new Node { Names = names, NameCount = nameCount, NameBytes = nameBytes, Begins = true };
        while (list.MoveNext())
        {
            if (!list.TryNumber(out long flags) || flags is < 0 or > (StreamListPacks.Deleted | StreamListPacks.SameNames)) return false;
            bool isDeleted = (flags & StreamListPacks.Deleted) != 0;
            if (isDeleted) deleted--;
            else alive--;
            if (!list.TryNextNumber(out long ms) || !list.TryNextNumber(out long sequence)) return false;
            var id = new StreamId(key.Ms + (ulong)ms, key.Sequence + (ulong)sequence);
            if (!isDeleted && id <= stream.LastId) return false;
            bool sameNames = (flags & StreamListPacks.SameNames) != 0;
            if (!TryEntry(stream, id, ref list, ref node, sameNames, isDeleted, scratch)) return false;
        }

        return (alive == 0 && deleted == 0) || scratch.Corrects("the number of entries of a node");
    }

    // The rest of an entry, followed by the number of its elements.
    private static bool TryEntry(StreamValue stream, in StreamId id, ref PackedListReader list, ref Node node, bool sameNames, bool isDeleted, RdbScratch scratch)
    {
        int pairs = node.NameCount;
        if (!sameNames && !TryPairs(ref list, out pairs)) return false;
        PackedListReader texts = list;
        long nameBytes = node.NameBytes;
        long valueBytes;
        if (sameNames)
        {
            if (!TryMeasure(ref list, pairs, step: 1, out valueBytes)) return false;
        }
        else if (!TryMeasure(ref list, pairs, step: 2, out nameBytes, out valueBytes))
        {
            return false;
        }

        if (!list.TryNextNumber(out long elements)) return false;
        if (elements != (sameNames ? pairs + 3L : (2L * pairs) + 4) && !scratch.Corrects("the number of elements of an entry")) return false;
        if (isDeleted) return true;

        // If the first entry is deleted and the next one has other field names, the node takes those; the remaining entries then
        // repeat their names, or start another node if the names are long.
        bool hasNodeNames = sameNames && node.HasNames;
        bool repeats = sameNames && !node.HasNames && nameBytes <= RepeatedNameBytesMax;
        StreamAppender entry = stream.AppendRead(id, pairs, new StreamReadTexts(nameBytes, valueBytes, node.Begins || (sameNames && !node.HasNames && !repeats), hasNodeNames));
        if (entry.IsNewNode) node.HasNames = sameNames;
        node.Begins = false;
        Append(ref entry, texts, sameNames ? node.Names : texts, pairs, sameNames, announcesNames: entry.IsNewNode || !hasNodeNames);
        return true;
    }

    // Names come first, and again with their values.
    private static void Append(scoped ref StreamAppender entry, scoped PackedListReader texts, scoped PackedListReader names, int pairs, bool sameNames, bool announcesNames)
    {
        Span<byte> nameDigits = stackalloc byte[CanonicalInteger.TextBytesMax];
        Span<byte> valueDigits = stackalloc byte[CanonicalInteger.TextBytesMax];
        PackedListReader told = names;
        for (int i = 0; i < pairs && announcesNames; i++)
        {
            told.MoveNext();
            entry.Name(told.Bytes(nameDigits));
            if (!sameNames) told.MoveNext();
        }

        for (int i = 0; i < pairs; i++)
        {
            scoped ReadOnlySpan<byte> name = default;
            if (!sameNames)
            {
                texts.MoveNext();
                name = texts.Bytes(nameDigits);
            }
            else if (announcesNames)
            {
                names.MoveNext();
                name = names.Bytes(nameDigits);
            }

            texts.MoveNext();
            entry.Pair(name, texts.Bytes(valueDigits));
        }

        entry.End();
    }

    private static bool TryPairs(ref PackedListReader list, out int pairs)
    {
        bool there = list.TryNextNumber(out long number) && number > 0 && number <= list.Count;
        pairs = (int)number;
        return there;
    }

    // Enumerates elements and adds up the bytes of the first one of each group.
    private static bool TryMeasure(ref PackedListReader list, int count, int step, out long bytes) => TryMeasure(ref list, count, step, out bytes, out _);

    private static bool TryMeasure(ref PackedListReader list, int count, int step, out long firstBytes, out long secondBytes)
    {
        firstBytes = 0;
        secondBytes = 0;
        for (int i = 0; i < count; i++)
        {
            if (!list.MoveNext()) return false;
            firstBytes += list.TextLength;
            if (step == 1) continue;
            if (!list.MoveNext()) return false;
            secondBytes += list.TextLength;
        }

        return true;
    }

    // The state of reading a packed list.
    private ref struct Node
    {
        internal PackedListReader Names; // positioned before the names
        internal int NameCount;
        internal long NameBytes;
        internal bool Begins;   // no entry is added yet
        internal bool HasNames; // the stream's last node has these names
    }
}
