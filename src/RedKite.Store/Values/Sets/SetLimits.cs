namespace RedKite.Store.Values.Sets;

/// <summary>The limits of a set of integers and of a packed set; a larger one becomes a table.</summary>
/// <param name="IntegersMax">Members of a set of integers.</param>
/// <param name="PackedMax">Members of a packed list.</param>
/// <param name="PackedBytesMax">Bytes of the longest member of a packed list.</param>
internal readonly record struct SetLimits(long IntegersMax, long PackedMax, long PackedBytesMax);
