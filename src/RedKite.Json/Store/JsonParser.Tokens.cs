using System.Buffers;
using System.Buffers.Text;
using System.Globalization;
using System.Numerics;
using System.Runtime.CompilerServices;
using System.Runtime.Intrinsics;

namespace RedKite.Json.Store;

/// <summary>Words, numbers and strings of a text.</summary>
internal sealed unsafe partial class JsonParser
{
    private const int HexDigits = 4;

    private static readonly SearchValues<byte> NumberBytes = SearchValues.Create("0123456789+-.eE, \t\r\n"u8);

    // So many digits are below 2^64, whatever they are.
    private const int ExactDigitsMax = 19;

    // More digits are not counted together: they decide nothing but a double's last bits, which its own parse determines.
    private const int CountedDigitsMax = 18;

    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    private byte* SkipSpace(byte* at) => at < _end && *at > ' ' ? at : SkipSpaces(at);

    private byte* SkipSpaces(byte* at)
    {
        while (at < _end && *at is (byte)' ' or (byte)'\n' or (byte)'\r' or (byte)'\t') at++;
        return at;
    }

    private byte* ParseWord(byte* at, ReadOnlySpan<byte> word, byte tag)
    {
        for (int i = 0; i < word.Length; i++, at++)
        {
            if (at == _end) return Fail("EOF while parsing a value", at);
            if (*at != word[i]) return Fail("expected ident", at);
        }

        _output.Room(1)[0] = tag;
        _output.Advance(1);
        return at;
    }

    private byte* ParseNumber(byte* at)
    {
        byte* start = at;
        bool isNegative = *at == '-';
        if (isNegative) at++;
        if (at == _end) return Fail("EOF while parsing a value", at);
        if (*at is < (byte)'0' or > (byte)'9') return Fail("invalid number", at);
        byte* first = at;
        ulong digits = 0;
        for (; at < _end && (uint)(*at - '0') <= 9; at++) digits = unchecked((digits * 10) + (ulong)(*at - '0'));
        if (*first == '0' && at > first + 1) return Fail("invalid number", first + 1);
        bool overflows = at - first > ExactDigitsMax && !(Utf8Parser.TryParse(new ReadOnlySpan<byte>(first, (int)(at - first)), out digits, out int parsed) && parsed == at - first);
        if (_floatsOfNumbers != JsonFloats.Any) return ParseFloat(start);
        bool isWhole = at == _end || *at is not ((byte)'.' or (byte)'e' or (byte)'E');
        if (isWhole && !overflows && TryAppendInteger(isNegative, digits)) return at;
        int places = 0;
        if (at < _end && *at == '.')
        {
            first = ++at;
            for (; at < _end && (uint)(*at - '0') <= 9; at++)
            {
                overflows |= at - start > CountedDigitsMax;
                if (!overflows) digits = (digits * 10) + (ulong)(*at - '0');
            }

            places = (int)(at - first);
            if (places == 0) return Fail(at == _end ? "EOF while parsing a value" : "invalid number", at);
        }

        bool hasExponent = at < _end && *at is (byte)'e' or (byte)'E';
        if (hasExponent) at = SkipExponent(at);
        if (at == null) return null;
        if (!hasExponent && !isWhole && !overflows && JsonNumber.TryAppendDecimal(_output, isNegative, digits, places)) return at;
        if (!double.TryParse(new ReadOnlySpan<byte>(start, (int)(at - start)), NumberStyles.Float, CultureInfo.InvariantCulture, out double value) || !double.IsFinite(value)) return Fail("number out of range", at - 1);
        JsonNumber.AppendShortest(_output, value);
        return at;
    }

    // A number of an array that has only numbers, in the precision that is given for it.
    private byte* ParseFloat(byte* start)
    {
        byte* at = start;
        if (*at == '-') at++;
        while (at < _end && (uint)(*at - '0') <= 9) at++;
        if (at < _end && *at == '.')
        {
            byte* first = ++at;
            while (at < _end && (uint)(*at - '0') <= 9) at++;
            if (at == first) return Fail(at == _end ? "EOF while parsing a value" : "invalid number", at);
        }

        if (at < _end && *at is (byte)'e' or (byte)'E') at = SkipExponent(at);
        if (at == null) return null;
        if (!double.TryParse(new ReadOnlySpan<byte>(start, (int)(at - start)), NumberStyles.Float, CultureInfo.InvariantCulture, out double value) || !double.IsFinite(value)) return Fail("number out of range", at - 1);
        if (!JsonPrecision.TryRound(ref value, _floatsOfNumbers)) return Fail($"value out of range for {JsonPrecision.NameOf(_floatsOfNumbers)}", at - 1);
        JsonNumber.AppendShortest(_output, value);
        return at;
    }

