using RedKite.Store.Keyspace;

namespace RedKite.Store.Values.Strings;

/// <summary>Strings, which have no structure: see <see cref="StoredType"/>.</summary>
internal sealed class StringType() : StoredType(DataType.String, "string"u8)
{
    internal override string Noun => "string";

    internal override string ElementNoun => "byte";

    internal override string? SizesField => "strings_sizes";

    internal override long SizeOf(Database database, Entry entry) => entry.Value.Length;
}
