using RedKite.Store.Values.Members;
using RedKite.Store.Values.Packed;

namespace RedKite.Store.Values.Hashes;

/// <summary>Enumerates the live fields of a hash, each with its value. Valid until the hash changes.</summary>
internal unsafe struct HashFields
{
    private readonly byte* _list; // null: a table
    private readonly int _elements;
    private readonly long _nowMs;
    private MemberEnumerator _blocks;
    private int _offset;

    /// <summary>The fields of a packed hash from an offset on.</summary>
    internal HashFields(byte* list, int elements, int start)
    {
        _list = list;
        _elements = elements;
        _offset = start;
    }

    /// <summary>The live fields among a table's blocks.</summary>
    internal HashFields(MemberEnumerator blocks, long nowMs)
    {
        _blocks = blocks;
        _nowMs = nowMs;
    }

    private HashFields(PackedElement field, PackedElement value)
    {
        Field = field;
        Value = value;
    }

    internal PackedElement Field { get; private set; }

    internal PackedElement Value { get; private set; }

    /// <summary>When the field expires, in Unix milliseconds; long.MaxValue: it does not.</summary>
    internal long ExpiryMs { get; private set; } = long.MaxValue;

    /// <summary>One field alone, as the current one.</summary>
    internal static HashFields OfBlock(byte* block) => new(HashField.Field(block), HashField.Value(block));

    /// <summary>One field alone, as the current one.</summary>
    internal static HashFields OfElement(byte* list, int offset) =>
        new(PackedList.Read(list, offset), PackedList.Read(list, PackedList.Next(list, offset)));

    internal bool MoveNext()
    {
        if (_list == null) return MoveToNextBlock();
        if (PackedList.IsEnd(_list, _offset)) return false;
        Field = PackedList.Read(_list, _offset);
        _offset = PackedList.Next(_list, _offset);
        Value = PackedList.Read(_list, _offset);
        _offset = PackedList.Next(_list, _offset);
        if (_elements == FieldExpiry.PackedElements)
        {
            long expiryMs = PackedList.Read(_list, _offset).Number;
            ExpiryMs = expiryMs == 0 ? long.MaxValue : expiryMs;
            _offset = PackedList.Next(_list, _offset);
        }

        return true;
    }

    private bool MoveToNextBlock()
    {
        while (_blocks.MoveNext())
        {
            var block = (byte*)_blocks.Current;
            long expiryMs = HashField.Expiry(block);
            if (expiryMs <= _nowMs) continue;
            ExpiryMs = expiryMs;
            Field = HashField.Field(block);
            Value = HashField.Value(block);
            return true;
        }

        return false;
    }
}
