namespace RedKite.Ladder.Stages;

/// <summary>A hash of bytes that nobody outside this process can foresee.</summary>
internal static class BytesHash
{
    internal static int Of(ReadOnlySpan<byte> bytes)
    {
        var hash = new HashCode();
        hash.AddBytes(bytes);
        return hash.ToHashCode();
    }
}
