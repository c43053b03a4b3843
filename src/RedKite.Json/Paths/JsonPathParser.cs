using System.Buffers.Text;
using System.Globalization;

namespace RedKite.Json.Paths;

/// <summary>
/// Parses paths of both languages: those that begin with $ as in RFC 9535, with what RedisJSON adds to it (a dot in front of a bracket, further characters in
/// names, parentheses around filters, =~), and those of the first version, which are the same without the dollar sign.
/// </summary>
internal ref partial struct JsonPathParser
{
    /// <summary>How deep filters and parentheses may be in each other.</summary>
    internal const int NestingMax = 8;

    private readonly ReadOnlySpan<byte> _text;
    private readonly JsonPath _path;
    private int _at;
    private int _nesting;
    private string? _problem;

    [ThreadStatic]
    private static JsonPath? _ofThread;

    private JsonPathParser(ReadOnlySpan<byte> text, JsonPath path)
    {
        _text = text;
        _path = path;
    }

    private readonly bool IsAtEnd => _at >= _text.Length;

    private readonly byte Current => _at < _text.Length ? _text[_at] : (byte)0;

    /// <summary>Parses a path into the current thread's object.</summary>
    /// <param name="text">The path.</param>
    /// <param name="path">The path's parts.</param>
    /// <param name="error">What is wrong; null: nothing.</param>
    internal static bool TryParse(ReadOnlySpan<byte> text, out JsonPath path, out string? error)
    {
        path = _ofThread ??= new JsonPath();
        path.Clear(isLegacy: !IsDollarPath(text));
        error = null;
        if (text.Length > JsonPath.BytesMax)
        {
            error = string.Create(CultureInfo.InvariantCulture, $"ERR the path is longer than {JsonPath.BytesMax} bytes");
            return false;
        }

        var parser = new JsonPathParser(text, path);
        parser.ParseAll();
        if (parser._problem is null) return true;
        error = string.Create(CultureInfo.InvariantCulture, $"ERR Error occurred on position {Math.Min(parser._at, text.Length) + 1}, {parser._problem}");
        return false;
    }

    /// <summary>Takes the path that was parsed last from the thread: it is used after other commands.</summary>
    internal static void Keep() => _ofThread = null;

    /// <summary>Whether a path is one of RFC 9535.</summary>
    internal static bool IsDollarPath(ReadOnlySpan<byte> text) => text.Length > 0 && text[0] == '$' && (text.Length == 1 || text[1] is (byte)'.' or (byte)'[' or (byte)' ');

    private static bool IsNameByte(byte c) => c is not ((byte)'.' or (byte)'[' or (byte)']' or (byte)'(' or (byte)')' or (byte)',' or (byte)'\'' or (byte)'"' or (byte)' ' or (byte)'\t' or (byte)'\n' or (byte)'\r'
        or (byte)'*' or (byte)'?' or (byte)'@' or (byte)'=' or (byte)'<' or (byte)'>' or (byte)'!' or (byte)'&' or (byte)'|' or (byte)'~' or 0);

    private void ParseAll()
    {
        if (_path.IsLegacy)
        {
            if (_text is [] or [(byte)'.']) return;
            if (Current is not ((byte)'.' or (byte)'['))
            {
                int first = ParseNamed(isDescendant: false);
                _path.BeginAt(first);
                if (_problem is null) Link(first, ParseSegments());
                SkipSpace();
                if (_problem is null && !IsAtEnd) Fail("expected the end of the path");
                return;
            }
        }
        else
        {
            _at++;
        }

        _path.BeginAt(ParseSegments());
        SkipSpace();
        if (_problem is null && !IsAtEnd) Fail("expected one of `.`, `..`, `[`");
    }

    // All segments from here on; -1: there is none.
    private int ParseSegments()
    {
        int first = -1, last = -1;
        while (_problem is null)
        {
            int before = _at;
            SkipSpace();
            if (Current is not ((byte)'.' or (byte)'['))
            {
                _at = before;
                break;
            }

            int segment = ParseSegment();
            if (_problem is not null) break;
            if (first < 0) first = segment;
            else Link(last, segment);
            last = segment;
        }

        return first;
    }

    private int ParseSegment()
    {
        bool isDescendant = false;
        if (Current == '.')
        {
            _at++;
            if (Current == '.')
            {
                _at++;
                isDescendant = true;
            }

            if (Current != '[') return ParseNamed(isDescendant);
        }

        _at++;
        int selector = ParseSelectors();
        return Add(new JsonSegment { IsDescendant = isDescendant, Selector = selector, Next = -1 });
    }

    // A segment with a name or an asterisk, behind its dots.
    private int ParseNamed(bool isDescendant)
    {
        int selector;
        if (Current == '*')
        {
            _at++;
            selector = Add(new JsonSelector { Kind = JsonSelectorKind.Wildcard, Next = -1 });
        }
        else
        {
            int start = _at;
            while (!IsAtEnd && IsNameByte(Current)) _at++;
            if (_at == start) Fail("expected a name, `*` or `[`");
            selector = AddName(_text[start.._at]);
        }

        return Add(new JsonSegment { IsDescendant = isDescendant, Selector = selector, Next = -1 });
    }

    // Behind an opening bracket, up to and with the closing one.
    private int ParseSelectors()
    {
        int first = -1, last = -1;
        while (_problem is null)
        {
            SkipSpace();
            int selector = ParseSelector();
            if (first < 0)
            {
                first = selector;
            }
            else
            {
                JsonSelector previous = _path.Selectors[last];
                previous.Next = selector;
                _path.Selectors[last] = previous;
            }

            last = selector;
            SkipSpace();
            byte next = Current;
            if (next == ']')
            {
                _at++;
                return first;
            }

            if (next == ',') _at++;
            else Fail("expected `,` or `]`");
        }

        return first;
    }

    private int ParseSelector()
    {
        switch (Current)
        {
            case (byte)'*':
                _at++;
                return Add(new JsonSelector { Kind = JsonSelectorKind.Wildcard, Next = -1 });
            case (byte)'\'' or (byte)'"':
                int text = _path.Texts.Length;
                ParseQuoted();
                return Add(new JsonSelector { Kind = JsonSelectorKind.Name, Text = text, TextBytes = _path.Texts.Length - text, Next = -1 });
            case (byte)'?':
                _at++;
                SkipSpace();
                int expression = ParseNested();
                return Add(new JsonSelector { Kind = JsonSelectorKind.Filter, Expression = expression, Next = -1 });
            case (byte)':' or (byte)'-' or (>= (byte)'0' and <= (byte)'9'):
                return ParseIndexOrSlice();
            default:
                int start = _at;
                while (!IsAtEnd && IsNameByte(Current)) _at++;
                if (_at == start) Fail("expected a name, an index, a slice, `*` or `?`");
                return AddName(_text[start.._at]); // RedisJSON's names without quotes
        }
    }

    private int ParseIndexOrSlice()
    {
        var selector = new JsonSelector { Kind = JsonSelectorKind.Index, Next = -1, Start = ParseInteger(), End = JsonSelector.Omitted, Step = JsonSelector.Omitted };
        SkipSpace();
        if (Current == ':')
        {
            _at++;
            SkipSpace();
            selector.Kind = JsonSelectorKind.Slice;
            selector.End = ParseInteger();
            SkipSpace();
            if (Current == ':')
            {
                _at++;
                SkipSpace();
                selector.Step = ParseInteger();
            }
        }

        return Add(selector);
    }

    private long ParseInteger()
    {
        int start = _at;
        if (Current == '-') _at++;
        while (Current is >= (byte)'0' and <= (byte)'9') _at++;
        if (_at == start) return JsonSelector.Omitted;
        if (Utf8Parser.TryParse(_text[start.._at], out long value, out int read) && read == _at - start && value != JsonSelector.Omitted) return value;
        _at = start;
        Fail("expected an index");
        return 0;
    }

    // Appends the text of a string in quotes.
    private void ParseQuoted()
    {
        byte quote = Current;
        for (_at++; !IsAtEnd; _at++)
        {
            byte c = Current;
            if (c == quote)
            {
                _at++;
                return;
            }

            if (c == '\\')
            {
                _at++;
                if (!ParseEscape()) return;
                continue;
            }

            _path.Texts.Write([c]);
        }

        Fail("expected the end of the string");
    }

    // On the character behind a backslash; ends on the last one of the escape. Of a letter that is none, RedisJSON keeps the backslash.
    private bool ParseEscape()
    {
        byte c = Current;
        if (c != 'u')
        {
            byte character = c switch { (byte)'b' => 8, (byte)'f' => 12, (byte)'n' => 10, (byte)'r' => 13, (byte)'t' => 9, _ => c };
            if (IsAtEnd) return true;
            if (c is not ((byte)'b' or (byte)'f' or (byte)'n' or (byte)'r' or (byte)'t' or (byte)'/' or (byte)'\\' or (byte)'\'' or (byte)'"')) _path.Texts.Write("\\"u8);
            _path.Texts.Write([character]);
            return true;
        }

        if (!TryHex(_at + 1, out int value)) return Fail("expected four hexadecimal digits");
        _at += 4;
        if (char.IsHighSurrogate((char)value))
        {
            if (_at + 2 >= _text.Length || _text[_at + 1] != '\\' || _text[_at + 2] != 'u' || !TryHex(_at + 3, out int low) || !char.IsLowSurrogate((char)low)) return Fail("expected the second half of a surrogate pair");
            value = char.ConvertToUtf32((char)value, (char)low);
            _at += 6;
        }

        if (!System.Text.Rune.IsValid(value)) return Fail("expected a character");
        _path.Texts.Advance(new System.Text.Rune(value).EncodeToUtf8(_path.Texts.Room(4)));
        return true;
    }

    private readonly bool TryHex(int start, out int value)
    {
        value = 0;
        return start + 4 <= _text.Length && Utf8Parser.TryParse(_text.Slice(start, 4), out value, out int read, 'x') && read == 4;
    }

    private void SkipSpace()
    {
        while (Current is (byte)' ' or (byte)'\t' or (byte)'\n' or (byte)'\r') _at++;
    }

    private readonly int AddName(ReadOnlySpan<byte> name)
    {
        int text = _path.Texts.Length;
        _path.Texts.Write(name);
        return Add(new JsonSelector { Kind = JsonSelectorKind.Name, Text = text, TextBytes = name.Length, Next = -1 });
    }

    private readonly int Add(in JsonSelector selector)
    {
        _path.Selectors.Add(selector);
        return _path.Selectors.Count - 1;
    }

    private readonly int Add(in JsonSegment segment)
    {
        _path.Segments.Add(segment);
        return _path.Segments.Count - 1;
    }

    private readonly void Link(int segment, int next)
    {
        JsonSegment part = _path.Segments[segment];
        part.Next = next;
        _path.Segments[segment] = part;
    }

    private bool Fail(string problem)
    {
        _problem ??= problem;
        return false;
    }
}
