
namespace RedKite.Store.Keyspace;

/// <summary>The names of data types, as TYPE returns and SCAN accepts them.</summary>
internal static class TypeNames
{
    internal static ReadOnlySpan<byte> Of(DataType type) => type switch
    {
        DataType.String => "string"u8,
        DataType.List => "list"u8,
        DataType.Set => "set"u8,
        DataType.SortedSet => "zset"u8,
        DataType.Hash => "hash"u8,
        DataType.Array => "array"u8,
        DataType.VectorSet => "vectorset"u8,
        _ => "stream"u8,
    };
}