    // Whether an array has numbers and nothing else, behind its bracket.
    private bool HasOnlyNumbers(byte* at)
    {
        int length = new ReadOnlySpan<byte>(at, (int)(_end - at)).IndexOfAnyExcept(NumberBytes);
        return length >= 0 && at[length] == ']';
    }

    private byte* SkipExponent(byte* at)
    {
        at++;
        if (at < _end && *at is (byte)'+' or (byte)'-') at++;
        byte* first = at;
        while (at < _end && (uint)(*at - '0') <= 9) at++;
        return at > first ? at : Fail(at == _end ? "EOF while parsing a value" : "invalid number", at);
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

    // The closing quote of a string, behind the opening one; null: something is in front of it, or it is missing.
    private byte* FindQuote(byte* at)
    {
        for (; _end - at >= Vector128<byte>.Count; at += Vector128<byte>.Count)
        {
            Vector128<byte> bytes = Vector128.Load(at);
            Vector128<byte> ends = Vector128.Equals(bytes, Vector128.Create((byte)'"')) | Vector128.Equals(bytes, Vector128.Create((byte)'\\')) | Vector128.Equals(Vector128.Min(bytes, Vector128.Create((byte)0x1F)), bytes);
            uint bits = ends.ExtractMostSignificantBits();
            if (bits == 0) continue;
            at += BitOperations.TrailingZeroCount(bits);
            return *at == '"' ? at : null;
        }

        int length = new ReadOnlySpan<byte>(at, (int)(_end - at)).IndexOfAny(StringEnds);
        return length >= 0 && at[length] == '"' ? at + length : null;
    }

    // Writes a string without its escapes, behind the opening quote.
    private byte* ParseEscaped(byte* at)
    {
        _unescaped.Clear();
        while (true)
        {
            int length = new ReadOnlySpan<byte>(at, (int)(_end - at)).IndexOfAny(StringEnds);
            if (length < 0) return Fail("EOF while parsing a string", _end);
            _unescaped.Write(new ReadOnlySpan<byte>(at, length));
            at += length;
            if (*at == '"') return at + 1;
            if (*at != '\\') return Fail("control character (\\u0000-\\u001F) found while parsing a string", at);
            at = ParseEscape(at + 1);
            if (at == null) return null;
        }
    }

    private byte* ParseEscape(byte* at)
    {
        if (at == _end) return Fail("EOF while parsing a string", at);
        byte escaped = *at++;
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
        if (character == -2) return Fail("invalid escape", at - 1);
        if (character == -1) at = ParseCharacter(at, out character);
        if (at == null) return null;
        Span<byte> room = _unescaped.Room(HexDigits);
        _unescaped.Advance(new System.Text.Rune(character).EncodeToUtf8(room));
        return at;
    }

    // The character of four hexadecimal digits, or of two times four.
    private byte* ParseCharacter(byte* at, out int character)
    {
        at = ParseHex(at, out character);
        if (at == null || character is < 0xD800 or > 0xDFFF) return at;
        if (character >= 0xDC00) return Fail("lone leading surrogate in hex escape", at - 1);
        if (_end - at < 2 || at[0] != '\\' || at[1] != 'u') return Fail(at == _end ? "EOF while parsing a string" : "unexpected end of hex escape", at);
        at = ParseHex(at + 2, out int low);
        if (at == null) return null;
        if (low is < 0xDC00 or > 0xDFFF) return Fail("lone leading surrogate in hex escape", at - 1);
        character = char.ConvertToUtf32((char)character, (char)low);
        return at;
    }

    private byte* ParseHex(byte* at, out int value)
    {
        value = 0;
        for (int i = 0; i < HexDigits; i++, at++)
        {
            if (at == _end) return Fail("EOF while parsing a string", at);
            int digit = !char.IsAsciiHexDigit((char)*at) ? -1 : (*at & 0xF) + (*at > '9' ? 9 : 0);
            if (digit < 0) return Fail("invalid escape", at);
            value = (value << 4) | digit;
        }

        return at;
    }

    // Returns null, as what has failed.
    private byte* Fail(string problem, byte* at)
    {
        var before = new ReadOnlySpan<byte>(_text, (int)(Math.Min((nint)at + 1, (nint)_end) - (nint)_text));
        if (at < _end && *at == '\n') before = before[..^1];
        int line = before.LastIndexOf((byte)'\n');
        _error = new JsonSyntax(problem, before.Count((byte)'\n') + 1, before.Length - line - 1);
        return null;
    }
}
