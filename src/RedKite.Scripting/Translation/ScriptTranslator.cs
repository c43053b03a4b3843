namespace RedKite.Scripting.Translation;

/// <summary>
/// Translates a script of Lua 5.1 into Lua 5.4, and reports syntax errors as Lua 5.1 words them. Only what differs is edited.
/// </summary>
/// <remarks>
/// <para>
/// Numbers: Lua 5.1 has only floats. Literals become floats, except where an integer cannot be distinguished from one (indexes,
/// numeric for loops). Concatenation writes numbers with 14 digits, so a chain of it becomes one call, with the operands' names for
/// messages.
/// </para>
/// <para>
/// Endless loops: each loop iteration and each function call reads a flag that other threads raise (<see cref="Interop.InterruptFlag"/>), and
/// then asks whether the script may continue.
/// </para>
/// <para>
/// redis.call: the script cannot replace it, so a direct call of it takes neither the lookups through the protected tables nor the Lua
/// function for any number of arguments, and as a statement it has no result.
/// </para>
/// <para>
/// tonumber: with one argument it becomes a call of a function that has one, without the lookup of the global, unless the script changes the
/// environments of functions.
/// </para>
/// <para>
/// A call in tail position of a function would hide its line from messages, since redis.call and others are Lua functions here but
/// were C functions there. Where the function may be one of a library (a global, a local with the value of one, a method), it is called
/// first and its results are returned.
/// </para>
/// <para>
/// Lines: an operation has the line of its last token in Lua 5.1, and of its operator in Lua 5.4; and only Lua 5.1 names the operands of
/// arithmetic on strings. So an operator that needs it gets a line of its own, and the chunk's source says what that line stands for
/// (<see cref="ChunkSource"/>). This costs nothing until there is an error.
/// </para>
/// </remarks>
internal sealed partial class ScriptTranslator
{
    // Names of locals that the translated text uses. Where a script uses such a name, it gets another one (IsReserved).
    private const string Concatenate = "__rk_c";
    private const string Check = " if __rk_f then __rk_t() end ";
    private const string Results = "__rk_v";
    private const string Modulo = "__rk_m";
    private const string Begin = "return function(...) ";

    // Direct calls of redis.call. The edit begins behind the first letter, because others insert text in front of it.
    private const string CallText = "redis.call";
    private const string CallForResult = "__k(r__c";
    private const string CallForEffect = "__k(r__e";

    // tonumber with one argument; its edit begins behind the first letter, too.
    private const string ToNumber = "tonumber";
    private const string NumberOfOne = "__n";

    private const int DepthMax = 190;
    private const int ChainDepthMax = 200; // each .. is a level, as in Lua 5.1
    private const int NestedRemaindersMax = 30; // of one chain of operators; a call for each more would be nested too deeply for Lua
    private const string RemainderOperator = "//__rk_o//";
    private const int LocalsMax = 200;
    private const int UnaryPriority = 8;
    private const int ConcatenatePriority = 5;
    private const int ModuloPriority = 7;

    private readonly ScriptLexer _lexer;
    private readonly List<SourceEdit> _edits = [];
    private readonly string _source;
    private readonly bool _returnsOne;
    private readonly bool _hasModuloOperator; // its own, in a metatable
    private readonly bool _hasMultiplyOperator;
    private readonly bool _hasEnvironments; // that it may change
    private FunctionScope _function = new(null, 0);
    private Token _token;
    private Token _ahead;
    private bool _hasAhead;
    private int _lastLine = 1;
    private int _lastEnd;
    private int _depth;
    private int _numberEnd = -1;
    private double _number; // the literal that ends there
    private (int Start, int End, int Edit) _call; // the last direct call of redis.call
    private readonly ArgumentUse _use = new();
    private int _lengthStart = -1; // the operand of the last #
    private (int End, string Name) _element = (-1, ""); // the last element of a table of arguments
    private bool _isOfGlobal; // the last name or field is a global's, or that of a local with the value of one
    private bool _isMethodCall; // the last call
    private (int End, string Name) _parenthesized = (-1, ""); // the last expression in parentheses

