using System.Globalization;
using System.Text;

namespace RedKite.Scripting.Translation;

/// <summary>The kinds of tokens that the parser distinguishes; a symbol or keyword is identified by its text.</summary>
internal enum TokenKind
{
    End,
    Name,
    Keyword,
    Symbol,
    Number,
    String,
}

/// <summary>A token and where it is in the source.</summary>
internal readonly record struct Token(TokenKind Kind, string Text, int Start, int End, int Line)
{
    /// <summary>A number's value.</summary>
    internal double Value { get; init; }

    /// <summary>The token's text in messages.</summary>
    internal string Shown => Kind == TokenKind.End ? "<eof>" : Text;
}

/// <summary>
/// Splits a script into Lua 5.1's tokens, and notes as edits what Lua 5.4 reads differently: numbers, escapes in strings.
/// The source is bytes, one character each.
/// </summary>
internal sealed class ScriptLexer(string source, string chunkName, List<SourceEdit> edits)
{
    private static readonly HashSet<string> Keywords =
    [
        "and", "break", "do", "else", "elseif", "end", "false", "for", "function", "if", "in", "local", "nil", "not", "or", "repeat", "return", "then",
        "true", "until", "while",
    ];

    // A string for each symbol of one character.
    private static readonly string[] Symbols = [.. Enumerable.Range(0, byte.MaxValue + 1).Select(code => ((char)code).ToString())];

    private static readonly HashSet<string>.AlternateLookup<ReadOnlySpan<char>> KeywordsBySpan = Keywords.GetAlternateLookup<ReadOnlySpan<char>>();

    // A string for each name, however often it occurs.
    private readonly HashSet<string>.AlternateLookup<ReadOnlySpan<char>> _names = new HashSet<string>(StringComparer.Ordinal).GetAlternateLookup<ReadOnlySpan<char>>();

    private int _at;

    internal int Line { get; private set; } = 1;

    internal ScriptSyntaxException TooManyEdits() =>
        new($"{chunkName}:{Line}: more than {ScriptSize.EditsMax} operators, calls and escapes, the limit by the memory that the process may use");

    /// <summary>Reads the next token.</summary>
    internal Token Next()
    {
        SkipBlanks();
        int start = _at;
        if (_at >= source.Length) return new Token(TokenKind.End, "<eof>", start, start, Line);
        char c = source[_at];
        if (IsLetter(c))
        {
            while (_at < source.Length && (IsLetter(source[_at]) || char.IsAsciiDigit(source[_at]))) _at++;
            ReadOnlySpan<char> word = source.AsSpan(start.._at);
            return KeywordsBySpan.TryGetValue(word, out string? keyword)
                ? new Token(TokenKind.Keyword, keyword, start, _at, Line)
                : new Token(TokenKind.Name, Name(word), start, _at, Line);
        }

        if (char.IsAsciiDigit(c) || (c == '.' && char.IsAsciiDigit(Peek(1)))) return ReadNumber();
        if (c is '"' or '\'') return ReadString(c);
        if (c == '[' && LevelAt(_at) is >= 0 and var level)
        {
            int line = Line;
            SkipLong(level, "string");
            return new Token(TokenKind.String, source[start.._at], start, _at, line);
        }

        string symbol = (c, Peek(1)) switch
        {
            ('.', '.') => Peek(2) == '.' ? "..." : "..",
            ('=', '=') => "==",
            ('~', '=') => "~=",
            ('<', '=') => "<=",
            ('>', '=') => ">=",
            _ => Symbols[c],
        };
        _at += symbol.Length;
        return new Token(TokenKind.Symbol, symbol, start, _at, Line);
    }

    /// <summary>A syntax error as Lua 5.1 words it.</summary>
    internal ScriptSyntaxException Error(string message, string? near, int line) =>
        new($"{chunkName}:{line}: {message}{(near is null || near.StartsWith('\0') ? "" : $" near '{near}'")}");

    private static bool IsLetter(char c) => char.IsAsciiLetter(c) || c == '_';

    private string Name(ReadOnlySpan<char> word)
    {
        if (_names.TryGetValue(word, out string? name)) return name;
        name = word.ToString();
        _names.Set.Add(name);
        return name;
    }

    private char Peek(int ahead) => _at + ahead < source.Length ? source[_at + ahead] : '\0';

