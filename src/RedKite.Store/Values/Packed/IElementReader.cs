namespace RedKite.Store.Values.Packed;

/// <summary>Reads consecutive packed elements of any format.</summary>
internal interface IElementReader
{
    bool MoveNext();

    /// <summary>The element's bytes; a number's are written into <paramref name="digits"/>, of <see cref="CanonicalInteger.TextBytesMax"/> bytes.</summary>
    ReadOnlySpan<byte> Bytes(Span<byte> digits);
}
