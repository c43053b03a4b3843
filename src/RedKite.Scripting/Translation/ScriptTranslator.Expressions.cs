using System.Text;

namespace RedKite.Scripting.Translation;

/// <content>Expressions: arithmetic on floats, concatenation, names and calls.</content>
internal sealed partial class ScriptTranslator
{
    private void ExpressionList()
    {
        do Expression();
        while (Take(","));
    }

    private void Expression() => Expression(out _);

    private ExpressionKind Expression(out string name) => SubExpression(0, out name);

    private ExpressionKind SubExpression(int limit, out string name)
    {
        Enter();
        Token first = _token;
        int start = first.Start;
        int remainders = 0;
        ExpressionKind kind;
        if (Is("-"))
        {
            Advance();
            Negate(first);
            (kind, name) = (ExpressionKind.Other, "");
            _parenthesized = (-1, "");
            _mayBeNil = false;
        }
        else if (Is("not") || Is("#"))
        {
            bool isLength = Is("#");
            Advance();
            int operand = _token.Start;
            if (isLength) _lengthStart = operand;
            int edits = _edits.Count;
            kind = SubExpression(UnaryPriority, out name);
            if (isLength) Length(first, operand, edits, kind, name);
            (kind, name) = (ExpressionKind.Other, "");
            _parenthesized = (-1, "");
            _mayBeNil = false;
        }
        else
        {
            bool isNil = Is("nil");
            kind = Simple(out name);
            _mayBeNil = kind switch
            {
                ExpressionKind.Constant => isNil,
                ExpressionKind.Other => _mayBeNil, // in parentheses, or a table or function
                _ => true,
            };
        }

        while (PriorityOf(out int right) is var left && left > limit)
        {
            bool isLogical = Is("and") || Is("or");
            if (Is(".."))
            {
                Chain(first, kind, name);
            }
            else if (Is("%") && ++remainders <= NestedRemaindersMax)
            {
                Remainder(first, kind, name);
            }
            else if (Is("%"))
            {
                Edit(_token.Start, 1, RemainderOperator);
                Advance();
                SubExpression(right, out _);
            }
            else if (Is("*"))
            {
                Multiply(kind, name);
            }
            else
            {
                Binary(right, kind, name);
            }

            (kind, name) = (ExpressionKind.Other, "");
            _parenthesized = (-1, "");
            _mayBeNil = isLogical;
        }

        Leave();
        return kind;
    }

    private void Binary(int right, ExpressionKind kind, string name)
    {
        Token op = _token;
        string left = NameOf(kind, name);
        Advance();
        ExpressionKind rightKind = SubExpression(right, out string rightName);
        if (op.Text is "+" or "-" or "/" or "^") MarkOperator(op, op.Text, left, NameOf(rightKind, rightName));
        else if (op.Text is "<" or "<=" or ">" or ">=") MarkOperator(op, op.Text, "", "");
    }

    // Behind its right operand, an operator gets a line of its own if messages about it need that.
    private void MarkOperator(Token op, string text, string left, string right)
    {
        int length = op.End - op.Start;
        if (left.Length + right.Length > 0 || op.Line != _lastLine) _edits.Add(new SourceEdit(op.Start, length, $"\n{text}\n") { Mark = new OperatorMark(_lastLine, left, right) });
        else if (text != op.Text) Edit(op.Start, length, text);
    }

    // A call that stands for an operation has the line of the operation's last token.
    private SourceEdit CallOf(string function, Token first, string names) => first.Line == _lastLine
        ? new SourceEdit(first.Start, 0, $"({function}({names},")
        : new SourceEdit(first.Start, 0, $"({function}\n(\n{names},") { Mark = new OperatorMark(_lastLine, "", "") };

    // Lua 5.4 has integers, which wrap around, where indexes, lengths and counters come from: a factor of 1.0 makes the product a float, and
    // the negative of 0 one with a sign.
    private void Multiply(ExpressionKind left, string name)
    {
        bool isFloat = _hasMultiplyOperator || IsNumber(left);
        string leftName = NameOf(left, name);
        Token op = _token;
        Advance();
        ExpressionKind right = SubExpression(ModuloPriority, out string rightName);
        MarkOperator(op, isFloat || IsNumber(right) ? "*" : "*1.0*", leftName, NameOf(right, rightName));
    }

