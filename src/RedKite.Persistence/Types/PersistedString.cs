using RedKite.Persistence.Aof;
using RedKite.Persistence.Rdb;
using RedKite.Store.Keyspace;
using RedKite.Store.Values;
using RedKite.Store.Values.Packed;
using RedKite.Store.Values.Strings;

namespace RedKite.Persistence.Types;

/// <summary>Strings in files, logs and digests: see <see cref="PersistedType"/>.</summary>
internal sealed class PersistedString() : PersistedType(StoredTypes.Of(DataType.String))
{
    internal override ReadOnlySpan<RdbType> Forms => [RdbType.String];

    internal override RdbType FormOf(Database database, Entry entry, int version) => RdbType.String;

    internal override RdbValueSteps NewSteps() => new RdbStringSteps();

    internal override int LowestVersionOf(Entry entry) => RdbFormat.VersionWithoutFieldExpiries;

    internal override bool TryRead(RdbType form, ref RdbInput input, in RdbTarget target, RdbScratch scratch)
    {
        if (!input.TryString(scratch.First, out ReadOnlySpan<byte> text)) return false;
        ValueEncoding encoding = CanonicalInteger.TryParse(text, out _) ? ValueEncoding.Integer
            : text.Length <= StringLimits.EmbeddedBytesMax ? ValueEncoding.Embedded : ValueEncoding.Raw;
        Entry entry = target.Database.WriteString(target.Key, target.Hash, default, text.Length, encoding, Database.NoExpiry, target.AccessClock);
        text.CopyTo(entry.Value);
        return true;
    }

    internal override bool TryWriteCommands(CommandOutput output, Database database, Entry entry)
    {
        output.Begin("SET"u8, 2).Argument(entry.Key).Argument(entry.Value);
        return true;
    }

    internal override ReadingCommands? Reading { get; } = new("STRLEN", static (key, _, bytes) => ["GETRANGE", key, "0", ReadingCommands.Text(bytes - 1)]);

    internal override void MixType(DatasetDigest digest) => digest.MixNumber((int)DataType.String);

    internal override bool MixValue(DatasetDigest digest, Database database, Entry entry, ExpiryClock expiry, scoped ref DatasetDigest.ValuePosition position, DatasetDigest.WorkLeft left)
    {
        digest.Mix(entry.Value);
        return true;
    }
}
