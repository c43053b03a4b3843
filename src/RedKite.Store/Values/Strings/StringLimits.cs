namespace RedKite.Store.Values.Strings;

/// <summary>What is told apart of strings.</summary>
internal static class StringLimits
{
    /// <summary>The longest string that counts as embedded, as in Redis.</summary>
    internal const int EmbeddedBytesMax = 44;
}
