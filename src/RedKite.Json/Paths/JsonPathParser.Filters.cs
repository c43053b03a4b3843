using RedKite.Json.Store;

namespace RedKite.Json.Paths;

/// <summary>
/// Filters:
/// <code>
/// or = and {|| and}   and = unary {&amp;&amp; unary}   unary = ! unary | ( or ) | operand [comparison operand]
/// operand = literal | @ segments | $ segments | function ( operand [, operand] )
/// </code>
/// </summary>
internal ref partial struct JsonPathParser
{
    // An expression inside of others.
    private int ParseNested()
    {
        if (++_nesting > NestingMax) Fail("expected fewer filters and parentheses inside of each other");
        int expression = _problem is null ? ParseOr() : 0;
        _nesting--;
        return expression;
    }

    private int ParseOr()
    {
        int left = ParseAnd();
        while (_problem is null && TakeWord("||"u8)) left = Add(new JsonExpression { Kind = JsonExpressionKind.Or, Left = left, Right = ParseAnd() });
        return left;
    }

    private int ParseAnd()
    {
        int left = ParseUnary();
        while (_problem is null && TakeWord("&&"u8)) left = Add(new JsonExpression { Kind = JsonExpressionKind.And, Left = left, Right = ParseUnary() });
        return left;
    }

    private int ParseUnary()
    {
        SkipSpace();
        if (Current == '!' && (_at + 1 >= _text.Length || _text[_at + 1] != '='))
        {
            _at++;
            SkipSpace();
            if (++_nesting > NestingMax) Fail("expected fewer filters and parentheses inside of each other");
            int operand = _problem is null ? ParseUnary() : 0;
            _nesting--;
            return Add(new JsonExpression { Kind = JsonExpressionKind.Not, Left = operand });
        }

        if (Current == '(')
        {
            _at++;
            int inner = ParseNested();
            SkipSpace();
            if (_problem is null && Current != ')') Fail("expected `)`");
            _at++;
            return inner;
        }

        int left = ParseOperand();
        if (_problem is not null || !TryComparison(out JsonComparison comparison)) return Tested(left);
        int right = ParseOperand();
        return Add(new JsonExpression { Kind = JsonExpressionKind.Compare, Comparison = comparison, Left = left, Right = right });
    }

    // An operand without a comparison.
    private int Tested(int operand)
    {
        if (_problem is not null) return operand;
        if (_path.Expressions[operand].Kind == JsonExpressionKind.Query) return Add(new JsonExpression { Kind = JsonExpressionKind.Exists, Left = operand });
        if (_path.Expressions[operand].Kind is not (JsonExpressionKind.Match or JsonExpressionKind.Search)) Fail("expected a comparison");
        return operand;
    }

    private bool TryComparison(out JsonComparison comparison)
    {
        comparison = default;
        if (TakeWord("=="u8)) comparison = JsonComparison.Equal;
        else if (TakeWord("!="u8)) comparison = JsonComparison.NotEqual;
        else if (TakeWord("<="u8)) comparison = JsonComparison.LessOrEqual;
        else if (TakeWord(">="u8)) comparison = JsonComparison.GreaterOrEqual;
        else if (TakeWord("<"u8)) comparison = JsonComparison.Less;
        else if (TakeWord(">"u8)) comparison = JsonComparison.Greater;
        else if (TakeWord("=~"u8)) comparison = JsonComparison.Matches;
        else return false;
        return true;
    }

    private int ParseOperand()
    {
        SkipSpace();
        byte c = Current;
        switch (c)
        {
            case (byte)'@' or (byte)'$':
                _at++;
                int segment = ParseSegments();
                return Add(new JsonExpression { Kind = JsonExpressionKind.Query, Segment = segment, IsOfRoot = c == '$', IsSingular = _path.IsSingular(segment) });
            case (byte)'\'' or (byte)'"':
                int text = _path.Texts.Length;
                ParseQuoted();
                if (_path.Texts.Length - text > JsonTag.InlineStringMax) Fail("expected a shorter string");
                if (_problem is not null) return 0;
                int literal = _path.Literals.Length;
                JsonLiteral.AppendString(_path.Literals, _path.Texts.Written[text..]);
                return AddLiteral(literal);
            case (byte)'-' or (>= (byte)'0' and <= (byte)'9'):
                return ParseNumber();
            default:
                return ParseWordOrFunction();
        }
    }

    private int ParseNumber()
    {
        int start = _at;
        _at++;
        while (Current is (>= (byte)'0' and <= (byte)'9') or (byte)'.' or (byte)'e' or (byte)'E' or (byte)'+' or (byte)'-') _at++;
        int literal = _path.Literals.Length;
        if (JsonParser.OfThread.TryParse(_text[start.._at], _path.Literals, null!, JsonLiteral.NamesOf(_path.Literals), 0)) return AddLiteral(literal);
        _at = start;
        Fail("expected a number");
        return 0;
    }

    private int ParseWordOrFunction()
    {
        int start = _at;
        while (Current is (>= (byte)'a' and <= (byte)'z') or (byte)'_') _at++;
        ReadOnlySpan<byte> word = _text[start.._at];
        int literal = _path.Literals.Length;
        if (word.SequenceEqual("null"u8) || word.SequenceEqual("true"u8) || word.SequenceEqual("false"u8))
        {
            JsonLiteral.AppendWord(_path.Literals, word[0] == 'n' ? JsonKind.Null : JsonKind.Boolean, word[0] == 't');
            return AddLiteral(literal);
        }

        JsonExpressionKind kind = word.SequenceEqual("length"u8) ? JsonExpressionKind.Length
            : word.SequenceEqual("count"u8) ? JsonExpressionKind.CountOf
            : word.SequenceEqual("value"u8) ? JsonExpressionKind.ValueOf
            : word.SequenceEqual("match"u8) ? JsonExpressionKind.Match
            : word.SequenceEqual("search"u8) ? JsonExpressionKind.Search
            : JsonExpressionKind.Or;
        if (kind == JsonExpressionKind.Or || Current != '(')
        {
            _at = start;
            Fail("expected a path, a literal or a function");
            return 0;
        }

        _at++;
        if (++_nesting > NestingMax) Fail("expected fewer filters and parentheses inside of each other");
        int left = _problem is null ? ParseOperand() : 0, right = 0;
        if (kind is JsonExpressionKind.Match or JsonExpressionKind.Search)
        {
            SkipSpace();
            if (Current != ',') Fail("expected `,`");
            _at++;
            if (_problem is null) right = ParseOperand();
        }

        _nesting--;
        SkipSpace();
        if (Current != ')') Fail("expected `)`");
        _at++;
        if (_problem is null && kind is JsonExpressionKind.CountOf or JsonExpressionKind.ValueOf && _path.Expressions[left].Kind != JsonExpressionKind.Query) Fail("expected a path");
        return Add(new JsonExpression { Kind = kind, Left = left, Right = right });
    }

    private bool TakeWord(ReadOnlySpan<byte> word)
    {
        SkipSpace();
        if (_at + word.Length > _text.Length || !_text[_at..].StartsWith(word)) return false;
        _at += word.Length;
        return true;
    }

    private readonly int AddLiteral(int literal) => Add(new JsonExpression { Kind = JsonExpressionKind.Literal, Literal = literal });

    private readonly int Add(in JsonExpression expression)
    {
        _path.Expressions.Add(expression);
        return _path.Expressions.Count - 1;
    }
}
