using RedKite.Store.Keyspace;
using RedKite.Store.Values.Packed;

namespace RedKite.Store.Values.Members;

/// <summary>Receives the expired fields of one hash, or members of one set, one by one, before each is removed. The default reports nothing.</summary>
internal readonly unsafe ref struct ExpiryReport(KeyspaceObserver? observer, Database database, EntryPosition position)
{
    internal bool IsWanted => observer is not null;

    internal void Expired(ReadOnlySpan<byte> field) => observer?.FieldExpired(database, EntryBlock.Type(position.Entry), position.Hash, EntryBlock.Key(position.Entry), field);

    internal void Expired(in PackedElement field)
    {
        Span<byte> digits = stackalloc byte[CanonicalInteger.TextBytesMax];
        Expired(field.Bytes(digits));
    }
}
