using RedKite.Persistence.Aof;
using RedKite.Persistence.Rdb;
using RedKite.Protocol;
using RedKite.Store.Keyspace;
using RedKite.Store.Memory;
using RedKite.Store.Values;
using RedKite.Store.Values.Packed;
using RedKite.Store.Values.SortedSets;

namespace RedKite.Persistence.Types;

/// <summary>Sorted sets in files, logs and digests: see <see cref="PersistedType"/>.</summary>
internal sealed class PersistedSortedSet() : PersistedType(StoredTypes.Of(DataType.SortedSet))
{
    internal override ReadOnlySpan<RdbType> Forms => [RdbType.SortedSet, RdbType.SortedSetWithTexts, RdbType.SortedSetZipList, RdbType.SortedSetListPack];

    internal override RdbType FormOf(Database database, Entry entry, int version) =>
        entry.Encoding == ValueEncoding.ListPack ? RdbType.SortedSetListPack : RdbType.SortedSet;

    internal override RdbValueSteps NewSteps() => new Steps();

    internal override bool TryRead(RdbType form, ref RdbInput input, in RdbTarget target, RdbScratch scratch) => RdbSortedSetReader.TryRead(form, ref input, target, scratch);

    internal override int LowestVersionOf(Entry entry) => RdbFormat.VersionWithoutFieldExpiries;

    internal override bool TryWriteCommands(CommandOutput output, Database database, Entry entry)
    {
        Span<byte> score = stackalloc byte[RespDouble.TextMax];
        var set = new SortedSetValue(database, entry);
        long left = set.Count;
        for (SortedSetCursor cursor = set.At(0, stackalloc byte[CanonicalInteger.TextBytesMax]); cursor.Exists; cursor.MoveNext())
        {
            output.BeginElements("ZADD"u8, entry.Key, set.Count - left, left, each: 2);
            output.Argument(score[..RespDouble.Format(cursor.Score, score)]).Argument(cursor.Member);
            left--;
        }

        return true;
    }

    internal override ReadingCommands? Reading { get; } = new("ZCARD", static (key, elements, _) => ["ZRANGE", key, "0", ReadingCommands.Text(elements - 1), "WITHSCORES"]);

    internal override void MixType(DatasetDigest digest) => digest.MixNumber((int)DataType.SortedSet);

    internal override bool MixValue(DatasetDigest digest, Database database, Entry entry, ExpiryClock expiry, scoped ref DatasetDigest.ValuePosition position, DatasetDigest.WorkLeft left)
    {
        Span<byte> element = stackalloc byte[DatasetDigest.Bytes];
        Span<byte> score = stackalloc byte[RespDouble.TextMax];
        var ofElement = new DatasetDigest(element);
        var set = new SortedSetValue(database, entry);
        if ((long)position.Next >= set.Count) return true;
        for (SortedSetCursor cursor = set.At((long)position.Next, stackalloc byte[CanonicalInteger.TextBytesMax]); cursor.Exists; cursor.MoveNext())
        {
            element.Clear();
            ofElement.Mix(cursor.Member);
            ofElement.Mix(score[..RespDouble.FormatDigits(cursor.Score, score)]);
            digest.Add(element);
            position.Next++;
            if (left.Take(cursor.Member.Length) && (long)position.Next < set.Count) return false;
        }

        return true;
    }

    private sealed class Steps : RdbValueSteps
    {
        private ScoreTreePosition _cursor;
        private long _count;
        private bool _begun;
        private bool _isScoreDue;

        internal override void Begin(RdbType form, Database database, Entry entry, ExpiryClock expiry, NativeBuffer scratch)
        {
            var set = new SortedSetStructure(database.ArenaOf(entry), database.Hasher, entry.Root);
            _cursor = set.At(0);
            _count = set.Count;
            _begun = _isScoreDue = false;
        }

        internal override bool Step(RdbOutput output)
        {
            if (!_begun)
            {
                _begun = true;
                output.Length(_count);
                return true;
            }

            if (_isScoreDue)
            {
                output.Double(_cursor.Score);
                _cursor.MoveNext();
                _isScoreDue = false;
            }

            if (!_cursor.Exists) return false;
            output.String(_cursor.Member);
            _isScoreDue = true;
            return true;
        }
    }
}
