using System.Globalization;

namespace RedKite.Json.Store;

/// <summary>Words, numbers and strings of a text.</summary>
internal sealed unsafe partial class JsonParser
{
    private const int HexDigits = 4;

    // More digits are not counted together: they decide nothing but a double's last bits, which its own parse determines.
    private const int CountedDigitsMax = 18;

    private void SkipSpace()
    {
        while (_at < _end && *_at is (byte)' ' or (byte)'\n' or (byte)'\r' or (byte)'\t') _at++;
    }

    private bool ParseWord(ReadOnlySpan<byte> word, byte tag)
    {
        for (int i = 0; i < word.Length; i++, _at++)
        {
            if (_at == _end) return Fail("EOF while parsing a value", _at);
            if (*_at != word[i]) return Fail("expected ident", _at);
        }

        _output.Room(1)[0] = tag;
        _output.Advance(1);
        return true;
    }

    private bool ParseNumber()
    {
        byte* start = _at;
        bool isNegative = *_at == '-';
        if (isNegative) _at++;
        if (_at == _end) return Fail("EOF while parsing a value", _at);
        if (*_at is < (byte)'0' or > (byte)'9') return Fail("invalid number", _at);
        ulong digits = 0;
        bool overflows = false;
        if (*_at == '0')
        {
            _at++;
            if (_at < _end && *_at is >= (byte)'0' and <= (byte)'9') return Fail("invalid number", _at);
        }
        else
        {
            for (; _at < _end && (uint)(*_at - '0') <= 9; _at++)
            {
                ulong digit = (ulong)(*_at - '0');
                overflows |= digits > (ulong.MaxValue - digit) / 10;
                digits = unchecked((digits * 10) + digit);
            }
        }

        bool isWhole = _at == _end || *_at is not ((byte)'.' or (byte)'e' or (byte)'E');
        if (isWhole && !overflows && TryAppendInteger(isNegative, digits)) return true;
        int places = 0;
        if (_at < _end && *_at == '.')
        {
            byte* first = ++_at;
            for (; _at < _end && (uint)(*_at - '0') <= 9; _at++)
            {
                overflows |= _at - start > CountedDigitsMax;
                if (!overflows) digits = (digits * 10) + (ulong)(*_at - '0');
            }

            places = (int)(_at - first);
            if (places == 0) return Fail(_at == _end ? "EOF while parsing a value" : "invalid number", _at);
        }

        bool hasExponent = _at < _end && *_at is (byte)'e' or (byte)'E';
        if (hasExponent && !SkipExponent()) return false;
        if (!hasExponent && !isWhole && !overflows && JsonNumber.TryAppendDecimal(_output, isNegative, digits, places)) return true;
        if (!double.TryParse(new ReadOnlySpan<byte>(start, (int)(_at - start)), NumberStyles.Float, CultureInfo.InvariantCulture, out double value) || !double.IsFinite(value)) return Fail("number out of range", _at - 1);
        JsonNumber.AppendShortest(_output, value);
        return true;
    }

    private bool SkipExponent()
    {
        _at++;
        if (_at < _end && *_at is (byte)'+' or (byte)'-') _at++;
        byte* first = _at;
        while (_at < _end && (uint)(*_at - '0') <= 9) _at++;
        return _at > first || Fail(_at == _end ? "EOF while parsing a value" : "invalid number", _at);
    }

    // -0 is a number with a fraction, as it is none of the integers.
    private bool TryAppendInteger(bool isNegative, ulong digits)
    {
        if (!isNegative)
        {
            JsonNumber.AppendUnsigned(_output, digits);
            return true;
        }

        if (digits == 0 || digits > 1UL << 63) return false;
        JsonNumber.Append(_output, unchecked(-(long)digits));
        return true;
    }

    // Behind the opening quote.
    private bool ParseString(out ReadOnlySpan<byte> text)
    {
        byte* start = _at;
        int length = new ReadOnlySpan<byte>(_at, (int)(_end - _at)).IndexOfAny(StringEnds);
        if (length >= 0 && _at[length] == '"')
        {
            text = new ReadOnlySpan<byte>(start, length);
            _at += length + 1;
            return true;
        }

        _unescaped.Clear();
        while (length >= 0)
        {
            _unescaped.Write(new ReadOnlySpan<byte>(_at, length));
            _at += length;
            if (*_at == '"')
            {
                _at++;
                text = _unescaped.Written;
                return true;
            }

            text = default;
            if (*_at != '\\') return Fail("control character (\\u0000-\\u001F) found while parsing a string", _at);
            _at++;
            if (!ParseEscape()) return false;
            length = new ReadOnlySpan<byte>(_at, (int)(_end - _at)).IndexOfAny(StringEnds);
        }

        text = default;
        return Fail("EOF while parsing a string", _end);
    }

    private bool ParseEscape()
    {
        if (_at == _end) return Fail("EOF while parsing a string", _at);
        byte escaped = *_at++;
        int character = escaped switch
        {
            (byte)'"' or (byte)'\\' or (byte)'/' => escaped,
            (byte)'b' => '\b',
            (byte)'f' => '\f',
            (byte)'n' => '\n',
            (byte)'r' => '\r',
            (byte)'t' => '\t',
            (byte)'u' => -1,
            _ => -2,
        };
        if (character == -2) return Fail("invalid escape", _at - 1);
        if (character == -1 && !ParseCharacter(out character)) return false;
        Span<byte> room = _unescaped.Room(HexDigits);
        _unescaped.Advance(new System.Text.Rune(character).EncodeToUtf8(room));
        return true;
    }

    // The character of four hexadecimal digits, or of two times four.
    private bool ParseCharacter(out int character)
    {
        if (!ParseHex(out character)) return false;
        if (character is < 0xD800 or > 0xDFFF) return true;
        if (character >= 0xDC00) return Fail("lone leading surrogate in hex escape", _at - 1);
        if (_end - _at < 2 || _at[0] != '\\' || _at[1] != 'u') return Fail(_at == _end ? "EOF while parsing a string" : "unexpected end of hex escape", _at);
        _at += 2;
        if (!ParseHex(out int low)) return false;
        if (low is < 0xDC00 or > 0xDFFF) return Fail("lone leading surrogate in hex escape", _at - 1);
        character = char.ConvertToUtf32((char)character, (char)low);
        return true;
    }

    private bool ParseHex(out int value)
    {
        value = 0;
        for (int i = 0; i < HexDigits; i++)
        {
            if (_at == _end) return Fail("EOF while parsing a string", _at);
            int digit = !char.IsAsciiHexDigit((char)*_at) ? -1 : (*_at & 0xF) + (*_at > '9' ? 9 : 0);
            if (digit < 0) return Fail("invalid escape", _at);
            value = (value << 4) | digit;
            _at++;
        }

        return true;
    }

    private bool Fail(string problem, byte* at)
    {
        var before = new ReadOnlySpan<byte>(_text, (int)(Math.Min((nint)at + 1, (nint)_end) - (nint)_text));
        if (at < _end && *at == '\n') before = before[..^1];
        int line = before.LastIndexOf((byte)'\n');
        _error = new JsonSyntax(problem, before.Count((byte)'\n') + 1, before.Length - line - 1);
        return false;
    }
}
