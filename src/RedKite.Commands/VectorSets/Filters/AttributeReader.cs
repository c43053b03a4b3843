using System.Globalization;
using RedKite.Protocol;

namespace RedKite.Server.Commands.VectorSets.Filters;

/// <summary>
/// Finds fields of an element's attributes, which should be a JSON object, in one pass and without reading more than it has to: what follows the
/// last of them is not examined, and values that are passed over only as far as needed to find their ends. As in Redis, a field whose value is
/// an object, or that is behind something malformed, is missing, and of a repeated field the first one counts.
/// </summary>
internal ref struct AttributeReader
{
    /// <summary>Lists within lists.</summary>
    internal const int DepthMax = 64;

    // Steps beside one for each byte: of a value, of a field, of an escape, of a stop in what is passed over, and of a byte of a number.
    private const int ValueSteps = 20;
    private const int FieldSteps = 48;
    private const int EscapeSteps = 24;
    private const int StopSteps = 4;
    private const int DigitSteps = 2;

    // Shorter integers are read here.
    private const int ShortDigitsMax = 15;

    // Bytes that are passed over, or copied, in a step.
    private const int PassedBytes = 8;

    private readonly ReadOnlySpan<byte> _json;
    private readonly FilterMemory _memory;
    private readonly long _stepsMax;
    private long _steps; // beside a step for each byte
    private int _at;

    private AttributeReader(ReadOnlySpan<byte> json, FilterMemory memory, long stepsMax)
    {
        _json = json;
        _memory = memory;
        _stepsMax = stepsMax;
    }

    private readonly byte Here => _at < _json.Length ? _json[_at] : (byte)0;

    private readonly long Steps => _at + _steps;

    private readonly bool IsExhausted => Steps > _stepsMax;

    /// <summary>Reads fields of an object.</summary>
    /// <param name="json">The attributes.</param>
    /// <param name="fields">The fields' names.</param>
    /// <param name="memory">Receives strings and lists.</param>
    /// <param name="values">Receives a value for each of the fields.</param>
    /// <param name="steps">The steps that it may take; then those that are left. Below 0: it has not come to the end.</param>
    /// <returns>Whether all fields are there.</returns>
    internal static bool TryRead(ReadOnlySpan<byte> json, FilterFields fields, FilterMemory memory, Span<FilterValue> values, ref long steps)
    {
        var reader = new AttributeReader(json, memory, steps);
        bool found = reader.TryFields(fields, values) && !reader.IsExhausted;
        steps -= reader.Steps;
        return found;
    }

    /// <summary>Reads a number that is the whole text.</summary>
    internal static bool TryNumber(ReadOnlySpan<byte> text, out double number) =>
        double.TryParse(text, NumberStyles.AllowLeadingSign | NumberStyles.AllowDecimalPoint | NumberStyles.AllowExponent, CultureInfo.InvariantCulture, out number);

    internal static bool IsBlank(byte b) => b is (byte)' ' or (>= (byte)'\t' and <= (byte)'\r');

    /// <summary>The number that a string is; 0 if it is none.</summary>
    internal static double NumberOf(ReadOnlySpan<byte> text)
    {
        if (!MayBeNumber(text)) return 0;
        text = text.TrimStart(" \t\n\v\f\r"u8);
        if (text.Length == 3 && AsciiText.EqualsIgnoreCase(text, "nan")) return double.NaN;
        return FloatText.TryParse(text, out double number) ? number : 0;
    }

    // By its first byte: most strings are no numbers.
    private static bool MayBeNumber(ReadOnlySpan<byte> text) => !text.IsEmpty && (text[0] <= (byte)'9' || (text[0] | 0x20) is 'i' or 'n');

    private bool TryFields(FilterFields fields, Span<FilterValue> values)
    {
        int missing = values.Length;
        values.Fill(new FilterValue(FilterKind.Unread, 0, 0, 0));
        _steps += missing;
        SkipBlanks();
        if (!TryTake('{')) return false;
        while (!IsExhausted)
        {
            SkipBlanks();
            int start = _at + 1;
            if (Here != '"' || !TrySkipString()) return false;
            int field = fields.Find(_json[start..(_at - 1)]);
            SkipBlanks();
            if (!TryTake(':')) return false;
            SkipBlanks();
            _steps += FieldSteps;
            if (field >= 0 && values[field].Kind == FilterKind.Unread)
            {
                if (!TryValue(0, out values[field])) return false;
                if (--missing == 0) return true;
            }
            else if (!TrySkipValue())
            {
                return false;
            }

            SkipBlanks();
            if (!TryTake(',')) return false;
        }

        return false;
    }

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
                return TryNumber(out value);
        }
    }

    private bool TryNumber(out FilterValue value)
    {
        value = default;
        int start = _at;
        long whole = 0;
        while (char.IsAsciiDigit((char)Here) && _at - start < ShortDigitsMax) whole = (whole * 10) + (_json[_at++] - '0');
        if (_at > start && !IsPartOfNumber(Here))
        {
            value = FilterValue.Of(whole);
            return true;
        }

        while (IsPartOfNumber(Here)) _at++;
        _steps += (long)(_at - start) * DigitSteps;
        if (IsExhausted || _at == start || _json[start] == '.' || !TryNumber(_json[start.._at], out double number)) return false;
        value = FilterValue.Of(number);
        return true;
    }

    private bool TryString(out FilterValue value)
    {
        int start = _memory.ByteCount;
        value = default;
        _at++;
        while (true)
        {
            int run = _json[_at..].IndexOfAny((byte)'"', (byte)'\\');
            if (run < 0) return false;
            _at += run;
            _steps += EscapeSteps;
            if (IsExhausted) return false;
            _memory.Add(_json.Slice(_at - run, run));
            if (_json[_at++] == '"') break;
            if (_at == _json.Length) return false;
            _memory.Add(_json[_at++] switch
            {
                (byte)'n' => (byte)'\n',
                (byte)'r' => (byte)'\r',
                (byte)'t' => (byte)'\t',
                byte other => other,
            });
        }

        value = new FilterValue(FilterKind.String, 0, start, _memory.ByteCount - start);
        ReadOnlySpan<byte> text = _memory.Bytes(value);
        if (!MayBeNumber(text)) return true;
        _steps += (long)text.Length * DigitSteps;
        if (IsExhausted) return false;
        value = value with { Number = NumberOf(text) };
        return true;
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
            _steps += ValueSteps;
            if (IsExhausted || !TryValue(depth, out FilterValue element)) return false;
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
        _at++;
        while (!IsExhausted)
        {
            if (!TryPassTo(_json[Math.Min(_at, _json.Length)..].IndexOfAny((byte)'"', (byte)'\\'))) return false;
            if (_json[_at] == '"') return TryTake('"');
            _at += 2;
        }

        return false;
    }

    private bool TrySkipNested(char opening, char closing)
    {
        long depth = 0;
        while (!IsExhausted)
        {
            if (!TryPassTo(_json[_at..].IndexOfAny((byte)'"', (byte)opening, (byte)closing))) return false;
            if (_json[_at] == '"')
            {
                if (!TrySkipString()) return false;
                continue;
            }

            if (_json[_at++] == opening) depth++;
            else if (--depth == 0) return true;
        }

        return false;
    }

    private bool TryPassTo(int distance)
    {
        _steps += StopSteps;
        if (distance < 0)
        {
            _at = _json.Length;
            return false;
        }

        _at += distance;
        _steps -= distance - (distance / PassedBytes);
        return true;
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
