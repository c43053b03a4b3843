using System.Buffers.Binary;

namespace RedKite.TimeSeries.Store;

/// <summary>The labels of a series: for each the lengths of name and value, 4 bytes each, and the two texts.</summary>
internal readonly ref struct SeriesLabels(ReadOnlySpan<byte> bytes)
{
    internal const int HeadBytes = 8;

    /// <summary>The labels of a series, at most: indexes copy them with the key locked.</summary>
    internal const int BytesMax = 64 << 10;

    /// <summary>Those that a request gives: a compaction has two more.</summary>
    internal const int GivenBytesMax = BytesMax - 128;

    private readonly ReadOnlySpan<byte> _bytes = bytes;

    internal ReadOnlySpan<byte> Bytes => _bytes;

    internal int Count
    {
        get
        {
            int count = 0;
            foreach (Label _ in this) count++;
            return count;
        }
    }

    internal bool TryFind(ReadOnlySpan<byte> name, out ReadOnlySpan<byte> value)
    {
        foreach (Label label in this)
        {
            if (!label.Name.SequenceEqual(name)) continue;
            value = label.Value;
            return true;
        }

        value = default;
        return false;
    }

    /// <summary>Whether bytes from a file are labels.</summary>
    internal static bool AreValid(ReadOnlySpan<byte> bytes)
    {
        if (bytes.Length > BytesMax) return false;
        while (!bytes.IsEmpty)
        {
            if (bytes.Length < HeadBytes) return false;
            int name = BinaryPrimitives.ReadInt32LittleEndian(bytes), value = BinaryPrimitives.ReadInt32LittleEndian(bytes[4..]);
            if (name < 0 || value < 0 || (long)name + value > bytes.Length - HeadBytes) return false;
            bytes = bytes[(HeadBytes + name + value)..];
        }

        return true;
    }

    public Enumerator GetEnumerator() => new(_bytes);

    internal readonly ref struct Label(ReadOnlySpan<byte> name, ReadOnlySpan<byte> value)
    {
        internal readonly ReadOnlySpan<byte> Name = name;
        internal readonly ReadOnlySpan<byte> Value = value;
    }

    internal ref struct Enumerator(ReadOnlySpan<byte> bytes)
    {
        private ReadOnlySpan<byte> _left = bytes;
        private ReadOnlySpan<byte> _name;
        private ReadOnlySpan<byte> _value;

        public readonly Label Current => new(_name, _value);

        public bool MoveNext()
        {
            if (_left.IsEmpty) return false;
            int name = BinaryPrimitives.ReadInt32LittleEndian(_left), value = BinaryPrimitives.ReadInt32LittleEndian(_left[4..]);
            _name = _left.Slice(HeadBytes, name);
            _value = _left.Slice(HeadBytes + name, value);
            _left = _left[(HeadBytes + name + value)..];
            return true;
        }
    }
}
