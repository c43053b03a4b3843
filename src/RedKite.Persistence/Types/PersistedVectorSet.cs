using RedKite.Persistence.Rdb;
using RedKite.Store.Keyspace;
using RedKite.Store.Memory;
using RedKite.Store.Values;
using RedKite.Store.Values.VectorSets;

namespace RedKite.Persistence.Types;

/// <summary>Vector sets in files, logs and digests: see <see cref="PersistedType"/>. Commands cannot express how elements are linked.</summary>
internal sealed class PersistedVectorSet() : PersistedType(StoredTypes.Of(DataType.VectorSet))
{
    internal override ulong ModuleId => RdbModule.VectorSet;

    internal override RdbValueSteps NewSteps() => new Steps();

    internal override bool TryRead(RdbType form, ref RdbInput input, in RdbTarget target, RdbScratch scratch) => RdbVectorSetReader.TryRead(ref input, target, scratch);

    // As in Redis, where they are a module's.
    internal override void MixType(DatasetDigest digest) => digest.MixNumber(ModuleNumber);

    // Of each element its name, its vector as it is stored, and its attributes. How elements are linked depends on chance.
    internal override bool MixValue(DatasetDigest digest, Database database, Entry entry, ExpiryClock expiry, scoped ref DatasetDigest.ValuePosition position, DatasetDigest.WorkLeft left)
    {
        Span<byte> element = stackalloc byte[DatasetDigest.Bytes];
        var ofElement = new DatasetDigest(element);
        VectorSetValue set = VectorSetValue.Of(database, entry);
        while ((int)position.Next < set.Numbers)
        {
            VectorElement vector = set.AtOrNone((int)position.Next++);
            bool isOver = left.Take(0);
            if (vector.Exists)
            {
                element.Clear();
                ofElement.Mix(vector.Name);
                ofElement.Mix(vector.Stored);
                ofElement.Mix(vector.Attributes);
                digest.Add(element);
                isOver = left.Take(vector.Stored.Length + vector.Attributes.Length);
            }

            if (isOver) return (int)position.Next >= set.Numbers;
        }

        return true;
    }

    private sealed class Steps : RdbValueSteps
    {
        private RdbVectorSetSteps _steps;

        internal override void Begin(RdbType form, Database database, Entry entry, ExpiryClock expiry, NativeBuffer scratch) => _steps = new RdbVectorSetSteps(database, entry);

        internal override bool Step(RdbOutput output) => _steps.Step(output);
    }
}