    private void Negate(Token op)
    {
        int start = _token.Start;
        int first = _edits.Count;
        ExpressionKind kind = SubExpression(UnaryPriority, out string name);
        if (IsNumber(kind)) return;
        string operand = NameOf(kind, name);
        if (_hasMultiplyOperator)
        {
            MarkOperator(op, "-", operand, "");
            return;
        }

        _edits.Insert(first, new SourceEdit(start, 0, "("));
        if (operand.Length == 0) InsertHere("*1.0)");
        else _edits.Add(new SourceEdit(_lastEnd, 0, "\n*1.0\n)") { Mark = new OperatorMark(_lastLine, operand, "") });
    }

    // a % b becomes a - (a / b) // 1 * b, as Lua 5.1 computes it, where both are numbers or the names of locals, otherwise a call.
    private void Remainder(Token begin, ExpressionKind kind, string name)
    {
        int start = begin.Start;
        string? left = TextOf(kind, name, start);
        string leftName = NameOf(kind, name);
        Token op = _token;
        Advance();
        int operand = _token.Start;
        kind = SubExpression(ModuloPriority, out name);
        string? right = TextOf(kind, name, operand);
        bool isInline = left is not null && right is not null && !_hasModuloOperator;
        int first = _edits.Count;
        while (first > 0 && _edits[first - 1].At >= start) first--;
        string rightName = NameOf(kind, name);
        _edits.Insert(first, isInline ? new SourceEdit(start, 0, "(") : CallOf(Modulo, begin, $"\"{leftName}|{rightName}\""));
        if (isInline) MarkOperator(op, $"-({left}/{right})//1*", leftName, rightName);
        else Edit(op.Start, 1, ",");
        InsertHere(isInline ? ")" : "))");
    }

    // An operand that can be evaluated twice; null: another one.
    private string? TextOf(ExpressionKind kind, string name, int start)
    {
        if (IsNumber(kind)) return ScriptLexer.FloatText(_number);
        return kind is ExpressionKind.Local or ExpressionKind.Upvalue && !IsReserved(name) && _lastEnd - start == name.Length ? name : null;
    }

    private bool IsNumber(ExpressionKind kind) => kind == ExpressionKind.Constant && _numberEnd == _lastEnd;

    // first .. second .. third becomes one call.
    private void Chain(Token begin, ExpressionKind kind, string name)
    {
        int start = begin.Start;
        var names = new StringBuilder("\"").Append(NameOf(kind, name));
        int first = _edits.Count;
        int operands = 1;
        Edit(start, 0, ""); // its place
        while (Is(".."))
        {
            Edit(_token.Start, 2, ",");
            Advance();
            int operand = _token.Start;
            kind = SubExpression(ConcatenatePriority, out name);
            if (_depth + operands++ > ChainDepthMax) throw TooManyLevels();
            names.Append('|').Append(NameOf(kind, name));
            if (kind is ExpressionKind.Call or ExpressionKind.MultipleValues && !Is(".."))
            {
                Edit(operand, 0, "(");
                InsertHere(")");
            }
        }

        // The call begins in front of the first operand's own edits.
        _edits.RemoveAt(first);
        while (first > 0 && _edits[first - 1].At >= start) first--;
        string function = operands switch { 2 => "2", 3 => "3", _ => "" };
        _edits.Insert(first, CallOf(Concatenate + function, begin, names.Append('"').ToString()));
        InsertHere("))");
    }

    // The name of the operand that has just been read; parentheses do not hide it.
    private string NameOf(ExpressionKind kind, string name) =>
        kind == ExpressionKind.Other && _parenthesized.End == _lastEnd ? _parenthesized.Name : Described(kind, name);

    private static string Described(ExpressionKind kind, string name) => kind switch
    {
        ExpressionKind.Local => "local '" + name + "'",
        ExpressionKind.Global => "global '" + name + "'",
        ExpressionKind.Field => "field '" + name + "'",
        ExpressionKind.Upvalue => "upvalue '" + name + "'",
        _ => "",
    };

    private int PriorityOf(out int right)
    {
        (int left, right) = _token.Kind is TokenKind.Symbol or TokenKind.Keyword
            ? _token.Text switch
            {
                "+" or "-" => (6, 6),
                "*" or "/" or "%" => (7, 7),
                "^" => (10, 9),
                ".." => (ConcatenatePriority, 4),
                "==" or "~=" or "<" or "<=" or ">" or ">=" => (3, 3),
                "and" => (2, 2),
                "or" => (1, 1),
                _ => (0, 0),
            }
            : (0, 0);
        return left;
    }

