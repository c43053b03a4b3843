using System.Globalization;

namespace RedKite.Server.Commands.VectorSets.Filters;

/// <summary>
/// Finds one field of an element's attributes, which should be a JSON object, without reading more than it has to: what follows the field is
/// not examined, and values that are passed over only as far as needed to find their ends. As in Redis, a field whose value is an object, or
/// that is behind something malformed, is missing, and of a repeated field the first one counts.
/// </summary>
internal ref struct AttributeReader
{
    /// <summary>Lists within lists.</summary>
    internal const int DepthMax = 64;

    private readonly ReadOnlySpan<byte> _json;
    private readonly FilterMemory _memory;
    private int _at;

    private AttributeReader(ReadOnlySpan<byte> json, FilterMemory memory)
    {
        _json = json;
        _memory = memory;
    }

    private readonly byte Here => _at < _json.Length ? _json[_at] : (byte)0;

    /// <summary>Reads a field of an object.</summary>
    /// <param name="memory">Receives strings and lists.</param>
    internal static bool TryRead(ReadOnlySpan<byte> json, ReadOnlySpan<byte> name, FilterMemory memory, out FilterValue value)
    {
        value = default;
        var reader = new AttributeReader(json, memory);
        reader.SkipBlanks();
        if (!reader.TryTake('{')) return false;
        while (true)
        {
            reader.SkipBlanks();
            int start = reader._at + 1;
            if (reader.Here != '"' || !reader.TrySkipString()) return false;
            ReadOnlySpan<byte> key = json[start..(reader._at - 1)];
            reader.SkipBlanks();
            if (!reader.TryTake(':')) return false;
            reader.SkipBlanks();
            if (key.SequenceEqual(name) && !name.IsEmpty) return reader.TryValue(0, out value);
            if (!reader.TrySkipValue()) return false;
            reader.SkipBlanks();
            if (!reader.TryTake(',')) return false;
        }
    }

    /// <summary>Reads a number that is the whole text.</summary>
    internal static bool TryNumber(ReadOnlySpan<byte> text, out double number) =>
        double.TryParse(text, NumberStyles.AllowLeadingSign | NumberStyles.AllowDecimalPoint | NumberStyles.AllowExponent, CultureInfo.InvariantCulture, out number);

    internal static bool IsBlank(byte b) => b is (byte)' ' or (>= (byte)'\t' and <= (byte)'\r');

    private bool TryValue(int depth, out FilterValue value)
    {
        value = default;
        switch (Here)
        {
            case (byte)'"':
                return TryString(out value);
            case (byte)'[':
                return depth < DepthMax && TryList(depth + 1, out value);
            case (byte)'t' or (byte)'f':
                bool condition = Here == 't';
                value = FilterValue.Of(condition);
                return TryWord(condition ? "true"u8 : "false"u8);
            case (byte)'n':
                return TryWord("null"u8);
            default:
                int start = _at;
                while (IsPartOfNumber(Here)) _at++;
                if (_at == start || _json[start] == '.' || !TryNumber(_json[start.._at], out double number)) return false;
                value = FilterValue.Of(number);
                return true;
        }
    }

    private bool TryString(out FilterValue value)
    {
        int start = _memory.ByteCount;
        value = default;
        _at++;
        while (_at < _json.Length && _json[_at] != '"')
        {
            byte b = _json[_at++];
            if (b == '\\')
            {
                if (_at == _json.Length) return false;
                b = _json[_at++] switch
                {
                    (byte)'n' => (byte)'\n',
                    (byte)'r' => (byte)'\r',
                    (byte)'t' => (byte)'\t',
                    byte other => other,
                };
            }

            _memory.Add(b);
        }

        value = new FilterValue(FilterKind.String, 0, start, _memory.ByteCount - start);
        return TryTake('"');
    }

    // The elements of inner lists come first, so the list's own are collected and added at its end.
    private bool TryList(int depth, out FilterValue value)
    {
        value = default;
        _at++;
        List<FilterValue>? apart = null; // of a list with lists inside
        int start = _memory.ElementCount;
        SkipBlanks();
        if (Here == ']')
        {
            _at++;
            value = new FilterValue(FilterKind.List, 0, start, 0);
            return true;
        }

        while (true)
        {
            SkipBlanks();
            if (Here == '[' && apart is null) apart = [.. _memory.Elements(new FilterValue(FilterKind.List, 0, start, _memory.ElementCount - start))];
            if (!TryValue(depth, out FilterValue element)) return false;
            if (apart is null) _memory.Add(element);
            else apart.Add(element);
            SkipBlanks();
            if (TryTake(',')) continue;
            if (!TryTake(']')) return false;
            break;
        }

        if (apart is not null)
        {
            start = _memory.ElementCount;
            foreach (FilterValue element in apart) _memory.Add(element);
        }

        value = new FilterValue(FilterKind.List, 0, start, _memory.ElementCount - start);
        return true;
    }

    private bool TryWord(ReadOnlySpan<byte> word)
    {
        if (!_json[_at..].StartsWith(word)) return false;
        _at += word.Length;
        return !char.IsAsciiLetterOrDigit((char)Here);
    }

    private bool TrySkipValue()
    {
        switch (Here)
        {
            case (byte)'"':
                return TrySkipString();
            case (byte)'{':
                return TrySkipNested('{', '}');
            case (byte)'[':
                return TrySkipNested('[', ']');
            case (byte)'t':
                return TryWord("true"u8);
            case (byte)'f':
                return TryWord("false"u8);
            case (byte)'n':
                return TryWord("null"u8);
            default:
                int start = _at;
                while (IsPartOfNumber(Here)) _at++;
                return _at > start;
        }
    }

    private bool TrySkipString()
    {
        for (_at++; _at < _json.Length && _json[_at] != '"'; _at++)
        {
            if (_json[_at] == '\\') _at++;
        }

        return TryTake('"');
    }

    private bool TrySkipNested(char opening, char closing)
    {
        long depth = 0;
        while (_at < _json.Length)
        {
            if (_json[_at] == '"')
            {
                if (!TrySkipString()) return false;
                continue;
            }

            if (_json[_at] == opening) depth++;
            else if (_json[_at] == closing) depth--;
            _at++;
            if (depth == 0) return true;
        }

        return false;
    }

    private bool TryTake(char c)
    {
        if (Here != c) return false;
        _at++;
        return true;
    }

    private void SkipBlanks()
    {
        while (_at < _json.Length && IsBlank(_json[_at])) _at++;
    }

    private static bool IsPartOfNumber(byte b) => char.IsAsciiDigit((char)b) || b is (byte)'.' or (byte)'e' or (byte)'E' or (byte)'+' or (byte)'-';
}
