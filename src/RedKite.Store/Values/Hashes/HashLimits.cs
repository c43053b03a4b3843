namespace RedKite.Store.Values.Hashes;

/// <summary>How large a hash may be that is packed: beyond, it becomes a table.</summary>
internal readonly record struct HashLimits(long FieldsMax, long BytesMax);