    private ExpressionKind Simple(out string name)
    {
        name = "";
        switch (_token.Kind)
        {
            case TokenKind.Number:
                Edit(_token.Start, _token.End - _token.Start, ScriptLexer.FloatText(_token.Value));
                _number = _token.Value;
                Advance();
                _numberEnd = _lastEnd;
                return ExpressionKind.Constant;
            case TokenKind.String:
                Advance();
                return ExpressionKind.Constant;
            case TokenKind.Keyword when _token.Text is "nil" or "true" or "false":
                Advance();
                return ExpressionKind.Constant;
            case TokenKind.Keyword when _token.Text == "function":
                int line = _token.Line;
                Advance();
                Body(isMethod: false, line);
                _mayBeNil = false;
                return ExpressionKind.Other;
            case TokenKind.Symbol when _token.Text == "...":
                if (!_function.IsVariadic) throw Fail("cannot use '...' outside a vararg function");
                _function.NoteDots();
                Advance();
                return ExpressionKind.MultipleValues;
            case TokenKind.Symbol when _token.Text == "{":
                Table();
                _mayBeNil = false;
                return ExpressionKind.Other;
            default:
                return Suffixed(out name);
        }
    }

    private ExpressionKind Suffixed(out string name)
    {
        int start = _token.Start;
        ExpressionKind kind = Primary(out name);
        bool isOfTableLibrary = kind == ExpressionKind.Global && name == "table";
        bool isRedis = kind == ExpressionKind.Global && name == "redis";
        bool isNumber = kind == ExpressionKind.Global && name == ToNumber && Is("(") && !_hasEnvironments;
        string variable = name;
        bool isOfGlobal = kind == ExpressionKind.Global || (kind is ExpressionKind.Local or ExpressionKind.Upvalue && _function.IsAlias(name));
        bool isMethodCall = false;
        _mayMakeHoles |= isOfTableLibrary && !Is(".");
        bool isElement = (kind is ExpressionKind.Global or ExpressionKind.Local or ExpressionKind.Upvalue) && NoteName(variable, Is("[") || (start == _lengthStart && !Is(".") && !Is(":")));
        while (true)
        {
            if (Is("."))
            {
                Advance();
                if (_token is { Kind: TokenKind.Name, Text: "goto" })
                {
                    Edit(_lastEnd - 1, 1, "[");
                    Edit(_token.Start, 4, "\"goto\"]");
                    name = "goto";
                    Advance();
                }
                else
                {
                    name = RequireName(isField: true);
                }

                kind = ExpressionKind.Field;
                if (isRedis && name == "call" && Is("(") && _lastEnd - start == CallText.Length)
                {
                    DirectCall(start);
                    kind = ExpressionKind.Call;
                }

                isRedis = false;
            }
            else if (Is("["))
            {
                isRedis = false;
                Index(out name);
                kind = ExpressionKind.Field;
            }
            else if (Is(":"))
            {
                Advance();
                RequireName(isField: true);
                Arguments();
                isMethodCall = true;
                kind = ExpressionKind.Call;
            }
            else if (Is("(") || Is("{") || _token.Kind == TokenKind.String)
            {
                if (isNumber) NumberCall(start);
                else Arguments();
                if (name == Insert) _mayMakeHoles |= _arguments != 2;
                isNumber = false;
                name = "";
                isMethodCall = false;
                kind = ExpressionKind.Call;
            }
            else
            {
                _mayMakeHoles |= name == Insert;
                if (isElement) _element = (_lastEnd, variable);
                (_isOfGlobal, _isMethodCall) = (isOfGlobal, isMethodCall);
                return kind;
            }
        }
    }

    // Whether a name is that of a table of arguments. Any use other than reading an element or the length may change or keep the
    // table; so may functions that find globals by name.
    private bool NoteName(string name, bool isElement)
    {
        if (_function.KindOf(name) == 0)
        {
            bool isGlobal = name is "KEYS" or "ARGV";
            if ((isGlobal && !isElement) || name is "_G" or "getfenv" or "setfenv" or "load" or "loadstring") _use.NoteOtherUse();
            return isGlobal;
        }

        bool isArgument = _function.IsArgument(name);
        if (isArgument && !isElement) _function.NoteOtherUse();
        for (FunctionScope? outer = _function.Parent; outer is not null; outer = outer.Parent)
        {
            if (outer.IsArgument(name)) outer.NoteOtherUse(); // a function in it may outlive the call
        }

        return isArgument;
    }

