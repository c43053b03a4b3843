namespace RedKite.Persistence.Rdb;

/// <summary>
/// The form in which an RDB file has data that is no key: the record of a library of functions, as in Redis, or a field about the file of its own name. Every server
/// passes over fields that it does not know, and a name may occur as often as there is something to say.
/// </summary>
internal sealed class RdbRecordForm
{
    /// <summary>A library of functions.</summary>
    internal static readonly RdbRecordForm Function = new(null);

    private readonly byte[]? _field; // null: a library of functions

    private RdbRecordForm(byte[]? field) => _field = field;

    /// <summary>A field about the file.</summary>
    internal static RdbRecordForm Field(ReadOnlySpan<byte> name) => new(name.ToArray());

    /// <summary>Writes a record. Records precede all databases.</summary>
    internal void Write(RdbFileWriter writer, ReadOnlySpan<byte> record)
    {
        if (_field is null) writer.Function(record);
        else writer.Aux(_field, record);
    }

    /// <summary>Whether an item of a file is such a record: <see cref="RdbBatch.TextOf"/>.</summary>
    internal bool Is(RdbBatch batch, in RdbItem item) => _field is null
        ? item.Kind == RdbItemKind.Function
        : item.Kind == RdbItemKind.Aux && batch.NameOf(item).SequenceEqual(_field);
}
