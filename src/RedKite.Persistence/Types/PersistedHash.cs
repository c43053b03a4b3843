using RedKite.Persistence.Aof;
using RedKite.Persistence.Rdb;
using RedKite.Store.Keyspace;
using RedKite.Store.Memory;
using RedKite.Store.Values;
using RedKite.Store.Values.Hashes;
using RedKite.Store.Values.Packed;

namespace RedKite.Persistence.Types;

/// <summary>Hashes in files, logs and digests: see <see cref="PersistedType"/>. Fields that expire have forms that depend on the version.</summary>
internal sealed class PersistedHash() : PersistedType(StoredTypes.Of(DataType.Hash))
{
    internal override ReadOnlySpan<RdbType> Forms =>
    [
        RdbType.Hash, RdbType.HashZipMap, RdbType.HashZipList, RdbType.HashListPack, RdbType.HashWithExpiries, RdbType.HashWithExpiriesDraft,
        RdbType.HashWithTimes, RdbType.HashListPackWithExpiries, RdbType.HashListPackWithExpiriesDraft,
    ];

    internal override bool TryRemoveExpired(Database database, ref Entry entry, ExpiryClock expiry)
    {
        var hash = HashValue.OpenToRead(database, entry, expiry);
        hash.RemoveExpired();
        if (!hash.Exists || hash.LivingCount == 0) return false;
        entry = hash.Entry;
        return true;
    }

    internal override RdbType FormOf(Database database, Entry entry, int version)
    {
        if (entry.Encoding == ValueEncoding.ListPack) return RdbType.HashListPack;
        if (EarliestExpiryMs(database, entry) == long.MaxValue || version <= RdbFormat.VersionWithoutFieldExpiries) return RdbType.Hash;
        if (version >= RdbTypes.ValkeyVersionMin) return RdbType.HashWithTimes;
        return entry.Encoding == ValueEncoding.ListPackEx ? RdbType.HashListPackWithExpiries : RdbType.HashWithExpiries;
    }

    internal override RdbValueSteps NewSteps() => new Steps();

    internal override bool TryRead(RdbType form, ref RdbInput input, in RdbTarget target, RdbScratch scratch) => RdbHashReader.TryRead(form, ref input, target, scratch);

    internal override int LowestVersionOf(Entry entry) => entry.FieldsExpire ? RdbTypes.ValkeyVersionMin : RdbFormat.VersionWithoutFieldExpiries;

    internal override bool TryWriteCommands(CommandOutput output, Database database, Entry entry)
    {
        Span<byte> digits = stackalloc byte[CanonicalInteger.TextBytesMax];
        HashValue hash = HashValue.Peek(database, entry, ExpiryClock.Never);
        HashFields fields = hash.Fields();
        for (long left = hash.LivingCount; fields.MoveNext(); left--)
        {
            output.BeginElements("HMSET"u8, entry.Key, hash.LivingCount - left, left, each: 2);
            output.Argument(fields.Field.Bytes(digits)).Argument(fields.Value.Bytes(digits));
        }

        if (hash.EarliestExpiryMs == long.MaxValue) return true;
        fields = hash.Fields();
        while (fields.MoveNext())
        {
            if (fields.ExpiryMs == long.MaxValue) continue;
            output.Begin("HPEXPIREAT"u8, 5).Argument(entry.Key).Argument(fields.ExpiryMs).Argument("FIELDS"u8).Argument(1).Argument(fields.Field.Bytes(digits));
        }

        return true;
    }

    internal override ReadingCommands? Reading { get; } = new("HLEN", static (key, elements, _) => ["HSCAN", key, "0", "COUNT", ReadingCommands.Text(elements)], IsPage: true);

    internal override void MixType(DatasetDigest digest) => digest.MixNumber((int)DataType.Hash);

    internal override bool MixValue(DatasetDigest digest, Database database, Entry entry, ExpiryClock expiry, scoped ref DatasetDigest.ValuePosition position, DatasetDigest.WorkLeft left)
    {
        HashValue hash = HashValue.Peek(database, entry, expiry);
        if (!hash.Exists) return true;
        if (!hash.IsTable)
        {
            AddFields(digest, hash.Fields(), ref left);
            return true;
        }

        ulong cursor = position.Next;
        bool isOver;
        do
        {
            isOver = AddFields(digest, hash.ScanBucket(ref cursor), ref left);
        }
        while (cursor != 0 && !isOver);
        position.Next = cursor;
        return cursor == 0;
    }

    private static long EarliestExpiryMs(Database database, Entry entry) => HashValue.Peek(database, entry, ExpiryClock.Never).EarliestExpiryMs;

    private static bool AddFields(DatasetDigest digest, HashFields fields, scoped ref DatasetDigest.WorkLeft left)
    {
        Span<byte> element = stackalloc byte[DatasetDigest.Bytes];
        Span<byte> digits = stackalloc byte[CanonicalInteger.TextBytesMax];
        var ofElement = new DatasetDigest(element);
        bool isOver = false;
        while (fields.MoveNext())
        {
            element.Clear();
            ofElement.Mix(fields.Field.Bytes(digits));
            ReadOnlySpan<byte> value = fields.Value.Bytes(digits);
            ofElement.Mix(value);
            if (fields.ExpiryMs != long.MaxValue) ofElement.Add("!!hexpire!!"u8);
            digest.Add(element);
            isOver = left.Take(value.Length);
        }

        return isOver;
    }

    private sealed class Steps : RdbValueSteps
    {
        private RdbType _form;
        private long _earliestExpiryMs;
        private NativeSpan _text; // of a packed hash
        private HashFields _fields;
        private long _count;
        private bool _begun;
        private bool _isValueDue;
        private bool _isTimeDue;

        internal override void Begin(RdbType form, Database database, Entry entry, ExpiryClock expiry, NativeBuffer scratch)
        {
            _form = form;
            _earliestExpiryMs = EarliestExpiryMs(database, entry);
            _begun = _isValueDue = _isTimeDue = false;
            if (form == RdbType.HashListPackWithExpiries)
            {
                _text = new NativeSpan(entry.Value);
                return;
            }

            HashValue hash = HashValue.Peek(database, entry, expiry);
            _fields = hash.Fields();
            _count = hash.LivingCount;
        }

        internal override bool Step(RdbOutput output)
        {
            if (_form == RdbType.HashListPackWithExpiries)
            {
                output.Int64(_earliestExpiryMs);
                output.String(_text.Bytes);
                return false;
            }

            if (_begun) return StepField(output);
            _begun = true;
            if (_form == RdbType.HashWithExpiries) output.Int64(_earliestExpiryMs);
            output.Length(_count);
            return true;
        }

        private bool StepField(RdbOutput output)
        {
            Span<byte> digits = stackalloc byte[CanonicalInteger.TextBytesMax];
            if (_isValueDue)
            {
                output.String(_fields.Value.Bytes(digits));
                _isValueDue = false;
                _isTimeDue = _form == RdbType.HashWithTimes;
                return true;
            }

            if (_isTimeDue) output.Int64(_fields.ExpiryMs == long.MaxValue ? RdbHashReader.NoTime : _fields.ExpiryMs);
            _isTimeDue = false;
            if (!_fields.MoveNext()) return false;

            // 0: no expiry.
            if (_form == RdbType.HashWithExpiries) output.Length(_fields.ExpiryMs == long.MaxValue ? 0 : _fields.ExpiryMs - _earliestExpiryMs + 1);
            output.String(_fields.Field.Bytes(digits));
            _isValueDue = true;
            return true;
        }
    }
}
