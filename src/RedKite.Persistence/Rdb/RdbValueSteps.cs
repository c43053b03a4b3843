using RedKite.Store.Keyspace;
using RedKite.Store.Memory;
using RedKite.Store.Values.Arrays;
using RedKite.Store.Values.Hashes;
using RedKite.Store.Values.Lists;
using RedKite.Store.Values.Members;
using RedKite.Store.Values.Packed;
using RedKite.Store.Values.Sets;
using RedKite.Store.Values.SortedSets;

namespace RedKite.Persistence.Rdb;

/// <summary>
/// The bytes of a value in steps of a string or so: writing can stop after any step and go on later. Between the first step and the last
/// the value must not change, and no block of it may move.
/// </summary>
internal struct RdbValueSteps
{
    private readonly RdbType _type;
    private readonly long _earliestExpiryMs; // among a hash's fields
    private readonly long _count;
    private readonly NativeSpan _text; // of a value without a structure
    private bool _begun;
    private bool _isSecondDue; // of a field its value, of a member its score
    private bool _isTimeDue; // after a field's value
    private HashFields _fields;
    private MemberEnumerator _members;
    private ScoreTreePosition _scored;
    private ListNodes _nodes;
    private RdbStreamSteps _stream;
    private RdbVectorSetSteps _vectors;
    private ArrayCursor _elements;
    private ulong _nextIndex; // the lowest one that the next element of an array may have
    private readonly bool _isArray;
    private readonly (ulong Next, ulong Ring) _arrayState;
    private readonly SetView _expiring; // of whose members some expire

    internal RdbValueSteps(RdbType type, Database database, Entry entry, ExpiryClock expiry, long earliestExpiryMs, NativeBuffer scratch)
    {
        _type = type;
        _earliestExpiryMs = earliestExpiryMs;
        switch (type)
        {
            case RdbType.ListOfListPacks:
                _nodes = new ListNodes(entry, scratch);
                _count = _nodes.Count;
                break;
            case RdbType.Set:
                SetView set = SetView.Of(database, entry);
                _members = set.Table.GetEnumerator();
                _count = set.Count;
                break;
            case RdbType.SortedSet:
                var sorted = new SortedSetStructure(database.ArenaOf(entry), database.Hasher, entry.Root);
                _scored = sorted.At(0);
                _count = sorted.Count;
                break;
            case RdbType.Hash or RdbType.HashWithExpiries or RdbType.HashWithTimes:
                HashValue hash = HashValue.Peek(database, entry, expiry);
                _fields = hash.Fields();
                _count = hash.LivingCount;
                break;
            case RdbType.Module when entry.Type == DataType.Set:
                _expiring = SetView.Of(database, entry, expiry, countsLiving: false);
                _members = _expiring.Table.GetEnumerator();
                break;
            case RdbType.Module when entry.Type == DataType.Array:
                ArrayValue array = ArrayValue.Of(database, entry);
                _isArray = true;
                _elements = array.Between(0, ArrayData.IndexMax);
                _arrayState = (array.Next, array.Ring);
                break;
            case RdbType.Module:
                _vectors = new RdbVectorSetSteps(database, entry);
                break;
            case RdbType.StreamOfListPacks3 or RdbType.StreamOfListPacks4:
                _stream = new RdbStreamSteps(type, database, entry, scratch);
                break;
            default:
                _text = new NativeSpan(entry.Value);
                break;
        }
    }

