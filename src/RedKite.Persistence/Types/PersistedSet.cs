using RedKite.Persistence.Aof;
using RedKite.Persistence.Rdb;
using RedKite.Store.Keyspace;
using RedKite.Store.Memory;
using RedKite.Store.Values;
using RedKite.Store.Values.Members;
using RedKite.Store.Values.Sets;

namespace RedKite.Persistence.Types;

/// <summary>Sets in files, logs and digests: see <see cref="PersistedType"/>. Those of whose members some expire are a module's data (<see cref="RdbExpiringSetReader"/>).</summary>
internal sealed class PersistedSet() : PersistedType(StoredTypes.Of(DataType.Set))
{
    internal override ReadOnlySpan<RdbType> Forms => [RdbType.Set, RdbType.SetIntSet, RdbType.SetListPack];

    internal override ulong ModuleId => RdbModule.ExpiringSet;

    internal override bool TryRemoveExpired(Database database, ref Entry entry, ExpiryClock expiry)
    {
        if (!entry.FieldsExpire) return true;
        entry = SetExpiry.RemoveExpired(database, entry, expiry);
        return SetView.Of(database, entry, expiry).Count > 0;
    }

    internal override RdbType FormOf(Database database, Entry entry, int version)
    {
        if (entry.Encoding == ValueEncoding.IntSet) return RdbType.SetIntSet;
        if (version == RdbFormat.Version && entry.FieldsExpire) return RdbType.Module;
        return entry.Encoding == ValueEncoding.ListPack ? RdbType.SetListPack : RdbType.Set;
    }

    internal override RdbValueSteps NewSteps() => new Steps();

    internal override bool TryRead(RdbType form, ref RdbInput input, in RdbTarget target, RdbScratch scratch) =>
        form == RdbType.Module ? RdbExpiringSetReader.TryRead(ref input, target, scratch) : RdbSetReader.TryRead(form, ref input, target, scratch);

    internal override int LowestVersionOf(Entry entry) => entry.FieldsExpire ? RdbFormat.Version : RdbFormat.VersionWithoutFieldExpiries;

    internal override bool TryWriteCommands(CommandOutput output, Database database, Entry entry)
    {
        Span<byte> number = stackalloc byte[SetEnumerator.NumberBytesMax];
        SetView set = SetView.Of(database, entry);
        SetEnumerator members = set.Enumerate(number);
        for (long left = set.Count; members.MoveNext(); left--)
        {
            output.BeginElements("SADD"u8, entry.Key, set.Count - left, left, each: 1);
            output.Argument(members.Current);
        }

        if (!entry.FieldsExpire) return true;
        members = set.Enumerate(number);
        while (members.MoveNext())
        {
            long expiryMs = set.ExpiryOf(members.Current);
            if (expiryMs < 0) continue;
            output.Begin("SPEXPIREAT"u8, 5).Argument(entry.Key).Argument(expiryMs).Argument("MEMBERS"u8).Argument(1).Argument(members.Current);
        }

        return true;
    }

    internal override ReadingCommands? Reading { get; } = new("SCARD", static (key, elements, _) => ["SSCAN", key, "0", "COUNT", ReadingCommands.Text(elements)], IsPage: true);

    internal override void MixType(DatasetDigest digest) => digest.MixNumber((int)DataType.Set);

    internal override bool MixValue(DatasetDigest digest, Database database, Entry entry, ExpiryClock expiry, scoped ref DatasetDigest.ValuePosition position, DatasetDigest.WorkLeft left)
    {
        Span<byte> number = stackalloc byte[SetEnumerator.NumberBytesMax];
        SetView set = SetView.Of(database, entry, expiry, countsLiving: false);
        if (!set.IsTable)
        {
            AddMembers(digest, set.Enumerate(number), ref left);
            return true;
        }

        ulong cursor = position.Next;
        bool isOver;
        do
        {
            isOver = AddMembers(digest, set.ScanBucket(ref cursor, number), ref left);
        }
        while (cursor != 0 && !isOver);
        position.Next = cursor;
        return cursor == 0;
    }

    private static bool AddMembers(DatasetDigest digest, scoped SetEnumerator members, scoped ref DatasetDigest.WorkLeft left)
    {
        Span<byte> element = stackalloc byte[DatasetDigest.Bytes];
        var ofElement = new DatasetDigest(element);
        bool isOver = false;
        while (members.MoveNext())
        {
            ReadOnlySpan<byte> member = members.Current;
            digest.Add(member);
            isOver = left.Take(member.Length);
            if (!members.Expires) continue;
            element.Clear();
            ofElement.Mix(member);
            ofElement.Add("!!sexpire!!"u8);
            digest.Add(element);
        }

        return isOver;
    }

    private sealed class Steps : RdbValueSteps
    {
        private bool _begun;
        private MemberEnumerator _members;
        private long _count;
        private SetView _expiring; // of whose members some expire

        internal override void Begin(RdbType form, Database database, Entry entry, ExpiryClock expiry, NativeBuffer scratch)
        {
            bool expires = form == RdbType.Module;
            SetView set = expires ? SetView.Of(database, entry, expiry, countsLiving: false) : SetView.Of(database, entry);
            _members = set.Table.GetEnumerator();
            _count = expires ? 0 : set.Count;
            _expiring = expires ? set : default;
            _begun = false;
        }

        internal override bool Step(RdbOutput output)
        {
            if (!_begun)
            {
                _begun = true;
                if (_expiring.IsTable) output.Length(RdbModule.ExpiringSet);
                else output.Length(_count);
                return true;
            }

            if (_expiring.IsTable) return StepExpiring(output);
            if (!_members.MoveNext()) return false;
            output.String(SetView.MemberAt(_members.Current));
            return true;
        }

        // In the form of RdbExpiringSetReader.
        private bool StepExpiring(RdbOutput output)
        {
            while (_members.MoveNext())
            {
                if (_expiring.IsExpired(_members.Current)) continue;
                long expiryMs = SetView.ExpiryAt(_members.Current);
                RdbModule.WriteUnsigned(output, expiryMs == long.MaxValue ? 0 : (ulong)expiryMs);
                RdbModule.WriteString(output, SetView.MemberAt(_members.Current));
                return true;
            }

            RdbModule.WriteEnd(output);
            return false;
        }
    }
}