    private void DirectCall(int start)
    {
        int edit = _edits.Count;
        _edits.Add(CallEdit(start, CallForResult));
        Arguments();
        InsertHere(")");
        _call = (start, _lastEnd, edit);
    }

    private void NumberCall(int start)
    {
        int edit = _edits.Count;
        _edits.Add(NumberEdit(start, ToNumber[1..])); // its place
        if (Arguments() is not (null or ExpressionKind.Call or ExpressionKind.MultipleValues)) _edits[edit] = NumberEdit(start, NumberOfOne);
    }

    private static SourceEdit NumberEdit(int start, string text) => new(start + 1, ToNumber.Length - 1, text);

    private static SourceEdit CallEdit(int start, string text) => new(start + 1, CallText.Length - 1, text);

    private void Index(out string name)
    {
        int line = _token.Line;
        int bracket = _token.Start;
        Advance();
        int edits = _edits.Count;
        Token index = _token;
        Expression();
        if (index.Kind == TokenKind.Number && _lastEnd == index.End && index.Text.All(char.IsAsciiDigit) && index.Value < int.MaxValue) _edits.RemoveRange(edits, _edits.Count - edits);
        _index = (bracket, index.Kind == TokenKind.String && _lastEnd == index.End, _lastEnd);
        name = index.Kind == TokenKind.String && _lastEnd == index.End && index.Text[0] != '[' ? index.Text[1..^1].Replace("\\", "", StringComparison.Ordinal) : "?";
        if (name.AsSpan().IndexOfAnyExcept(FieldCharacters) >= 0) name = "?";
        RequireMatch("]", "[", line);
    }

    private static readonly System.Buffers.SearchValues<char> FieldCharacters = System.Buffers.SearchValues.Create("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-. ?");

    private ExpressionKind Primary(out string name)
    {
        name = "";
        if (Is("("))
        {
            int line = _token.Line;
            Advance();
            string inside = NameOf(Expression(out name), name);
            RequireMatch(")", "(", line);
            (_parenthesized, name) = ((_lastEnd, inside), "");
            return ExpressionKind.Other;
        }

        if (_token.Kind != TokenKind.Name) throw Fail("unexpected symbol");
        name = RequireName();
        if (name == "arg" && !_function.IsLocal(name)) _function.NoteArg();
        return _function.KindOf(name) switch { 0 => ExpressionKind.Global, 1 => ExpressionKind.Local, _ => ExpressionKind.Upvalue };
    }

    // Returns the kind of the only argument in parentheses; null: there are others or none.
    private ExpressionKind? Arguments()
    {
        int line = _token.Line;
        _arguments = 1;
        if (_token.Kind == TokenKind.String)
        {
            Advance();
            return null;
        }

        if (Is("{"))
        {
            Table();
            _arguments = 1;
            return null;
        }

        if (!Is("(")) throw Fail("function arguments expected");
        if (line != _lastLine) throw Fail("ambiguous syntax (function call x new statement)");
        Advance();
        if (Take(")")) return null;
        ExpressionKind kind = Expression(out _);
        ExpressionKind last = kind;
        int count = 1;
        for (; Take(","); count++) last = Expression(out _);
        _arguments = HasAnyCount(last) ? -1 : count;
        RequireMatch(")", "(", line);
        return count == 1 ? kind : null;
    }

    private void Table()
    {
        int line = _token.Line;
        Require("{");
        int elements = 0;
        bool hasNil = false;
        ExpressionKind last = ExpressionKind.Constant;
        bool isSeparated = true;
        while (!Is("}"))
        {
            last = ExpressionKind.Constant;
            if (_token.Kind == TokenKind.Name && LookAhead() is { Kind: TokenKind.Symbol, Text: "=" })
            {
                if (_token.Text == "goto") Edit(_token.Start, 4, "[\"goto\"]");
                Advance();
                Advance();
                Expression();
            }
            else if (Is("["))
            {
                Index(out _);
                _mayMakeHoles |= !_index.IsName;
                Require("=");
                Expression();
            }
            else
            {
                last = Expression(out _);
                elements++;
                hasNil |= _mayBeNil;
            }

            isSeparated = Take(",") || Take(";");
            if (!isSeparated) break;
        }

        _mayMakeHoles |= (hasNil && elements > 1) || HasAnyCount(last);
        if (!HasAnyCount(last)) FillArray(elements, isSeparated);
        RequireMatch("}", "{", line);
    }
}