    private ScriptTranslator(string source, string chunkName, bool returnsOne)
    {
        _source = source;
        _returnsOne = returnsOne;
        _hasModuloOperator = source.Contains("__mod", StringComparison.Ordinal);
        _hasEnvironments = source.Contains("setfenv", StringComparison.Ordinal);
        _hasMultiplyOperator = source.Contains("__mul", StringComparison.Ordinal) || source.Contains("__unm", StringComparison.Ordinal);
        _lexer = new ScriptLexer(source, chunkName, _edits);
        Advance();
    }

    private enum ExpressionKind
    {
        Other,
        Local,
        Global,
        Field,
        Upvalue,
        Call,
        MultipleValues,
        Constant,
    }

    /// <summary>Translates a chunk. What it calls is declared in front of it (<see cref="ChunkLocals"/>).</summary>
    /// <param name="source">The source; each character is a byte.</param>
    /// <param name="chunkName">The chunk's name in messages.</param>
    /// <param name="returnsOne">Whether only the chunk's first result is used.</param>
    /// <param name="use">How it uses its arguments.</param>
    /// <param name="marks">The lines of the result that are operators, for messages.</param>
    /// <exception cref="ScriptSyntaxException">It does not compile.</exception>
    internal static string Translate(string source, string chunkName, bool returnsOne, out ArgumentUse use, out List<(int Line, OperatorMark Mark)> marks)
    {
        var translator = new ScriptTranslator(source, chunkName, returnsOne);
        translator.All();
        bool checksLengths = translator._mayMakeHoles;
        if (checksLengths && translator._hasLengths)
        {
            translator = new ScriptTranslator(source, chunkName, returnsOne) { _checksLengths = true };
            translator.All();
        }

        use = translator._use;
        return (checksLengths ? ExactLengths : "") + Begin + SourceEdit.Apply(source, translator._edits, out marks) + "\nend";
    }

    private void All()
    {
        Chunk();
        if (_token.Kind != TokenKind.End) throw Expected("<eof>");
    }

    private void Advance()
    {
        _lastLine = _token.Line == 0 ? 1 : _token.Line;
        _lastEnd = _token.End;
        _token = _hasAhead ? _ahead : _lexer.Next();
        _hasAhead = false;
        if (_edits.Count > ScriptSize.EditsMax) throw _lexer.TooManyEdits();
    }

    private Token LookAhead()
    {
        if (!_hasAhead) _ahead = _lexer.Next();
        _hasAhead = true;
        return _ahead;
    }

    private bool Is(string text) => _token.Kind is TokenKind.Symbol or TokenKind.Keyword && _token.Text == text;

    private bool Take(string text)
    {
        if (!Is(text)) return false;
        Advance();
        return true;
    }

    private void Require(string text)
    {
        if (!Take(text)) throw Expected(text);
    }

    private void RequireMatch(string what, string opening, int line)
    {
        if (Take(what)) return;
        if (line == _token.Line) throw Expected(what);
        throw Fail($"'{what}' expected (to close '{opening}' at line {line})");
    }

    private string RequireName(bool isField = false)
    {
        if (_token.Kind != TokenKind.Name) throw Expected("<name>");
        string name = _token.Text;
        if (!isField && IsReserved(name)) Edit(_token.Start, 0, "_");
        _mayMakeHoles |= MakesHoles(name);
        Advance();
        return name;
    }

    // Words of Lua 5.4, and the translated text's own names. Those with more underscores in front are reserved, too, so that no two names
    // become one.
    private static bool IsReserved(string name)
    {
        if (name is "goto" or "_ENV" || name.StartsWith("__rk_", StringComparison.Ordinal)) return true;
        ReadOnlySpan<char> bare = name.AsSpan().TrimStart('_');
        return bare is "r__k" or "r__c" or "r__e" or "t__n" || (name.Length - bare.Length > 2 && bare.StartsWith("rk_"));
    }

    private ScriptSyntaxException Expected(string what) => Fail($"'{what}' expected");

