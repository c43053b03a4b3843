using System.Buffers.Text;

namespace RedKite.Store.Values.Streams;

/// <summary>The id of a stream's entry: a time in milliseconds and a number within it, each of 64 bits, ordered in that order.</summary>
internal readonly struct StreamId : IEquatable<StreamId>, IComparable<StreamId>
{
    /// <summary>The longest text of an id.</summary>
    internal const int TextMax = 41;

    internal static readonly StreamId Max = new(ulong.MaxValue, ulong.MaxValue);

    internal StreamId(ulong ms, ulong sequence)
    {
        Ms = ms;
        Sequence = sequence;
    }

    internal ulong Ms { get; }

    internal ulong Sequence { get; }

    /// <summary>0-0, which no entry has.</summary>
    internal bool IsZero => (Ms | Sequence) == 0;

    public static bool operator ==(StreamId left, StreamId right) => left.Ms == right.Ms && left.Sequence == right.Sequence;

    public static bool operator !=(StreamId left, StreamId right) => !(left == right);

    public static bool operator <(StreamId left, StreamId right) => left.Ms < right.Ms || (left.Ms == right.Ms && left.Sequence < right.Sequence);

    public static bool operator >(StreamId left, StreamId right) => right < left;

    public static bool operator <=(StreamId left, StreamId right) => !(right < left);

    public static bool operator >=(StreamId left, StreamId right) => !(left < right);

    /// <summary>The id that follows; false for the last one there is.</summary>
    internal bool TryNext(out StreamId next)
    {
        bool exists = this != Max; // before the result, which may be written over this very id
        next = Sequence < ulong.MaxValue ? new StreamId(Ms, Sequence + 1) : new StreamId(Ms + 1, 0);
        return exists;
    }

    /// <summary>The id that comes before; false for 0-0.</summary>
    internal bool TryPrevious(out StreamId previous)
    {
        bool exists = !IsZero;
        previous = Sequence > 0 ? new StreamId(Ms, Sequence - 1) : new StreamId(Ms - 1, ulong.MaxValue);
        return exists;
    }

    /// <summary>Writes both numbers with a hyphen between them; the destination has at least <see cref="TextMax"/> bytes.</summary>
    internal int Format(Span<byte> destination)
    {
        Utf8Formatter.TryFormat(Ms, destination, out int length);
        destination[length++] = (byte)'-';
        Utf8Formatter.TryFormat(Sequence, destination[length..], out int rest);
        return length + rest;
    }

    public int CompareTo(StreamId other) => this < other ? -1 : this == other ? 0 : 1;

    public bool Equals(StreamId other) => this == other;

    public override bool Equals(object? obj) => obj is StreamId other && this == other;

    public override int GetHashCode() => HashCode.Combine(Ms, Sequence);

    public override string ToString() => $"{Ms}-{Sequence}";
}
