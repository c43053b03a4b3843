namespace RedKite.Store.Values.Hashes;

/// <summary>The limits of a packed hash; a larger one becomes a table.</summary>
internal readonly record struct HashLimits(long FieldsMax, long BytesMax);
