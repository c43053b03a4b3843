using System.Text;

namespace RedKite.Repo.Tests;

/// <summary>
/// A C# source with comments and literals blanked, so that rules about code ignore prose. Line numbers are kept.
/// Expressions inside interpolated strings remain, because they are code; those of raw interpolated strings are blanked
/// with the string, because no rule needs them so far.
/// A small scanner instead of the compiler's, because the rules only need to distinguish code from other text.
/// </summary>
internal sealed class CSharpText
{
    private readonly string _source;
    private readonly StringBuilder _code;
    private int _at;

    private CSharpText(string source)
    {
        _source = source;
        _code = new StringBuilder(source.Length);
    }

    internal static string CodeOnly(string source)
    {
        CSharpText text = new(source);
        text.CopyCode(untilClosingBrace: false);
        return text._code.ToString();
    }

    private void CopyCode(bool untilClosingBrace)
    {
        int depth = 0;
        while (_at < _source.Length)
        {
            if (Starts("//")) Blank(LengthUntil("\n"));
            else if (Starts("/*")) Blank(LengthUntil("*/") + 2);
            else if (Starts("'")) BlankCharacter();
            else if (LiteralPrefixLength() is int prefix and >= 0) BlankString(prefix);
            else
            {
                char next = _source[_at];
                if (next == '{') depth++;
                if (next == '}' && depth-- == 0 && untilClosingBrace) return;
                Keep();
            }
        }
    }

    // The length of $ and @ before a quote, or -1 if no string literal starts here.
    private int LiteralPrefixLength()
    {
        int end = _at;
        while (end < _source.Length && _source[end] is '$' or '@') end++;
        return end < _source.Length && _source[end] == '"' ? end - _at : -1;
    }

    private void BlankString(int prefixLength)
    {
        bool interpolated = _source.AsSpan(_at, prefixLength).Contains('$');
        bool verbatim = _source.AsSpan(_at, prefixLength).Contains('@');
        Blank(prefixLength);

        int quotes = 0;
        while (_at + quotes < _source.Length && _source[_at + quotes] == '"') quotes++;
        if (quotes >= 3 && !verbatim)
        {
            string fence = new('"', quotes);
            Blank(quotes);
            Blank(LengthUntil(fence) + quotes);
            return;
        }

        Blank(1);
        while (_at < _source.Length)
        {
            if (verbatim && Starts("\"\"")) Blank(2);
            else if (!verbatim && Starts("\\")) Blank(2);
            else if (interpolated && (Starts("{{") || Starts("}}"))) Blank(2);
            else if (interpolated && Starts("{"))
            {
                Keep();
                CopyCode(untilClosingBrace: true);
                if (_at < _source.Length) Keep();
            }
            else if (Starts("\""))
            {
                Blank(1);
                return;
            }
            else Blank(1);
        }
    }

    private void BlankCharacter()
    {
        Blank(1);
        while (_at < _source.Length && !Starts("'")) Blank(Starts("\\") ? 2 : 1);
        Blank(1);
    }

    private bool Starts(string expected) => string.CompareOrdinal(_source, _at, expected, 0, expected.Length) == 0;

    private int LengthUntil(string end)
    {
        int found = _source.IndexOf(end, Math.Min(_at + 1, _source.Length), StringComparison.Ordinal);
        return (found < 0 ? _source.Length : found) - _at;
    }

    private void Keep() => _code.Append(_source[_at++]);

    private void Blank(int length)
    {
        for (; length > 0 && _at < _source.Length; length--, _at++)
        {
            _code.Append(_source[_at] == '\n' ? '\n' : ' ');
        }
    }
}
