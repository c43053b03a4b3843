using System.Runtime.CompilerServices;

namespace RedKite.Store.Values.Streams;

/// <summary>
/// Iterates over the existing entries of a stream between two ids, in either direction. Nodes are only read forwards, so a backward
/// iteration reads a part of a node ahead and returns it in reverse. Valid until the stream changes.
/// </summary>
internal unsafe ref struct StreamCursor
{
    private readonly StreamData* _data;
    private readonly StreamId _low;
    private readonly StreamId _high;
    private readonly bool _reverse;
    private IdTree.IdPosition _position;
    private StreamNodeReader _reader;
    private bool _inNode;

    // Of a walk back: entries that were read and not given yet, and the id below which the node still has some.
    private Positions _ahead;
    private int _aheadCount;
    private int _aheadFirst; // the ring's oldest
    private StreamId _below;
    private bool _hasBelow;

    /// <param name="data">The stream.</param>
    /// <param name="low">The lowest id.</param>
    /// <param name="high">The highest id.</param>
    /// <param name="reverse">From the highest to the lowest.</param>
    internal StreamCursor(StreamData* data, in StreamId low, in StreamId high, bool reverse)
    {
        _data = data;
        _low = low;
        _high = high;
        _reverse = reverse;
        if (data->Length == 0 || low > high) return;
        if (reverse)
        {
            _inNode = data->Nodes.SeekFloor(high, out _position);
            _below = high;
            _hasBelow = true;
            return;
        }

        // The first entry may be in the node that begins at or below it.
        _inNode = data->Nodes.SeekFloor(low, out _position) || data->Nodes.SeekFirst(out _position);
        if (_inNode) _reader = new StreamNodeReader(*(byte**)_position.Value, _position.Id);
    }

    /// <summary>The id of the entry that the cursor is on.</summary>
    internal readonly StreamId Id => _reader.Id;

    /// <summary>The fields of the entry that the cursor is on.</summary>
    internal readonly StreamFields Fields => _reader.Fields;

    internal bool MoveNext() => _reverse ? MoveBack() : MoveForth();

    private bool MoveForth()
    {
        while (_inNode)
        {
            while (_reader.MoveNext())
            {
                if (_reader.IsDeleted) continue;
                StreamId id = _reader.Id;
                if (id > _high) return _inNode = false;
                if (id >= _low) return true;
            }

            _inNode = _data->Nodes.MoveNext(ref _position);
            if (_inNode) _reader = new StreamNodeReader(*(byte**)_position.Value, _position.Id);
        }

        return false;
    }

    private bool MoveBack()
    {
        while (true)
        {
            if (_aheadCount > 0)
            {
                Position position = _ahead[(_aheadFirst + --_aheadCount) % Positions.Length];
                _reader = new StreamNodeReader(*(byte**)_position.Value, position.Entry, position.Id);
                return true;
            }

            if (!_inNode) return false;
            if (_hasBelow && ReadAhead()) continue;
            if (_position.Id <= _low) return _inNode = false;
            _inNode = _data->Nodes.MovePrevious(ref _position);
            _below = StreamId.Max;
            _hasBelow = true;
        }
    }

    // Reads the node up to the bound and keeps the last entries; false when there are none.
    private bool ReadAhead()
    {
        _aheadFirst = 0;
        var reader = new StreamNodeReader(*(byte**)_position.Value, _position.Id);
        while (reader.MoveNext())
        {
            if (reader.IsDeleted) continue;
            StreamId id = reader.Id;
            if (id > _below) break;
            if (id < _low) continue;
            int index = (_aheadFirst + _aheadCount) % Positions.Length;
            _ahead[index] = new Position { Id = id, Entry = reader.Entry };
            if (_aheadCount < Positions.Length) _aheadCount++;
            else _aheadFirst = (_aheadFirst + 1) % Positions.Length;
        }

        // A ring that did not fill up holds all that there is.
        _hasBelow = _aheadCount == Positions.Length && _ahead[_aheadFirst].Id.TryPrevious(out _below);
        return _aheadCount > 0;
    }

    private struct Position
    {
        internal StreamId Id;
        internal int Entry;
    }

    [InlineArray(Length)]
    private struct Positions
    {
        internal const int Length = 16;

        private Position _first;
    }
}
