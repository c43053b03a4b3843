namespace RedKite.Store.Values.Packed;

/// <summary>
/// Reads the elements of an untrusted packed list at any address, from the front. The list is checked as a
/// whole when it is opened, so reading cannot fail.
/// </summary>
internal unsafe ref struct PackedListReader : IElementReader
{
    private readonly ReadOnlySpan<byte> _bytes;
    private int _current;
    private int _next;

    private PackedListReader(ReadOnlySpan<byte> bytes, int count, bool statesCount)
    {
        _bytes = bytes;
        _next = PackedList.Start;
        Count = count;
        StatesCount = statesCount;
    }

    /// <summary>Elements of the whole list.</summary>
    internal int Count { get; }

    /// <summary>Whether the list states that number, or none.</summary>
    internal bool StatesCount { get; }

    /// <summary>Opens a list, if the bytes are a valid one.</summary>
    internal static bool TryOpen(ReadOnlySpan<byte> bytes, out PackedListReader reader)
    {
        bool sound = PackedList.IsSound(bytes, out int count, out bool statesCount);
        reader = sound ? new PackedListReader(bytes, count, statesCount) : default;
        return sound;
    }

    public bool MoveNext()
    {
        if (_next >= _bytes.Length - 1) return false;
        _current = _next;
        fixed (byte* list = _bytes) _next = PackedList.Next(list, _current);
        return true;
    }

    /// <summary>The element's bytes; a number's are written into <paramref name="digits"/>, of <see cref="CanonicalInteger.TextBytesMax"/> bytes.</summary>
    public readonly ReadOnlySpan<byte> Bytes(Span<byte> digits)
    {
        fixed (byte* list = _bytes)
        {
            PackedElement element = PackedList.Read(list, _current);
            if (element.IsNumber) return element.Bytes(digits);
            byte* text = element.Text(null, out int length);
            return _bytes.Slice((int)(text - list), length);
        }
    }

    /// <summary>The length of the element as text.</summary>
    internal readonly int TextLength
    {
        get
        {
            Span<byte> digits = stackalloc byte[CanonicalInteger.TextBytesMax];
            return Bytes(digits).Length;
        }
    }

    /// <summary>The element as a number, whether it is kept as one or as text.</summary>
    internal readonly bool TryNumber(out long number)
    {
        fixed (byte* list = _bytes)
        {
            PackedElement element = PackedList.Read(list, _current);
            number = element.Number;
            return element.IsNumber || CanonicalInteger.TryParse(element.Bytes(default), out number);
        }
    }

    /// <summary>Goes to the next element, which is a number.</summary>
    internal bool TryNextNumber(out long number)
    {
        number = 0;
        return MoveNext() && TryNumber(out number);
    }
}