    private ScriptSyntaxException Fail(string message) => _lexer.Error(message, _token.Shown, _lexer.Line);

    private void Edit(int at, int length, string text) => _edits.Add(new SourceEdit(at, length, text));

    private void InsertHere(string text) => Edit(_lastEnd, 0, text);

    private void Enter()
    {
        if (++_depth > DepthMax) throw TooManyLevels();
    }

    private ScriptSyntaxException TooManyLevels() => _lexer.Error("chunk has too many syntax levels", null, _lexer.Line);

    private void Leave() => _depth--;

    private bool EndsBlock() => _token.Kind == TokenKind.End || (_token.Kind == TokenKind.Keyword && _token.Text is "else" or "elseif" or "end" or "until");

    private void Chunk()
    {
        Enter();
        bool isLast = false;
        while (!isLast && !EndsBlock())
        {
            isLast = Statement();
            Take(";");
        }

        Leave();
    }

    private void Block()
    {
        _function.BeginScope();
        Chunk();
        _function.EndScope();
    }

    private bool Statement()
    {
        int line = _token.Line;
        switch (_token.Kind == TokenKind.Keyword ? _token.Text : "")
        {
            case "if":
                If(line);
                return false;
            case "while":
                Advance();
                Expression();
                Require("do");
                InsertHere(Check);
                LoopBlock();
                RequireMatch("end", "while", line);
                return false;
            case "do":
                Advance();
                Block();
                RequireMatch("end", "do", line);
                return false;
            case "for":
                For(line);
                return false;
            case "repeat":
                Repeat(line);
                return false;
            case "function":
                FunctionStatement(line);
                return false;
            case "local":
                Advance();
                if (Take("function"))
                {
                    Declare(RequireName());
                    Body(isMethod: false, line);
                }
                else
                {
                    Local();
                }

                return false;
            case "return":
                Return();
                return true;
            case "break":
                Advance();
                if (_function.Loops == 0) throw Fail("no loop to break");
                return true;
            default:
                ExpressionStatement();
                return false;
        }
    }

    private void Declare(string name, bool isAlias = false)
    {
        if (_function.Count < LocalsMax)
        {
            _function.Declare(name, isAlias);
            return;
        }

        string function = _function.IsMain ? "main function" : $"function at line {_function.Line}";
        throw _lexer.Error($"{function} has more than {LocalsMax} local variables", null, _lexer.Line);
    }

    private void LoopBlock()
    {
        _function.BeginLoop();
        Block();
        _function.EndLoop();
    }

    private void If(int line)
    {
        do
        {
            Advance();
            Expression();
            Require("then");
            Block();
        }
        while (Is("elseif"));
        if (Take("else")) Block();
        RequireMatch("end", "if", line);
    }

    private void Repeat(int line)
    {
        Advance();
        InsertHere(Check);
        _function.BeginLoop();
        _function.BeginScope();
        Chunk();
        RequireMatch("until", "repeat", line);
        Expression();
        _function.EndScope();
        _function.EndLoop();
    }

    private void For(int line)
    {
        Advance();
        var names = new List<string> { RequireName() };
        if (Is("="))
        {
            Advance();
            CountingLoop();
        }
        else if (Is(",") || Is("in"))
        {
            while (Take(",")) names.Add(RequireName());
            Require("in");
            ExpressionList();
        }
        else
        {
            throw Fail("'=' or 'in' expected");
        }

        Require("do");
        InsertHere(Check);
        _function.BeginScope();
        foreach (string name in names) Declare(name);
        LoopBlock();
        _function.EndScope();
        RequireMatch("end", "for", line);
    }

    // A loop that counts from an integer in integral steps stays one of integers, which index tables faster.
    private void CountingLoop()
    {
        int before = _edits.Count;
        bool isInteger = Number();
        int after = _edits.Count;
        Require(",");
        Expression();
        if (!Is(","))
        {
            if (isInteger) _edits.RemoveRange(before, after - before);
            return;
        }

        Advance();
        int step = _edits.Count;
        if (!Number() || !isInteger) return;
        _edits.RemoveRange(step, _edits.Count - step);
        _edits.RemoveRange(before, after - before);
    }

