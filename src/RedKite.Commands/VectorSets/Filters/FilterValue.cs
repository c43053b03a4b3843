namespace RedKite.Server.Commands.VectorSets.Filters;

/// <summary>The kinds of values of a filter.</summary>
internal enum FilterKind : byte
{
    Null,
    Number,
    String,
    List,

    /// <summary>A field that is not read yet.</summary>
    Unread,
}

/// <summary>A value of a filter: of its text, of an element's attributes, or computed.</summary>
/// <param name="Kind">The kind of the value.</param>
/// <param name="Number">A number's value; of a string, the number that it is, or 0.</param>
/// <param name="Start">Where a string's bytes, or a list's elements, begin in <see cref="FilterMemory"/>.</param>
/// <param name="Length">How many there are.</param>
internal readonly record struct FilterValue(FilterKind Kind, double Number, int Start, int Length)
{
    internal static FilterValue Null => default;

    internal static FilterValue Of(double number) => new(FilterKind.Number, number, 0, 0);

    internal static FilterValue Of(bool condition) => Of(condition ? 1 : 0);
}

/// <summary>The strings and lists of a filter: first those of its text, then those of the attributes that it is applied to.</summary>
internal sealed class FilterMemory
{
    private const int KeptMax = 1 << 16;

    private byte[] _bytes = new byte[128];
    private FilterValue[] _elements = new FilterValue[16];
    private int _constantBytes;
    private int _constantElements;

    internal int ByteCount { get; private set; }

    internal int ElementCount { get; private set; }

    internal ReadOnlySpan<byte> Bytes(in FilterValue value) => _bytes.AsSpan(value.Start, value.Length);

    internal ReadOnlySpan<FilterValue> Elements(in FilterValue value) => _elements.AsSpan(value.Start, value.Length);

    internal void Add(byte b)
    {
        if (ByteCount == _bytes.Length) Array.Resize(ref _bytes, ByteCount * 2);
        _bytes[ByteCount++] = b;
    }

    internal void Add(ReadOnlySpan<byte> bytes)
    {
        if (_bytes.Length - ByteCount < bytes.Length) Array.Resize(ref _bytes, Math.Max(_bytes.Length * 2, ByteCount + bytes.Length));
        bytes.CopyTo(_bytes.AsSpan(ByteCount));
        ByteCount += bytes.Length;
    }

    internal void Add(in FilterValue element)
    {
        if (ElementCount == _elements.Length) Array.Resize(ref _elements, ElementCount * 2);
        _elements[ElementCount++] = element;
    }

    /// <summary>What is there now stays.</summary>
    internal void KeepAll() => (_constantBytes, _constantElements) = (ByteCount, ElementCount);

    /// <summary>Drops what was added since <see cref="KeepAll"/>.</summary>
    internal void Drop()
    {
        (ByteCount, ElementCount) = (_constantBytes, _constantElements);
        if (_bytes.Length > KeptMax + _constantBytes) Array.Resize(ref _bytes, KeptMax + _constantBytes);
        if (_elements.Length > KeptMax + _constantElements) Array.Resize(ref _elements, KeptMax + _constantElements);
    }
}
