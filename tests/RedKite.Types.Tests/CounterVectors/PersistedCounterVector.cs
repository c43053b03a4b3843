using System.Buffers.Binary;
using RedKite.Persistence.Aof;
using RedKite.Persistence.Rdb;
using RedKite.Persistence.Types;
using RedKite.Store.Keyspace;
using RedKite.Store.Memory;

namespace RedKite.Types.Tests.CounterVectors;

/// <summary>Vectors of counters in files, logs and digests. In a log's base short ones are commands, longer ones a RESTORE.</summary>
internal sealed class PersistedCounterVector() : PersistedType(CounterVectorType.Instance)
{
    internal const string ModuleName = "test-cvec";

    private const int CountersPerStep = 16;

    internal override ulong ModuleId { get; } = RdbModule.IdOf(ModuleName);

    internal override RdbValueSteps NewSteps() => new Steps();

    internal override bool TryRead(RdbType form, ref RdbInput input, in RdbTarget target, RdbScratch scratch)
    {
        if (!RdbModule.TryUnsigned(ref input, out ulong count) || count is 0 or > CounterVector.CountMax) return false;
        Entry entry = default;
        for (int i = 0; i < (int)count; i++)
        {
            if (!RdbModule.TryUnsigned(ref input, out ulong counter)) return false;
            CounterVector.Add(target.Database, target.Key, target.Hash, entry, target.AccessClock, i, (long)counter);
            entry = target.Database.FindByHash(target.Hash);
        }

        return RdbModule.TryEnd(ref input);
    }

    internal override bool TryWriteCommands(CommandOutput output, Database database, Entry entry)
    {
        if (entry.HasStructure) return false;
        CounterVector vector = CounterVector.Of(entry);
        for (int i = 0; i < vector.Count; i++) output.Begin("CVADD"u8, 3).Argument(entry.Key).Argument(i).Argument(vector[i]);
        return true;
    }

    internal override ReadingCommands? Reading { get; } = new("CVLEN", static (key, _, _) => ["CVGET", key, "0"]);

    internal override bool MixValue(DatasetDigest digest, Database database, Entry entry, ExpiryClock expiry, scoped ref DatasetDigest.ValuePosition position, DatasetDigest.WorkLeft left)
    {
        Span<byte> bytes = stackalloc byte[sizeof(long)];
        CounterVector vector = CounterVector.Of(entry);
        while ((int)position.Next < vector.Count)
        {
            BinaryPrimitives.WriteInt64BigEndian(bytes, vector[(int)position.Next++]);
            digest.Mix(bytes);
            if (left.Take(sizeof(long))) return (int)position.Next >= vector.Count;
        }

        return true;
    }

    private sealed class Steps : RdbValueSteps
    {
        private nint _entry;
        private int _next;

        internal override void Begin(RdbType form, Database database, Entry entry, ExpiryClock expiry, NativeBuffer scratch)
        {
            _entry = entry.Address;
            _next = -1;
        }

        internal override bool Step(RdbOutput output)
        {
            CounterVector vector = CounterVector.Of(Entry.FromBlock(_entry));
            if (_next < 0)
            {
                RdbModule.WriteId(output, RdbModule.IdOf(ModuleName));
                RdbModule.WriteUnsigned(output, (ulong)vector.Count);
                _next = 0;
                return true;
            }

            for (int end = Math.Min(vector.Count, _next + CountersPerStep); _next < end; _next++) RdbModule.WriteUnsigned(output, (ulong)vector[_next]);
            if (_next < vector.Count) return true;
            RdbModule.WriteEnd(output);
            return false;
        }
    }
}
