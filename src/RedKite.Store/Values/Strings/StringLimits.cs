namespace RedKite.Store.Values.Strings;

/// <summary>The limits of string encodings.</summary>
internal static class StringLimits
{
    /// <summary>The longest string that counts as embedded, as in Redis.</summary>
    internal const int EmbeddedBytesMax = 44;
}
