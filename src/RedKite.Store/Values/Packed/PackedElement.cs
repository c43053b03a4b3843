namespace RedKite.Store.Values.Packed;

/// <summary>An element of a <see cref="PackedList"/> as it is kept: text, or a number whose text is canonical.</summary>
internal readonly unsafe struct PackedElement
{
    private readonly byte* _text; // null: a number

    internal PackedElement(long number) => Number = number;

    internal PackedElement(byte* text, int length)
    {
        _text = text;
        TextLength = length;
    }

    internal bool IsNumber => _text == null;

    internal long Number { get; }

    internal int TextLength { get; }

    /// <summary>Where the text is; a number's is written into a buffer of at least <see cref="CanonicalInteger.TextBytesMax"/> bytes.</summary>
    internal byte* Text(byte* digits, out int length)
    {
        length = TextLength;
        if (!IsNumber) return _text;
        length = CanonicalInteger.Format(Number, new Span<byte>(digits, CanonicalInteger.TextBytesMax));
        return digits;
    }

    /// <summary>The element's bytes; a number's are written into <paramref name="buffer"/>, of at least <see cref="CanonicalInteger.TextBytesMax"/> bytes.</summary>
    internal ReadOnlySpan<byte> Bytes(Span<byte> buffer) =>
        IsNumber ? buffer[..CanonicalInteger.Format(Number, buffer)] : new ReadOnlySpan<byte>(_text, TextLength);

    internal bool Equals(ReadOnlySpan<byte> bytes)
    {
        if (!IsNumber) return TextLength == bytes.Length && new ReadOnlySpan<byte>(_text, TextLength).SequenceEqual(bytes);
        return CanonicalInteger.TryParse(bytes, out long number) && number == Number;
    }
}