    // An expression; whether it is an integral literal with or without a sign, whose edits make it a float.
    private bool Number()
    {
        bool isNegative = Is("-");
        Token number = isNegative ? LookAhead() : _token;
        int start = _token.Start;
        Expression();
        return number.Kind == TokenKind.Number && number.Value == Math.Floor(number.Value) && Math.Abs(number.Value) < int.MaxValue
            && number.Text.All(char.IsAsciiDigit) && _lastEnd == number.End && start <= number.Start;
    }

    private void FunctionStatement(int line)
    {
        Advance();
        NoteName(_token.Text, isElement: false);
        _function.Use(RequireName());
        bool isMethod = false;
        while (Is(".") || Is(":"))
        {
            isMethod = Is(":");
            Advance();
            RequireName(isField: true);
            if (isMethod) break;
        }

        Body(isMethod, line);
    }

    private void Local()
    {
        var names = new List<string>();
        do names.Add(RequireName());
        while (Take(","));
        var aliases = new List<bool>();
        if (Take("="))
        {
            do
            {
                ExpressionKind kind = Expression(out _);
                aliases.Add(kind is ExpressionKind.Global or ExpressionKind.Field && _isOfGlobal);
            }
            while (Take(","));
        }

        for (int i = 0; i < names.Count; i++) Declare(names[i], isAlias: i < aliases.Count && aliases[i]);
    }

    private void Return()
    {
        Advance();
        if (EndsBlock() || Is(";")) return;
        int start = _token.Start;
        string first = _token.Kind == TokenKind.Name ? _token.Text : "";
        ExpressionKind kind = Expression(out _);
        if (kind == ExpressionKind.Call && !Is(","))
        {
            if (_function.IsMain && _returnsOne)
            {
                Edit(start, 0, "(");
                InsertHere(")");
            }
            else if (first.Length == 0 || _isMethodCall || !_function.IsLocal(first) || _function.IsAlias(first))
            {
                Edit(start, 0, Results + "(");
                InsertHere(")");
            }
        }

        while (Take(",")) Expression();
    }

    private void ExpressionStatement()
    {
        int start = _token.Start;
        ExpressionKind kind = Suffixed(out _);
        if (kind == ExpressionKind.Call)
        {
            if (_call.Start == start && _call.End == _lastEnd) _edits[_call.Edit] = CallEdit(start, CallForEffect);
            return;
        }

        while (true)
        {
            if (_element.End == _lastEnd) NoteName(_element.Name, isElement: false); // it is assigned to
            if (kind is ExpressionKind.Call or ExpressionKind.Other) throw Fail("syntax error");
            bool isOnly = Is("=") && start >= 0;
            if (kind == ExpressionKind.Field) NoteAssignment(isOnly ? start : -1);
            if (!Take(",")) break;
            start = -1;
            kind = Suffixed(out _);
        }

        Require("=");
        ExpressionList();
    }

    private void Body(bool isMethod, int line)
    {
        _function = new FunctionScope(_function, line);
        if (isMethod)
        {
            Declare("self");
            _function.NoteOtherUse();
        }

        Require("(");
        while (!Is(")"))
        {
            if (Take("..."))
            {
                _function.NoteVariadic();
                break;
            }

            if (_token.Kind != TokenKind.Name) throw Fail("<name> or '...' expected");
            Declare(RequireName());
            if (!Take(",")) break;
            if (Is(")")) throw Fail("<name> or '...' expected");
        }

        Require(")");
        int start = _lastEnd;
        Edit(start, 0, Check);
        int edit = _edits.Count - 1;
        Chunk();
        RequireMatch("end", "function", line);
        if (_function is { IsVariadic: true, UsesArg: true, UsesDots: false }) _edits[edit] = new SourceEdit(start, 0, Check + "local arg={n=__rk_s('#',...),...} ");
        _use.Note(line, _function.OnlyReadsParameters);
        _function = _function.Parent!;
    }
}
