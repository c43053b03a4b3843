using System.Diagnostics;
using System.Runtime.CompilerServices;
using RedKite.Store.Values.Packed;

namespace RedKite.Store.Values.Streams;

/// <summary>
/// Consecutive entries of a stream in one block. An id is stored as its distance from the previous entry, and field names once for
/// all entries that have the same names as the first.
/// <code>
///  0 u32 bytes of the node              12 u32 entries deleted
///  4 u32 bytes in Redis's packed list   16 u32 offset of the entries
///  8 u32 existing entries               20 names: their number (varint), then each as literal text
///
/// entry: header, distances (depending on the header), bytes of the body (varint), body
///   header: bit 0 deleted, bit 1 has its own names, bits 2..7 the id:
///     0     the same time, the next sequence        3     varints: ms later, then the sequence
///     1     varint: ms later, with sequence 0       4..63 3 less: ms later, with sequence 0
///     2     varint: by how much the sequence grows
///   body: a value for each of the node's names, or the number of pairs (varint) and then alternating names and values
/// </code>
/// The node's key is its first entry's id, which is stored as the successor of a sequence less. Deleted entries stay until all
/// entries of a node are deleted. The second word makes nodes end where Redis's would: there stream-node-max-bytes limits the
/// bytes of a packed list, in which every element carries its length twice.
/// </summary>
/// <remarks>Entries are only read forwards: the length before each entry lets a reader skip a hundred entries quickly.</remarks>
internal static unsafe class StreamNode
{
    internal const int HeaderBytes = 20;

    internal const byte Deleted = 1;
    internal const byte OwnNames = 2;

    internal const int NextSequence = 0;
    internal const int Later = 1;
    internal const int SequenceGrows = 2;
    internal const int LaterWithSequence = 3;
    internal const int LittleLater = 3;   // added to 1 to 60 ms
    internal const int LittleLaterMax = 60;

    // The bytes around a packed list's elements, and the zero after the names.
    private const int ListPackFixedBytes = 7 + 2;

    /// <summary>Bytes of the node, the allocated size of its block.</summary>
    internal static ref int Bytes(byte* node) => ref *(int*)node;

    /// <summary>The size of names and entries in Redis's packed list, without the numbers before them.</summary>
    internal static ref uint ListPackBytes(byte* node) => ref *(uint*)(node + 4);

    /// <summary>Entries that are not deleted.</summary>
    internal static ref int Alive(byte* node) => ref *(int*)(node + 8);

    internal static ref int DeletedCount(byte* node) => ref *(int*)(node + 12);

    internal static ref int EntriesAt(byte* node) => ref *(int*)(node + 16);

    /// <summary>Bytes that the node's packed list would have in Redis.</summary>
    internal static long WholeListPackBytes(byte* node) =>
        ListPackFixedBytes + PackedList.ElementBytes(Alive(node)) + PackedList.ElementBytes(DeletedCount(node)) + (long)ListPackBytes(node);

    /// <summary>The number of names that the first entry has, and where they begin.</summary>
    internal static int NameCount(byte* node, out byte* names)
    {
        names = Varint.Read(node + HeaderBytes, out ulong count);
        return (int)count;
    }

    /// <summary>Where the first entry's values begin.</summary>
    internal static byte* FirstBody(byte* node) => Varint.Read(node + EntriesAt(node) + 1, out _); // its id needs no distances

    /// <summary>The size of an entry in Redis's packed list without its names and values.</summary>
    /// <param name="key">The node's key.</param>
    /// <param name="id">The entry's id.</param>
    /// <param name="pairs">How many fields it has.</param>
    /// <param name="ownNames">Whether it has its own names.</param>
    internal static int ListPackBytesAround(in StreamId key, in StreamId id, int pairs, bool ownNames)
    {
        int flags = PackedList.ElementBytes(0);
        int distances = PackedList.ElementBytes((long)(id.Ms - key.Ms)) + PackedList.ElementBytes((long)(id.Sequence - key.Sequence));
        return flags + distances + (ownNames
            ? PackedList.ElementBytes(pairs) + PackedList.ElementBytes((2L * pairs) + 4)
            : PackedList.ElementBytes(pairs + 3L));
    }

    /// <summary>Writes an entry's head and distances.</summary>
    internal static byte* WriteHead(byte* at, in StreamId before, in StreamId id, bool ownNames)
    {
        byte* head = at++;
        ulong later = id.Ms - before.Ms;
        int form;
        if (later == 0)
        {
            // Wraps where a node's first entry has sequence 0.
            ulong grows = id.Sequence - before.Sequence;
            form = grows == 1 ? NextSequence : SequenceGrows;
            if (grows != 1) at = Varint.Write(at, grows);
        }
        else if (id.Sequence != 0)
        {
            form = LaterWithSequence;
            at = Varint.Write(Varint.Write(at, later), id.Sequence);
        }
        else if (later <= LittleLaterMax)
        {
            form = LittleLater + (int)later;
        }
        else
        {
            form = Later;
            at = Varint.Write(at, later);
        }

        *head = (byte)((form << 2) | (ownNames ? OwnNames : 0));
        return at;
    }
}