    private void SkipBlanks()
    {
        while (_at < source.Length)
        {
            char c = source[_at];
            if (c is '\n' or '\r') SkipLineEnd();
            else if (c is ' ' or '\t' or '\v' or '\f') _at++;
            else if (c == '-' && Peek(1) == '-') SkipComment();
            else return;
        }
    }

    private void SkipLineEnd()
    {
        char first = source[_at++];
        if (_at < source.Length && source[_at] is '\n' or '\r' && source[_at] != first) _at++;
        Line++;
    }

    private void SkipComment()
    {
        _at += 2;
        if (Peek(0) == '[' && LevelAt(_at) is >= 0 and var level)
        {
            SkipLong(level, "comment");
            return;
        }

        int rest = source.AsSpan(_at).IndexOfAny('\n', '\r');
        _at = rest < 0 ? source.Length : _at + rest;
    }

    // The number of equal signs of a long bracket; -1: it is not a long bracket.
    private int LevelAt(int at)
    {
        int end = at + 1;
        while (end < source.Length && source[end] == '=') end++;
        return end < source.Length && source[end] == '[' ? end - at - 1 : -1;
    }

    private void SkipLong(int level, string what)
    {
        string close = "]" + new string('=', level) + "]";
        _at += level + 2;
        while (_at < source.Length)
        {
            if (source[_at] is '\n' or '\r')
            {
                SkipLineEnd();
            }
            else if (string.CompareOrdinal(source, _at, close, 0, close.Length) == 0)
            {
                _at += close.Length;
                return;
            }
            else
            {
                _at++;
            }
        }

        throw Error($"unfinished long {what}", "<eof>", Line);
    }

    private Token ReadNumber()
    {
        int start = _at;
        while (_at < source.Length && (char.IsAsciiDigit(source[_at]) || source[_at] == '.')) _at++;
        if (_at < source.Length && source[_at] is 'e' or 'E')
        {
            _at++;
            if (_at < source.Length && source[_at] is '+' or '-') _at++;
        }

        while (_at < source.Length && (IsLetter(source[_at]) || char.IsAsciiDigit(source[_at]))) _at++;
        string text = source[start.._at];
        if (!NumberText.TryParse(Encoding.Latin1.GetBytes(text), out double value)) throw Error("malformed number", text, Line);
        return new Token(TokenKind.Number, text, start, _at, Line) { Value = value };
    }

    private Token ReadString(char quote)
    {
        int start = _at++;
        int line = Line;
        while (true)
        {
            if (_at >= source.Length) throw Error("unfinished string", "<eof>", Line);
            char c = source[_at];
            if (c is '\n' or '\r') throw Error("unfinished string", source[start.._at], Line);
            _at++;
            if (c == quote) return new Token(TokenKind.String, source[start.._at], start, _at, line);
            if (c == '\\' && _at < source.Length) ReadEscape(start);
        }
    }

    // Behind a backslash. An unknown escape is the character itself; Lua 5.4 knows more of them and refuses the rest.
    private void ReadEscape(int start)
    {
        char c = source[_at];
        if (c is '\n' or '\r')
        {
            SkipLineEnd();
        }
        else if (char.IsAsciiDigit(c))
        {
            int code = 0;
            int escape = _at - 1;
            for (int i = 0; i < 3 && _at < source.Length && char.IsAsciiDigit(source[_at]); i++) code = (code * 10) + (source[_at++] - '0');
            if (code > byte.MaxValue) throw Error("escape sequence too large", source[start..escape], Line);
        }
        else
        {
            if (!"abfnrtv\\\"'".Contains(c, StringComparison.Ordinal)) edits.Add(new SourceEdit(_at - 1, 1, ""));
            if (edits.Count > ScriptSize.EditsMax) throw TooManyEdits();
            _at++;
        }
    }

    /// <summary>A number as Lua 5.4 reads it as a float.</summary>
    internal static string FloatText(double value)
    {
        if (Math.Abs(value) < 1e15 && value == Math.Floor(value)) return value.ToString("F1", CultureInfo.InvariantCulture);
        if (double.IsPositiveInfinity(value)) return "1e999";
        string text = value.ToString("R", CultureInfo.InvariantCulture);
        return text.AsSpan().IndexOfAny('.', 'E') < 0 ? text + ".0" : text;
    }
}