    /// <summary>Writes the next step. A string is the last thing in it.</summary>
    /// <returns>Whether something may be left.</returns>
    internal bool Step(RdbOutput output)
    {
        switch (_type)
        {
            case RdbType.ListOfListPacks:
                return BeginsWithCount(output) || StepNode(output);
            case RdbType.Set:
                return BeginsWithCount(output) || StepMember(output);
            case RdbType.SortedSet:
                return BeginsWithCount(output) || StepScoredMember(output);
            case RdbType.Hash or RdbType.HashWithExpiries or RdbType.HashWithTimes:
                return BeginsWithCount(output) || StepField(output);
            case RdbType.Module when _expiring.IsTable:
                return StepExpiringMember(output);
            case RdbType.Module when _isArray:
                return StepElement(output);
            case RdbType.Module:
                return _vectors.Step(output);
            case RdbType.StreamOfListPacks3 or RdbType.StreamOfListPacks4:
                return _stream.Step(output);
            default:
                if (_type == RdbType.HashListPackWithExpiries) output.Int64(_earliestExpiryMs);
                output.String(_text.Bytes);
                return false;
        }
    }

    // In the form of RdbExpiringSetReader.
    private bool StepExpiringMember(RdbOutput output)
    {
        if (!_begun)
        {
            _begun = true;
            output.Length(RdbModule.ExpiringSet);
            return true;
        }

        while (_members.MoveNext())
        {
            if (_expiring.IsExpired(_members.Current)) continue;
            long expiryMs = SetView.ExpiryAt(_members.Current);
            RdbModule.WriteUnsigned(output, expiryMs == long.MaxValue ? 0 : (ulong)expiryMs);
            RdbModule.WriteString(output, SetView.MemberAt(_members.Current));
            return true;
        }

        RdbModule.WriteEnd(output);
        return false;
    }

    // In the form of RdbArrayReader.
    private bool StepElement(RdbOutput output)
    {
        if (!_begun)
        {
            _begun = true;
            output.Length(RdbModule.Array);
            RdbModule.WriteUnsigned(output, _arrayState.Next);
            RdbModule.WriteUnsigned(output, _arrayState.Ring);
            return true;
        }

        if (!_elements.MoveNext())
        {
            RdbModule.WriteEnd(output);
            return false;
        }

        RdbModule.WriteUnsigned(output, _elements.Index - _nextIndex);
        _nextIndex = _elements.Index + 1;
        RdbModule.WriteString(output, _elements.Element.Bytes(stackalloc byte[CanonicalInteger.TextBytesMax]));
        return true;
    }

    private bool BeginsWithCount(RdbOutput output)
    {
        if (_begun) return false;
        _begun = true;
        if (_type == RdbType.HashWithExpiries) output.Int64(_earliestExpiryMs);
        output.Length(_count);
        return true;
    }

    private bool StepNode(RdbOutput output)
    {
        if (!_nodes.MoveNext()) return false;
        output.Length(RdbFormat.PackedNode);
        output.String(_nodes.Current);
        return true;
    }

    private bool StepMember(RdbOutput output)
    {
        if (!_members.MoveNext()) return false;
        output.String(SetView.MemberAt(_members.Current));
        return true;
    }

    private bool StepScoredMember(RdbOutput output)
    {
        if (_isSecondDue)
        {
            output.Double(_scored.Score);
            _scored.MoveNext();
            _isSecondDue = false;
        }

        if (!_scored.Exists) return false;
        output.String(_scored.Member);
        _isSecondDue = true;
        return true;
    }

    private bool StepField(RdbOutput output)
    {
        Span<byte> digits = stackalloc byte[CanonicalInteger.TextBytesMax];
        if (_isSecondDue)
        {
            output.String(_fields.Value.Bytes(digits));
            _isSecondDue = false;
            _isTimeDue = _type == RdbType.HashWithTimes;
            return true;
        }

        if (_isTimeDue) output.Int64(_fields.ExpiryMs == long.MaxValue ? RdbHashReader.NoTime : _fields.ExpiryMs);
        _isTimeDue = false;
        if (!_fields.MoveNext()) return false;

        // 0: no expiry.
        if (_type == RdbType.HashWithExpiries) output.Length(_fields.ExpiryMs == long.MaxValue ? 0 : _fields.ExpiryMs - _earliestExpiryMs + 1);
        output.String(_fields.Field.Bytes(digits));
        _isSecondDue = true;
        return true;
    }
}
