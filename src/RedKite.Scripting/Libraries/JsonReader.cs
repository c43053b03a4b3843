using System.Buffers;
using System.Globalization;
using System.Text;
using RedKite.Scripting.Interop;
using RedKite.Scripting.Translation;

namespace RedKite.Scripting.Libraries;

/// <summary>Reads JSON as cjson does, with its tolerances and messages, and pushes the value.</summary>
internal ref struct JsonReader
{
    // As in Redis, where the stack of C functions ends there, whatever the settings say.
    internal const int DepthMax = 7998;

    private static readonly SearchValues<byte> HexDigits = SearchValues.Create("0123456789abcdefABCDEF"u8);

    // What ends a piece of a string that is taken as it is; a zero ends the text in C.
    private static readonly SearchValues<byte> PieceEnds = SearchValues.Create("\"\\\0"u8);

    private readonly LuaCall _call;
    private readonly ReadOnlySpan<byte> _text; // on Lua's stack
    private readonly nint _state;
    private readonly JsonSettings _settings;
    private readonly Stack<int> _open = new(); // the tables around the value: elements of an array so far, or -1 for an object
    private int _at;
    private int _start; // of the token
    private double _number;
    private ReadOnlySpan<byte> _string; // of the text, or of the interpreter's buffer until the next one
    private string _problem = "";

    internal JsonReader(LuaCall call, ReadOnlySpan<byte> text)
    {
        _call = call;
        _text = text;
        _state = call.State;
        _settings = call.Owner.Json;
    }

    private enum Kind
    {
        ObjectBegin,
        ObjectEnd,
        ArrayBegin,
        ArrayEnd,
        String,
        Number,
        True,
        False,
        Null,
        Colon,
        Comma,
        End,
        Error,
    }

    /// <summary>Pushes the only value of the text.</summary>
    internal void Read()
    {
        if (_text.Length >= 2 && (_text[0] == 0 || _text[1] == 0)) throw new LuaException("JSON parser does not support UTF-16 or UTF-32");
        Kind token = Next();
        while (Begins(ref token) || Continues(ref token))
        {
        }

        Kind end = Next();
        if (end != Kind.End) throw Unexpected("the end", end);
    }

    // Pushes the value that begins with a token. True if it is a table with elements: then the token of its first value is read.
    private bool Begins(ref Kind token)
    {
        _call.Owner.Step();
        switch (token)
        {
            case Kind.String:
                Lua.Push(_state, _string);
                return false;
            case Kind.Number:
                Lua.Push(_state, _number);
                return false;
            case Kind.True or Kind.False:
                Lua.Push(_state, token == Kind.True);
                return false;
            case Kind.Null:
                Lua.PushLightUserdata(_state, 0);
                return false;
            case Kind.ObjectBegin or Kind.ArrayBegin:
                return BeginsTable(ref token);
            default:
                throw Unexpected("value", token);
        }
    }

    private bool BeginsTable(ref Kind token)
    {
        bool isObject = token == Kind.ObjectBegin;
        int depth = _open.Count + 1;
        if (depth > Math.Min(_settings.DecodeDepthMax, DepthMax) || !Lua.EnsureStack(_state, 4)) throw new LuaException($"Found too many nested data structures ({depth}) at character {_at}");
        Lua.NewTable(_state);
        if (!isObject && _settings.MarksArrays) JsonLibrary.Mark(_state);
        token = Next();
        if (token == (isObject ? Kind.ObjectEnd : Kind.ArrayEnd)) return false;
        _open.Push(isObject ? -1 : 0);
        if (isObject) ReadKey(ref token);
        return true;
    }

    private void ReadKey(ref Kind token)
    {
        if (token != Kind.String) throw Unexpected("object key string", token);
        Lua.Push(_state, _string);
        token = Next();
        if (token != Kind.Colon) throw Unexpected("colon", token);
        token = Next();
    }

    // Puts a value into the table around it, which may end and be a value itself. True: the token of the next value is read.
    private bool Continues(ref Kind token)
    {
        while (_open.TryPop(out int elements))
        {
            bool isObject = elements < 0;
            if (isObject) Lua.RawSet(_state, -3);
            else Lua.RawSet(_state, -2, ++elements);
            token = Next();
            if (token == (isObject ? Kind.ObjectEnd : Kind.ArrayEnd)) continue;
            if (token != Kind.Comma) throw Unexpected(isObject ? "comma or object end" : "comma or array end", token);
            token = Next();
            if (isObject) ReadKey(ref token);
            else if (token == Kind.ArrayEnd) throw Unexpected("value", token);
            _open.Push(elements);
            return true;
        }

        return false;
    }

    private LuaException Unexpected(string expected, Kind token)
    {
        string found = token switch
        {
            Kind.ObjectBegin => "T_OBJ_BEGIN",
            Kind.ObjectEnd => "T_OBJ_END",
            Kind.ArrayBegin => "T_ARR_BEGIN",
            Kind.ArrayEnd => "T_ARR_END",
            Kind.String => "T_STRING",
            Kind.Number => "T_NUMBER",
            Kind.True or Kind.False => "T_BOOLEAN",
            Kind.Null => "T_NULL",
            Kind.Colon => "T_COLON",
            Kind.Comma => "T_COMMA",
            Kind.End => "T_END",
            _ => _problem,
        };
        return new LuaException($"Expected {expected} but found {found} at character {_start + 1}");
    }

    private Kind Error(int at, string problem)
    {
        _start = at;
        _problem = problem;
        return Kind.Error;
    }

    private Kind Next()
    {
        while (_at < _text.Length && _text[_at] is (byte)' ' or (byte)'\t' or (byte)'\n' or (byte)'\r') _at++;
        _start = _at;
        if (_at >= _text.Length || _text[_at] == 0) return Kind.End;
        byte c = _text[_at];
        switch (c)
        {
            case (byte)'{':
                _at++;
                return Kind.ObjectBegin;
            case (byte)'}':
                _at++;
                return Kind.ObjectEnd;
            case (byte)'[':
                _at++;
                return Kind.ArrayBegin;
            case (byte)']':
                _at++;
                return Kind.ArrayEnd;
            case (byte)':':
                _at++;
                return Kind.Colon;
            case (byte)',':
                _at++;
                return Kind.Comma;
            case (byte)'"':
                return String();
            default:
                return Word(c);
        }
    }

    private Kind Word(byte c)
    {
        if (c == '-' || char.IsAsciiDigit((char)c))
        {
            if (!_settings.DecodeInvalidNumbers && IsUnusualNumber()) return Error(_start, "invalid number");
            return Number();
        }

        ReadOnlySpan<byte> rest = _text[_at..];
        if (rest.StartsWith("true"u8)) return Taken(4, Kind.True);
        if (rest.StartsWith("false"u8)) return Taken(5, Kind.False);
        if (rest.StartsWith("null"u8)) return Taken(4, Kind.Null);
        return _settings.DecodeInvalidNumbers && IsUnusualNumber() ? Number() : Error(_start, "invalid token");
    }

    private Kind Taken(int length, Kind kind)
    {
        _at += length;
        return kind;
    }

    // A number that JSON does not have: with a plus, hexadecimal, with leading zeros, inf, nan.
    private bool IsUnusualNumber()
    {
        int at = _at;
        if (_text[at] == '+') return true;
        if (_text[at] == '-') at++;
        if (at >= _text.Length) return false;
        if (_text[at] == '0') return at + 1 < _text.Length && (_text[at + 1] is (byte)'x' or (byte)'X' || char.IsAsciiDigit((char)_text[at + 1]));
        if (char.IsAsciiDigit((char)_text[at])) return false;
        string word = Encoding.Latin1.GetString(_text.Slice(at, Math.Min(3, _text.Length - at)));
        return word.Equals("inf", StringComparison.OrdinalIgnoreCase) || word.Equals("nan", StringComparison.OrdinalIgnoreCase);
    }

    // The longest text that C reads as a number.
    private Kind Number()
    {
        int at = _at;
        if (_text[at] is (byte)'-' or (byte)'+') at++;
        int digits = at;
        if (at + 1 < _text.Length && _text[at] == '0' && _text[at + 1] is (byte)'x' or (byte)'X')
        {
            at = EndOfHexadecimal(at);
        }
        else if (at < _text.Length && char.IsAsciiLetter((char)_text[at]))
        {
            string word = Encoding.Latin1.GetString(_text.Slice(at, Math.Min(8, _text.Length - at)));
            at += word.Equals("infinity", StringComparison.OrdinalIgnoreCase) ? 8 : 3;
        }
        else
        {
            while (at < _text.Length && char.IsAsciiDigit((char)_text[at])) at++;
            if (at < _text.Length && _text[at] == '.') at++;
            while (at < _text.Length && char.IsAsciiDigit((char)_text[at])) at++;
            if (at > digits) at = EndOfExponent(at, 'e');
        }

        if (at > _text.Length || at == digits || !NumberText.TryParse(_text[_at..at], out _number)) return Error(_start, "invalid number");
        _at = double.IsNaN(_number) ? EndOfPayload(at) : at;
        return Kind.Number;
    }

    // Behind 0x there is a digit, perhaps after a dot; otherwise the number is the zero.
    private int EndOfHexadecimal(int zero)
    {
        int at = zero + 2, digits = 0;
        for (bool hasDot = false; at < _text.Length; at++)
        {
            if (char.IsAsciiHexDigit((char)_text[at])) digits++;
            else if (_text[at] == '.' && !hasDot) hasDot = true;
            else break;
        }

        return digits == 0 ? zero + 1 : EndOfExponent(at, 'p');
    }

    private int EndOfExponent(int end, char letter)
    {
        int at = end;
        if (at >= _text.Length || (_text[at] | 0x20) != letter) return end;
        at++;
        if (at < _text.Length && _text[at] is (byte)'-' or (byte)'+') at++;
        int first = at;
        while (at < _text.Length && char.IsAsciiDigit((char)_text[at])) at++;
        return at == first ? end : at;
    }

    // C reads nan(text) as one number.
    private int EndOfPayload(int end)
    {
        int at = end;
        if (at >= _text.Length || _text[at] != '(') return end;
        at++;
        while (at < _text.Length && (char.IsAsciiLetterOrDigit((char)_text[at]) || _text[at] == '_')) at++;
        return at < _text.Length && _text[at] == ')' ? at + 1 : end;
    }

    private Kind String()
    {
        _at++;
        ReadOnlySpan<byte> rest = _text[_at..];
        int length = rest.IndexOfAny(PieceEnds);
        if (length >= 0 && rest[length] == '"')
        {
            _string = rest[..length];
            _at += length + 1;
            return Kind.String;
        }

        return StringWithEscapes();
    }

    private Kind StringWithEscapes()
    {
        ScriptOutput value = _call.Owner.BeginOutput();
        while (true)
        {
            _call.Owner.Step();
            int length = _text[_at..].IndexOfAny(PieceEnds);
            if (length < 0) return Error(_text.Length, "unexpected end of string");
            value.Write(_text.Slice(_at, length));
            _at += length;
            if (_text[_at] == '"') break;
            if (_text[_at] == 0) return Error(_at, "unexpected end of string");
            int escape = _at++;
            byte code = _at < _text.Length ? _text[_at] : (byte)0;
            if (code == 'u')
            {
                if (!TryUnicode(escape, value)) return Error(escape, "invalid unicode escape code");
                continue;
            }

            int plain = code switch
            {
                (byte)'"' or (byte)'\\' or (byte)'/' => code,
                (byte)'b' => '\b',
                (byte)'f' => '\f',
                (byte)'n' => '\n',
                (byte)'r' => '\r',
                (byte)'t' => '\t',
                _ => -1,
            };
            if (plain < 0) return Error(escape, "invalid escape code");
            value.WriteByte((byte)plain);
            _at++;
        }

        _at++;
        _string = value.Written;
        return Kind.String;
    }

    private bool TryUnicode(int escape, ScriptOutput value)
    {
        if (!TryHex(escape + 2, out int code)) return false;
        _at = escape + 6;
        if (code is >= 0xD800 and < 0xE000)
        {
            if (code >= 0xDC00 || _at + 1 >= _text.Length || _text[_at] != '\\' || _text[_at + 1] != 'u' || !TryHex(_at + 2, out int low) || low is < 0xDC00 or > 0xDFFF) return false;
            code = 0x10000 + ((code - 0xD800) << 10) + (low - 0xDC00);
            _at += 6;
        }

        Span<byte> bytes = stackalloc byte[4];
        value.Write(bytes[..new Rune(code).EncodeToUtf8(bytes)]);
        return true;
    }

    private bool TryHex(int at, out int code)
    {
        code = 0;
        return at + 4 <= _text.Length && _text.Slice(at, 4).IndexOfAnyExcept(HexDigits) < 0
            && int.TryParse(_text.Slice(at, 4), NumberStyles.AllowHexSpecifier, CultureInfo.InvariantCulture, out code);
    }
}
