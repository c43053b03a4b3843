using System.Runtime.CompilerServices;
using RedKite.Scripting.Interop;

namespace RedKite.Scripting.Libraries;

/// <summary>
/// A pattern of Lua 5.1 and its last match in a text. Patterns backtrack, so a short one can take as long as it wants: every step
/// counts, and the script is asked for its end. Recursion, one level for each repetition or capture, is limited.
/// </summary>
/// <remarks>Rejected: Lua 5.4's own functions. They cannot be interrupted, and they differ in empty matches, %g, zero bytes and replacements.</remarks>
internal ref struct LuaPattern
{
    internal const int CapturesMax = 32;
    private const int DepthMax = 2000;
    private const int StepsPerCheck = 1 << 14;
    private const int Unfinished = -1;
    private const int Position = -2;
    private const int NoMatch = -1;

    private readonly LuaInterpreter _owner;
    private readonly ReadOnlySpan<byte> _text;
    private readonly ReadOnlySpan<byte> _pattern;
    private Captures _starts;
    private Captures _lengths;
    private int _depth;
    private int _steps;

    /// <param name="owner">The script's interpreter.</param>
    /// <param name="text">The text.</param>
    /// <param name="pattern">The pattern, which ends at its first zero byte as a string of C does.</param>
    internal LuaPattern(LuaInterpreter owner, ReadOnlySpan<byte> text, ReadOnlySpan<byte> pattern)
    {
        _owner = owner;
        _text = text;
        int zero = pattern.IndexOf((byte)0);
        _pattern = zero < 0 ? pattern : pattern[..zero];
    }

    /// <summary>The captures of the last match.</summary>
    internal int Count { get; private set; }

    /// <summary>Whether it begins with ^, which only some functions take as an anchor.</summary>
    internal readonly bool IsAnchored => _pattern.Length > 0 && _pattern[0] == '^';

    /// <summary>Finds the first match from a position on.</summary>
    /// <param name="from">The first position.</param>
    /// <param name="takesAnchor">Whether ^ is an anchor.</param>
    /// <param name="start">Where the match begins.</param>
    /// <param name="end">Where it ends.</param>
    internal bool TryFind(int from, bool takesAnchor, out int start, out int end)
    {
        bool isAnchored = takesAnchor && IsAnchored;
        for (start = from; start <= _text.Length; start++)
        {
            Count = 0;
            _depth = 0;
            end = Match(start, isAnchored ? 1 : 0);
            if (end != NoMatch) return true;
            if (isAnchored) break;
        }

        end = NoMatch;
        return false;
    }

    /// <summary>Pushes all captures; without any, the whole match.</summary>
    internal readonly int PushCaptures(nint state, int start, int end)
    {
        int count = Count == 0 ? 1 : Count;
        for (int i = 0; i < count; i++) PushCapture(state, i, start, end);
        return count;
    }

    /// <summary>Pushes the captures, none if there are none.</summary>
    internal readonly int PushCaptures(nint state)
    {
        for (int i = 0; i < Count; i++) PushCapture(state, i, 0, 0);
        return Count;
    }

    /// <summary>Writes a capture as text.</summary>
    internal readonly void WriteCapture(ScriptOutput output, int index, int start, int end)
    {
        (int at, int length) = Capture(index, start, end);
        if (length == Position) output.Write(System.Text.Encoding.Latin1.GetBytes(Translation.NumberText.Format(at + 1)));
        else output.Write(_text.Slice(at, length));
    }

    /// <summary>Writes the whole match.</summary>
    internal readonly void WriteWhole(ScriptOutput output, int start, int end) => output.Write(_text[start..end]);

    private readonly void PushCapture(nint state, int index, int start, int end)
    {
        (int at, int length) = Capture(index, start, end);
        if (length == Position) Lua.PushInteger(state, at + 1);
        else Lua.Push(state, _text.Slice(at, length));
    }

    private readonly (int Start, int Length) Capture(int index, int start, int end)
    {
        if (index >= Count) return index == 0 ? (start, end - start) : throw new LuaException("invalid capture index");
        return _lengths[index] == Unfinished ? throw new LuaException("unfinished capture") : (_starts[index], _lengths[index]);
    }

    private readonly byte At(int index) => index < _pattern.Length ? _pattern[index] : (byte)0;

    private void Step(int count = 1)
    {
        _steps += count;
        if (_steps < StepsPerCheck) return;
        _steps = 0;
        _owner.Step();
    }

    // Returns where the match of the rest of the pattern ends.
    private int Match(int text, int pattern)
    {
        if (++_depth > DepthMax || !RuntimeHelpers.TryEnsureSufficientExecutionStack()) throw new LuaException("pattern too complex");
        int end = MatchHere(text, pattern);
        _depth--;
        return end;
    }

    private int MatchHere(int text, int pattern)
    {
        while (pattern < _pattern.Length)
        {
            Step();
            byte c = _pattern[pattern];
            byte next = At(pattern + 1);
            switch (c)
            {
                case (byte)'(':
                    return next == ')' ? BeginCapture(text, pattern + 2, Position) : BeginCapture(text, pattern + 1, Unfinished);
                case (byte)')':
                    return EndCapture(text, pattern + 1);
                case (byte)'$' when pattern + 1 == _pattern.Length:
                    return text == _text.Length ? text : NoMatch;
                case (byte)'%' when next == 'b':
                    text = MatchBalance(text, pattern + 2);
                    if (text == NoMatch) return NoMatch;
                    pattern += 4;
                    continue;
                case (byte)'%' when next == 'f':
                    pattern += 2;
                    if (At(pattern) != '[') throw new LuaException("missing '[' after '%f' in pattern");
                    if (!IsFrontier(text, ref pattern)) return NoMatch;
                    continue;
                case (byte)'%' when char.IsAsciiDigit((char)next):
                    text = MatchBackReference(text, next);
                    if (text == NoMatch) return NoMatch;
                    pattern += 2;
                    continue;
                default:
                    break;
            }

            int end = EndOfClass(pattern);
            switch (At(end))
            {
                case (byte)'?':
                    if (MatchesOne(text, pattern, end) && Match(text + 1, end + 1) is not NoMatch and var taken) return taken;
                    pattern = end + 1;
                    continue;
                case (byte)'*':
                    return MatchLongest(text, pattern, end);
                case (byte)'+':
                    return MatchesOne(text, pattern, end) ? MatchLongest(text + 1, pattern, end) : NoMatch;
                case (byte)'-':
                    return MatchShortest(text, pattern, end);
                default:
                    if (!MatchesOne(text, pattern, end)) return NoMatch;
                    text++;
                    pattern = end;
                    continue;
            }
        }

        return text;
    }

    private int MatchLongest(int text, int pattern, int end)
    {
        int count = 0;
        while (MatchesOne(text + count, pattern, end)) count++;
        for (; count >= 0; count--)
        {
            int matched = Match(text + count, end + 1);
            if (matched != NoMatch) return matched;
        }

        return NoMatch;
    }

    private int MatchShortest(int text, int pattern, int end)
    {
        while (true)
        {
            int matched = Match(text, end + 1);
            if (matched != NoMatch) return matched;
            if (!MatchesOne(text, pattern, end)) return NoMatch;
            text++;
        }
    }

    private int BeginCapture(int text, int pattern, int length)
    {
        if (Count >= CapturesMax) throw new LuaException("too many captures");
        _starts[Count] = text;
        _lengths[Count] = length;
        Count++;
        int end = Match(text, pattern);
        if (end == NoMatch) Count--;
        return end;
    }

    private int EndCapture(int text, int pattern)
    {
        int index = Count - 1;
        while (index >= 0 && _lengths[index] != Unfinished) index--;
        if (index < 0) throw new LuaException("invalid pattern capture");
        _lengths[index] = text - _starts[index];
        int end = Match(text, pattern);
        if (end == NoMatch) _lengths[index] = Unfinished;
        return end;
    }

    private int MatchBalance(int text, int pattern)
    {
        if (pattern + 1 >= _pattern.Length) throw new LuaException("unbalanced pattern");
        byte open = _pattern[pattern], close = _pattern[pattern + 1];
        if (text >= _text.Length || _text[text] != open) return NoMatch;
        int depth = 1;
        while (++text < _text.Length)
        {
            Step();
            byte c = _text[text];
            if (c == close)
            {
                if (--depth == 0) return text + 1;
            }
            else if (c == open)
            {
                depth++;
            }
        }

        return NoMatch;
    }

    private int MatchBackReference(int text, byte digit)
    {
        int index = digit - '1';
        if (index < 0 || index >= Count || _lengths[index] == Unfinished) throw new LuaException("invalid capture index");
        int length = _lengths[index];
        if (length == Position || length > _text.Length - text) return NoMatch;
        Step(length / 16);
        return _text.Slice(_starts[index], length).SequenceEqual(_text.Slice(text, length)) ? text + length : NoMatch;
    }

    private bool IsFrontier(int text, ref int pattern)
    {
        int end = EndOfClass(pattern);
        byte before = text == 0 ? (byte)0 : _text[text - 1];
        byte after = text < _text.Length ? _text[text] : (byte)0;
        bool isFrontier = !IsInSet(before, pattern, end - 1) && IsInSet(after, pattern, end - 1);
        pattern = end;
        return isFrontier;
    }

    private int EndOfClass(int pattern)
    {
        byte c = _pattern[pattern++];
        if (c == '%') return pattern < _pattern.Length ? pattern + 1 : throw new LuaException("malformed pattern (ends with '%')");
        if (c != '[') return pattern;
        if (At(pattern) == '^') pattern++;
        int begin = pattern;
        do
        {
            if (pattern >= _pattern.Length) throw new LuaException("malformed pattern (missing ']')");
            if (_pattern[pattern++] == '%' && pattern < _pattern.Length) pattern++;
        }
        while (At(pattern) != ']');
        Step((pattern - begin) / 16);
        return pattern + 1;
    }

    private bool MatchesOne(int text, int pattern, int end)
    {
        Step();
        if (text >= _text.Length) return false;
        byte c = _text[text];
        return _pattern[pattern] switch
        {
            (byte)'.' => true,
            (byte)'%' => IsInClass(c, _pattern[pattern + 1]),
            (byte)'[' => IsInSet(c, pattern, end - 1),
            var literal => literal == c,
        };
    }

    // The set from its [ to its ].
    private bool IsInSet(byte c, int pattern, int end)
    {
        Step((end - pattern) / 4);
        bool includes = true;
        if (_pattern[pattern + 1] == '^')
        {
            includes = false;
            pattern++;
        }

        while (++pattern < end)
        {
            byte first = _pattern[pattern];
            if (first == '%')
            {
                pattern++;
                if (IsInClass(c, _pattern[pattern])) return includes;
            }
            else if (_pattern[pattern + 1] == '-' && pattern + 2 < end)
            {
                pattern += 2;
                if (first <= c && c <= _pattern[pattern]) return includes;
            }
            else if (first == c)
            {
                return includes;
            }
        }

        return !includes;
    }

    private static bool IsInClass(byte c, byte letter)
    {
        var value = (char)c;
        bool? isIn = (letter | 0x20) switch
        {
            'a' => char.IsAsciiLetter(value),
            'c' => c is < 0x20 or 0x7F,
            'd' => char.IsAsciiDigit(value),
            'l' => char.IsAsciiLetterLower(value),
            'p' => c is > 0x20 and < 0x7F && !char.IsAsciiLetterOrDigit(value),
            's' => c is 0x20 or (>= 9 and <= 13),
            'u' => char.IsAsciiLetterUpper(value),
            'w' => char.IsAsciiLetterOrDigit(value),
            'x' => char.IsAsciiHexDigit(value),
            'z' => c == 0,
            _ => null,
        };
        return isIn is { } known ? known != char.IsAsciiLetterUpper((char)letter) : letter == c;
    }

    [InlineArray(CapturesMax)]
    private struct Captures
    {
        private int _first;
    }
}
