using System.Diagnostics.CodeAnalysis;
using System.Runtime.CompilerServices;
using RedKite.Store.Values.Packed;

namespace RedKite.Store.Values.Lists;

/// <summary>
/// Reads the elements of a list of any encoding in order, in either direction. The list must not change meanwhile, and the thread
/// must not use another reader. <see cref="Current"/> is valid until the next step.
/// </summary>
internal unsafe ref struct ListReader
{
    // The group of a compact list that is being read: one reader at a time on a thread, so that a reader stays small.
    [ThreadStatic]
    private static byte[]? _groupText;

    private readonly bool _backwards;
    private QuickListPosition _position; // the node; none for a single packed list
    private byte* _list;           // the packed list; null while a compact one is read
    private int _offset;           // of the next element
    private int _group;            // of the compact list
    private int _inGroup;          // the element's index in the group
    private int _groupCount;
    private long _left;
    private bool _begun;
    private PackedElement _element;
    private Digits _digits;
    private byte[]? _text;
    private GroupEnds _ends;

    /// <summary>A reader over one packed list.</summary>
    internal ListReader(byte* list, long index, long count, bool backwards)
    {
        _list = list;
        _left = count;
        _backwards = backwards;
        _offset = PackedList.At(list, (int)index);
    }

    /// <summary>A reader over the nodes of a long list.</summary>
    internal ListReader(QuickListPosition position, long count, bool backwards)
    {
        _position = position;
        _left = count;
        _backwards = backwards;
        EnterNode(position.Index);
    }

    /// <summary>The element's bytes.</summary>
    [UnscopedRef]
    internal ReadOnlySpan<byte> Current
    {
        get
        {
            if (_list != null) return _element.Bytes(_digits);
            int start = _inGroup == 0 ? 0 : _ends[_inGroup - 1];
            return _text.AsSpan(start, _ends[_inGroup] - start);
        }
    }

    /// <summary>Whether the element is equal to a value.</summary>
    internal readonly bool CurrentIs(in ListNeedle value)
    {
        if (_list == null)
        {
            int start = _inGroup == 0 ? 0 : _ends[_inGroup - 1];
            return _text.AsSpan(start, _ends[_inGroup] - start).SequenceEqual(value.Bytes);
        }

        return _element.IsNumber ? value.IsNumber && value.Number == _element.Number : !value.IsNumber && _element.Equals(value.Bytes);
    }

    /// <summary>Goes to the first element, or to the next one.</summary>
    internal bool MoveNext()
    {
        if (_left-- <= 0) return false;
        if (_begun) Step();
        _begun = true;
        if (_list != null) _element = PackedList.Read(_list, _offset);
        return true;
    }

    /// <summary>Moves to the next element that is equal to a value.</summary>
    /// <returns>The number of elements that it moved, including that one; 0 if there is none.</returns>
    internal long MoveTo(in ListNeedle value)
    {
        long passed = 0;
        while (MoveNext())
        {
            passed++;
            if (_list == null && IsAtEdgeOfNode() && !CompactList.Contains(_position.Node->Block, value.Bytes))
            {
                passed += SkipNode();
                continue;
            }

            if (CurrentIs(value)) return passed;
            if (_list != null && !_backwards && value.Head != 0) passed += SkipOthers(value);
        }

        return 0;
    }

    // Whether a compact list was entered just now.
    private readonly bool IsAtEdgeOfNode()
    {
        int index = (_group * CompactList.GroupElements) + _inGroup;
        return index == (_backwards ? _position.Node->Count - 1 : 0);
    }

    // To the other edge of a compact list, without looking at its elements.
    private long SkipNode()
    {
        int count = _position.Node->Count;
        long skipped = Math.Min(_left, count - 1);
        int index = _backwards ? 0 : count - 1;
        _group = index / CompactList.GroupElements;
        _inGroup = index % CompactList.GroupElements;
        _groupCount = _inGroup + 1;
        _left -= skipped;
        return skipped;
    }

    // Over short elements of a packed list that are not equal, to the last one of them.
    private long SkipOthers(in ListNeedle value)
    {
        byte* list = _list;
        int offset = _offset;
        long left = _left;
        while (left > 0)
        {
            int bytes = ShortElementBytes(list[offset]);
            int next = list[offset + bytes];
            if (bytes == 0 || ShortElementBytes(next) == 0) break;
            if (next == value.Head && new ReadOnlySpan<byte>(list + offset + bytes + 1, value.Bytes.Length).SequenceEqual(value.Bytes)) break;
            offset += bytes;
            left--;
        }

        long skipped = _left - left;
        _left = left;
        _offset = offset;
        return skipped;
    }

    // The size of a number up to 127 or a text of up to 63 bytes, with the byte after it; 0 for other elements and for the end.
    private static int ShortElementBytes(int head) => head < 0x80 ? 2 : head < 0xC0 ? head - 0x80 + 2 : 0;

    private void Step()
    {
        if (_list != null)
        {
            _offset = _backwards ? PackedList.Previous(_list, _offset) : PackedList.Next(_list, _offset);
            if (_offset >= 0 && !PackedList.IsEnd(_list, _offset)) return;
        }
        else
        {
            _inGroup += _backwards ? -1 : 1;
            if ((uint)_inGroup < (uint)_groupCount) return;
            int group = _group + (_backwards ? -1 : 1);
            int count = CompactList.Count(_position.Node->Block);
            if (group >= 0 && group * CompactList.GroupElements < count)
            {
                EnterGroup(group, _backwards ? CompactList.GroupElements - 1 : 0);
                return;
            }
        }

        _position = _backwards ? _position.PreviousNode : _position.NextNode;
        EnterNode(_backwards ? _position.Node->Count - 1 : 0);
    }

    private void EnterNode(int index)
    {
        QuickListNode* node = _position.Node;
        if (node->IsCompact)
        {
            _list = null;
            EnterGroup(index / CompactList.GroupElements, index % CompactList.GroupElements);
            return;
        }

        _list = node->List;
        _offset = PackedList.At(_list, index);
    }

    private void EnterGroup(int group, int index)
    {
        _group = group;
        _text ??= _groupText ??= new byte[CompactList.GroupBytesMax];
        _groupCount = CompactList.ReadGroup(_position.Node->Block, group, _text, _ends);
        _inGroup = index;
    }

    [InlineArray(CanonicalInteger.TextBytesMax)]
    private struct Digits
    {
        private byte _first;
    }

    [InlineArray(CompactList.GroupElements)]
    private struct GroupEnds
    {
        private ushort _first;
    }
}

/// <summary>A value that a list's elements are compared with.</summary>
internal readonly ref struct ListNeedle
{
    internal ListNeedle(ReadOnlySpan<byte> bytes)
    {
        Bytes = bytes;
        IsNumber = CanonicalInteger.TryParse(bytes, out long number);
        Number = number;
    }

    internal ReadOnlySpan<byte> Bytes { get; }

    /// <summary>The byte that precedes these bytes in a packed list, if they are a short text; otherwise 0.</summary>
    internal byte Head => IsNumber || Bytes.Length > 63 ? (byte)0 : (byte)(0x80 | Bytes.Length);

    internal bool IsNumber { get; }

    internal long Number { get; }
}
