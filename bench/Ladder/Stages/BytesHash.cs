namespace RedKite.Ladder.Stages;

/// <summary>A seeded hash of bytes that a client cannot predict.</summary>
internal static class BytesHash
{
    internal static int Of(ReadOnlySpan<byte> bytes)
    {
        var hash = new HashCode();
        hash.AddBytes(bytes);
        return hash.ToHashCode();
    }
}
