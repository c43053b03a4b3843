namespace RedKite.Json.Store;

/// <summary>The items of a container, one after the other.</summary>
internal unsafe struct JsonItems
{
    private readonly bool _isObject;
    private readonly JsonChunk* _chunksEnd;
    private JsonChunk* _nextChunk;
    private byte* _item;  // its name, in an object
    private byte* _value;
    private byte* _next;
    private byte* _end;

    internal JsonItems(JsonValue container)
    {
        byte* at = container.Address;
        Ordinal = -1;
        if (*at != JsonTag.Reference)
        {
            _isObject = JsonTag.IsInlineObject(*at);
            _next = JsonTag.ItemsOf(at, out _end);
            return;
        }

        JsonBlock* block = JsonTag.BlockOf(at);
        _isObject = block->IsObject;
        _nextChunk = JsonBlock.ChunksOf(block);
        _chunksEnd = _nextChunk + block->Chunks;
    }

    /// <summary>Which item is the current one.</summary>
    internal int Ordinal { get; private set; }

    internal readonly bool IsObject => _isObject;

    internal readonly JsonValue Value => new(_value);

    /// <summary>The current item with its name.</summary>
    internal readonly ReadOnlySpan<byte> Bytes => new(_item, (int)(_next - _item));

    /// <summary>The name of the current member.</summary>
    internal readonly ReadOnlySpan<byte> Name(JsonNames names) => names.TextOf(_item);

    internal bool MoveNext()
    {
        while (_next == _end)
        {
            if (_nextChunk == _chunksEnd) return false;
            Enter(*_nextChunk++);
        }

        _item = _next;
        _value = _isObject ? _item + JsonTag.NameBytes(_item) : _item;
        _next = _value + JsonTag.Bytes(_value);
        Ordinal++;
        return true;
    }

    /// <summary>Moves to an item by its ordinal, from the beginning. Chunks are passed at once.</summary>
    internal bool Skip(long ordinal)
    {
        while (_nextChunk != _chunksEnd && Ordinal + 1 + _nextChunk->Count <= ordinal) Ordinal += (int)_nextChunk++->Count;
        while (MoveNext())
        {
            if (Ordinal == ordinal) return true;
        }

        return false;
    }

    /// <summary>Moves to the member with a name.</summary>
    internal bool Find(ReadOnlySpan<byte> name, int shared)
    {
        int length = name.Length;
        int sharedCode = shared < 0 ? -1 : JsonTag.SharedName + shared;
        fixed (byte* text = name)
        {
            while (MoveNext())
            {
                byte first = *_item;
                if (first == length && first <= JsonTag.ShortNameMax)
                {
                    if (new ReadOnlySpan<byte>(_item + 1, length).SequenceEqual(new ReadOnlySpan<byte>(text, length))) return true;
                }
                else if (first == sharedCode)
                {
                    return true;
                }
                else if (first == JsonTag.LongName && length > JsonTag.ShortNameMax)
                {
                    if (default(JsonNames).TextOf(_item).SequenceEqual(name)) return true;
                }
            }
        }

        return false;
    }

    private void Enter(in JsonChunk chunk)
    {
        _next = chunk.Items;
        _end = chunk.End;
    }
}
