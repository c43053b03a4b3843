using RedKite.Protocol;
using RedKite.Store.Keyspace;
using RedKite.Store.Values.Strings;

namespace RedKite.Server.Model;

/// <summary>The encoding that OBJECT ENCODING reports for a string that was written as a whole.</summary>
internal static class StringEncoding
{
    /// <summary>The longest string that counts as embedded, as in Redis.</summary>
    internal const int EmbeddedBytesMax = StringLimits.EmbeddedBytesMax;

    internal static ValueEncoding Of(ReadOnlySpan<byte> value)
    {
        if (value.Length is > 0 and <= RespNumber.Int64TextMax && value[0] <= (byte)'9' && RespNumber.TryParseInt64(value, out _)) return ValueEncoding.Integer;
        return value.Length <= EmbeddedBytesMax ? ValueEncoding.Embedded : ValueEncoding.Raw;
    }
}
