using RedKite.Store.Keyspace;

namespace RedKite.Store.Values;

/// <summary>The names of encodings that several types may have, as OBJECT ENCODING returns them.</summary>
internal static class EncodingNames
{
    internal static ReadOnlySpan<byte> Of(ValueEncoding encoding) => encoding switch
    {
        ValueEncoding.Integer => "int"u8,
        ValueEncoding.Embedded => "embstr"u8,
        ValueEncoding.ListPack => "listpack"u8,
        ValueEncoding.ListPackEx => "listpackex"u8,
        ValueEncoding.IntSet => "intset"u8,
        ValueEncoding.HashTable => "hashtable"u8,
        ValueEncoding.SkipList => "skiplist"u8,
        ValueEncoding.QuickList => "quicklist"u8,
        ValueEncoding.SlicedArray => "sliced-array"u8,
        ValueEncoding.Stream => "stream"u8,
        _ => "raw"u8,
    };
}
