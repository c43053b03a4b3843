using RedKite.Persistence.Aof;
using RedKite.Persistence.Rdb;
using RedKite.Store.Keyspace;
using RedKite.Store.Memory;
using RedKite.Store.Values;
using RedKite.Store.Values.Lists;

namespace RedKite.Persistence.Types;

/// <summary>Lists in files, logs and digests: see <see cref="PersistedType"/>.</summary>
internal sealed class PersistedList() : PersistedType(StoredTypes.Of(DataType.List))
{
    internal override ReadOnlySpan<RdbType> Forms => [RdbType.List, RdbType.ListZipList, RdbType.ListOfZipLists, RdbType.ListOfListPacks];

    internal override RdbType FormOf(Database database, Entry entry, int version) => RdbType.ListOfListPacks;

    internal override RdbValueSteps NewSteps() => new Steps();

    internal override bool TryRead(RdbType form, ref RdbInput input, in RdbTarget target, RdbScratch scratch) => RdbListReader.TryRead(form, ref input, target, scratch);

    internal override int LowestVersionOf(Entry entry) => RdbFormat.VersionWithoutFieldExpiries;

    internal override bool TryWriteCommands(CommandOutput output, Database database, Entry entry)
    {
        var list = new ListValue(database, entry, default);
        ListReader elements = list.Read(0, list.Count);
        for (long left = list.Count; elements.MoveNext(); left--)
        {
            output.BeginElements("RPUSH"u8, entry.Key, list.Count - left, left, each: 1);
            output.Argument(elements.Current);
        }

        return true;
    }

    internal override ReadingCommands? Reading { get; } = new("LLEN", static (key, elements, _) => ["LRANGE", key, "0", ReadingCommands.Text(elements - 1)]);

    internal override void MixType(DatasetDigest digest) => digest.MixNumber((int)DataType.List);

    internal override bool MixValue(DatasetDigest digest, Database database, Entry entry, ExpiryClock expiry, scoped ref DatasetDigest.ValuePosition position, DatasetDigest.WorkLeft left)
    {
        var list = new ListValue(database, entry, default);
        ListReader elements = list.Read((long)position.Next, list.Count - (long)position.Next);
        while (elements.MoveNext())
        {
            digest.Mix(elements.Current);
            position.Next++;
            if (left.Take(elements.Current.Length) && (long)position.Next < list.Count) return false;
        }

        return true;
    }

    private sealed class Steps : RdbValueSteps
    {
        private ListNodes _nodes;
        private bool _begun;

        internal override void Begin(RdbType form, Database database, Entry entry, ExpiryClock expiry, NativeBuffer scratch)
        {
            _nodes = new ListNodes(entry, scratch);
            _begun = false;
        }

        internal override bool Step(RdbOutput output)
        {
            if (!_begun)
            {
                _begun = true;
                output.Length(_nodes.Count);
                return true;
            }

            if (!_nodes.MoveNext()) return false;
            output.Length(RdbFormat.PackedNode);
            output.String(_nodes.Current);
            return true;
        }
    }
}