/// <summary>Reads a node's entries one after the other, deleted ones too.</summary>
internal unsafe struct StreamNodeReader
{
    private readonly byte* _node;
    private readonly byte* _end;
    private byte* _entry;
    private byte* _body;
    private byte* _next;
    private ulong _ms;
    private ulong _sequence;

    internal StreamNodeReader(byte* node, in StreamId key)
    {
        _node = node;
        _end = node + StreamNode.Bytes(node);
        _next = node + StreamNode.EntriesAt(node);
        _ms = key.Ms;
        _sequence = key.Sequence - 1;
    }

    /// <summary>A reader positioned at an entry.</summary>
    internal StreamNodeReader(byte* node, int entry, in StreamId id)
    {
        _node = node;
        _end = node + StreamNode.Bytes(node);
        _ms = id.Ms;
        _sequence = id.Sequence;
        _entry = node + entry;
        _next = _entry;
        ReadEntry(moves: false);
    }

    internal readonly StreamId Id => new(_ms, _sequence);

    internal readonly bool IsDeleted => (*_entry & StreamNode.Deleted) != 0;

    internal readonly byte* Node => _node;

    /// <summary>The entry's offset in the node.</summary>
    internal readonly int Entry => (int)(_entry - _node);

    internal bool MoveNext()
    {
        if (_next == _end) return false;
        _entry = _next;
        ReadEntry(moves: true);
        return true;
    }

    internal readonly void MarkDeleted()
    {
        Debug.Assert(!IsDeleted, "An entry is deleted once.");
        *_entry |= StreamNode.Deleted;
        StreamNode.Alive(_node)--;
        StreamNode.DeletedCount(_node)++;
    }

    /// <summary>The entry's fields.</summary>
    internal readonly StreamFields Fields => new(_node, _body, (*_entry & StreamNode.OwnNames) != 0);

    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    private void ReadEntry(bool moves)
    {
        int form = *_next++ >> 2;
        (ulong ms, ulong sequence) = (_ms, _sequence);
        switch (form)
        {
            case StreamNode.NextSequence:
                sequence++;
                break;
            case StreamNode.Later:
                _next = Varint.Read(_next, out ulong later);
                ms += later;
                sequence = 0;
                break;
            case StreamNode.SequenceGrows:
                _next = Varint.Read(_next, out ulong grows);
                sequence += grows;
                break;
            case StreamNode.LaterWithSequence:
                _next = Varint.Read(_next, out ulong laterToo);
                _next = Varint.Read(_next, out sequence);
                ms += laterToo;
                break;
            default:
                ms += (ulong)(form - StreamNode.LittleLater);
                sequence = 0;
                break;
        }

        if (moves) (_ms, _sequence) = (ms, sequence);
        _body = Varint.Read(_next, out ulong bytes);
        _next = _body + bytes;
    }
}

/// <summary>The fields of an entry, name and value in turn.</summary>
internal unsafe ref struct StreamFields
{
    private readonly bool _ownNames;
    private byte* _names;
    private byte* _values;
    private byte* _firstValues; // the first entry's

    internal StreamFields(byte* node, byte* body, bool ownNames)
    {
        _ownNames = ownNames;
        _values = body;
        if (ownNames)
        {
            _values = Varint.Read(body, out ulong pairs);
            Count = (int)pairs;
            return;
        }

        Count = StreamNode.NameCount(node, out _names);
        _firstValues = StreamNode.FirstBody(node);
    }

    /// <summary>How many fields there are.</summary>
    internal int Count { get; }

    /// <summary>Whether the entry has names of its own, other ones than the node's.</summary>
    internal readonly bool HasOwnNames => _ownNames;

    /// <summary>The next field's name.</summary>
    internal CompactText Name()
    {
        CompactText name;
        if (_ownNames) _values = CompactText.Read(_values, out name);
        else _names = CompactText.Read(_names, out name);
        return name;
    }

    /// <summary>The value of the field whose name came last.</summary>
    internal CompactText Value()
    {
        CompactText value;
        if (_ownNames)
        {
            _values = CompactText.Read(_values, out value);
            return value;
        }

        if (*_values == CompactText.SameAsFirst)
        {
            _values++;
            _firstValues = CompactText.Read(_firstValues, out value);
            return value;
        }

        _firstValues = CompactText.Skip(_firstValues);
        _values = CompactText.Read(_values, out value);
        return value;
    }
}
