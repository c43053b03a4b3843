namespace RedKite.Server.Commands.VectorSets.Filters;

/// <summary>
/// Compiles a filter: reads its tokens from left to right, and orders operators by their precedence (Dijkstra's shunting yard). The work is
/// proportional to the text; nothing is nested but lists of operators that wait.
/// </summary>
/// <remarks>Tokens, their ends and the places of errors are those of Redis 8.0.2, as far as replies show them.</remarks>
internal ref struct FilterCompiler
{
    /// <summary>The length of an expression. One of many short tokens takes 8 ms, with the key locked.</summary>
    internal const int TextBytesMax = 128 * 1024;

    // A longer number is an error.
    private const int NumberBytesMax = 255;

    private readonly ReadOnlySpan<byte> _text;
    private readonly FilterMemory _memory;
    private readonly FilterFields _fields;
    private readonly List<FilterStep> _steps;
    private readonly Stack<FilterOperator> _waiting;
    private int _at;
    private int _depth;
    private int _depthMax;
    private bool _isDisordered; // an operator lacks an operand or a parenthesis: an error without a place, if all tokens are valid
    private bool _endsValue; // the last token is a value or a closing parenthesis: a minus subtracts

    private FilterCompiler(ReadOnlySpan<byte> text)
    {
        int end = text.IndexOf((byte)0);
        _text = end < 0 ? text : text[..end];
        _memory = new FilterMemory();
        _fields = new FilterFields();
        _steps = [];
        _waiting = new Stack<FilterOperator>();
    }

    internal static bool TryCompile(ReadOnlySpan<byte> text, out FilterProgram program, out int error)
    {
        program = null!;
        var compiler = new FilterCompiler(text);
        if (!compiler.TryTokens())
        {
            error = compiler._at >= compiler._text.Length ? 0 : compiler._at;
            return false;
        }

        error = 0;
        if (compiler._isDisordered || !compiler.TryEnd()) return false;
        program = new FilterProgram(text, [.. compiler._steps], compiler._depthMax, compiler._fields, compiler._memory);
        return true;
    }

    // On false, the position is that of the error. At the text's end there is none: it is the text as a whole that is wrong.
    private bool TryTokens()
    {
        while (true)
        {
            SkipBlanks();
            if (_at == _text.Length) return true;
            if (!TryToken()) return false;
        }
    }

    private bool TryToken()
    {
        byte b = _text[_at];
        bool startsNumber = char.IsAsciiDigit((char)b) || (b == '-' && !_endsValue && char.IsAsciiDigit((char)Peek(1)));
        if (startsNumber) return TryNumber(out FilterValue number) && AddValue(FilterOperator.Constant, number);
        if (b is (byte)'"' or (byte)'\'') return TryString(out FilterValue text) && AddValue(FilterOperator.Constant, text);
        if (b == '.' && (_at + 1 == _text.Length || IsPartOfField(Peek(1)))) return AddValue(FilterOperator.Field, Field());
        if (b == '[') return TryList(out FilterValue list) && AddValue(FilterOperator.Constant, list);
        return TryOperator();
    }

    private bool AddValue(FilterOperator kind, FilterValue value)
    {
        _steps.Add(new FilterStep(kind, value));
        _depthMax = Math.Max(_depthMax, ++_depth);
        _endsValue = true;
        return true;
    }

    private bool TryNumber(out FilterValue number)
    {
        int start = _at;
        if (_text[_at] == '-') _at++;
        while (_at < _text.Length && _at - start < NumberBytesMax && IsPartOfNumber(_text[_at])) _at++;
        bool isNumber = AttributeReader.TryNumber(_text[start.._at], out double value) && (_at == _text.Length || !IsPartOfNumber(_text[_at]));
        number = FilterValue.Of(value);
        return isNumber;
    }

    private bool TryString(out FilterValue value)
    {
        value = default;
        byte quote = _text[_at++];
        int start = _at;
        while (_at < _text.Length && _text[_at] != quote) _at += _text[_at] == '\\' && _at + 1 < _text.Length ? 2 : 1;
        if (_at >= _text.Length)
        {
            _at = _text.Length;
            return false;
        }

        value = Text(_text[start.._at]);
        _at++;
        return true;
    }

    private FilterValue Field()
    {
        int start = ++_at;
        while (_at < _text.Length && IsPartOfField(_text[_at])) _at++;
        return new FilterValue(FilterKind.Unread, 0, _fields.Add(_text[start.._at]), 0);
    }

    private bool TryList(out FilterValue list)
    {
        list = default;
        _at++;
        int start = _memory.ElementCount;
        while (true)
        {
            SkipBlanks();
            if (_at == _text.Length) return false;
            if (_text[_at] == ']') break;
            FilterValue element;
            if (char.IsAsciiDigit((char)_text[_at]) || _text[_at] == '-')
            {
                if (!TryNumber(out element)) return false;
            }
            else if (_text[_at] is not ((byte)'"' or (byte)'\'') || !TryString(out element))
            {
                return false;
            }

            _memory.Add(element);
            SkipBlanks();
            if (_at == _text.Length) return false;
            if (_text[_at] == ',') _at++;
            else if (_text[_at] != ']') return false;
        }

        _at++;
        list = new FilterValue(FilterKind.List, 0, start, _memory.ElementCount - start);
        return true;
    }

    private bool TryOperator()
    {
        ReadOnlySpan<byte> rest = _text[_at..];
        if (!FilterOperators.IsPartOfName(rest[0])) return false;
        foreach ((byte[] name, FilterOperator op) in FilterOperators.Names)
        {
            if (!rest.StartsWith(name) || (op == FilterOperator.Null && rest.Length > name.Length && FilterOperators.IsPartOfName(rest[name.Length]))) continue;
            _at += name.Length;
            if (op == FilterOperator.Null) return AddValue(FilterOperator.Constant, FilterValue.Null);
            _endsValue = op == FilterOperator.Close;
            _isDisordered = _isDisordered || !TryAdd(op);
            return true;
        }

        // Read once, at the end: looking for it before each operator would make the work grow with the square.
        while (_at < _text.Length && FilterOperators.IsPartOfName(_text[_at])) _at++;
        return false;
    }

    private bool TryAdd(FilterOperator op)
    {
        if (op == FilterOperator.Open)
        {
            _waiting.Push(op);
            return true;
        }

        if (op == FilterOperator.Close)
        {
            while (_waiting.TryPop(out FilterOperator inner))
            {
                if (inner == FilterOperator.Open) return true;
                if (!TryEmit(inner)) return false;
            }

            return false;
        }

        // A power's right side comes first.
        int precedence = FilterOperators.Precedence(op) + (op == FilterOperator.Power ? 1 : 0);
        while (_waiting.TryPeek(out FilterOperator before) && before != FilterOperator.Open && FilterOperators.Precedence(before) >= precedence)
        {
            if (!TryEmit(_waiting.Pop())) return false;
        }

        _waiting.Push(op);
        return true;
    }

    private bool TryEnd()
    {
        while (_waiting.TryPop(out FilterOperator op))
        {
            if (op == FilterOperator.Open || !TryEmit(op)) return false;
        }

        return _depth == 1;
    }

    // Operators that lack an operand are errors; operands may come before their operator.
    private bool TryEmit(FilterOperator op)
    {
        int operands = FilterOperators.Operands(op);
        if (_depth < operands) return false;
        _steps.Add(new FilterStep(op, default));
        if (operands == 2) _depth--;
        return true;
    }

    private readonly FilterValue Text(ReadOnlySpan<byte> text)
    {
        int start = _memory.ByteCount;
        _memory.Add(text);
        return new FilterValue(FilterKind.String, AttributeReader.NumberOf(text), start, text.Length);
    }

    private readonly byte Peek(int ahead) => _at + ahead < _text.Length ? _text[_at + ahead] : (byte)0;

    private void SkipBlanks()
    {
        while (_at < _text.Length && AttributeReader.IsBlank(_text[_at])) _at++;
    }

    private static bool IsPartOfNumber(byte b) => char.IsAsciiDigit((char)b) || b is (byte)'.' or (byte)'e' or (byte)'E';

    private static bool IsPartOfField(byte b) => char.IsAsciiLetterOrDigit((char)b) || b is (byte)'_' or (byte)'-';
}
