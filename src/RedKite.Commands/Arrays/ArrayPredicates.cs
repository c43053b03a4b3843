using System.Diagnostics.CodeAnalysis;
using System.Text;
using RedKite.Protocol;
using RedKite.Server.Commands.Arguments;
using RedKite.Server.Model;

namespace RedKite.Server.Commands.Arrays;

/// <summary>
/// What ARGREP looks for: predicates on an element's text, all or any of which must hold. What they do is counted in steps, about the comparisons of a
/// byte: EXACT and MATCH take as many as the element has bytes, GLOB and RE that times the pattern's length at most. They stop when no steps are
/// left, within an element, too, and go on from there.
/// </summary>
internal sealed class ArrayPredicates
{
    /// <summary>Predicates of a command.</summary>
    internal const int CountMax = 250;

    /// <summary>Bytes of one pattern of GLOB or RE.</summary>
    internal const int PatternBytesMax = 2048;

    /// <summary>Bytes of all patterns of GLOB and RE of a command.</summary>
    internal const int PatternBytesTotalMax = 8192;

    /// <summary>Bytes of what MATCH looks for.</summary>
    internal const int MatchBytesMax = 1 << 20;

    /// <summary>Bytes of an element that patterns are compared with.</summary>
    internal const int PatternTextMax = 1 << 20;

    // MATCH looks through so many bytes before it can stop.
    private const int PartBytes = 1 << 16;

    // A step of a pattern takes 2 to 6 ns, a step of the other predicates about one.
    private const int GlobSteps = 4;

    private readonly List<Predicate> _predicates = [];
    private bool _isAll;
    private bool _ignoresCase;
    private int _next;      // the predicate that is compared with the element
    private int _partStart; // where MATCH goes on
    private GlobMatch _glob; // where GLOB goes on

    private enum Kind
    {
        Exact,
        Match,
        Glob,
        Expression,
    }

    /// <summary>How many elements are wanted.</summary>
    internal long Limit { get; private set; } = long.MaxValue;

    /// <summary>Whether the elements are wanted, too.</summary>
    internal bool WithValues { get; private set; }

    /// <summary>Reads the predicates and options from an argument on, which may be in any order.</summary>
    internal static bool TryReadOrReply(scoped in CommandContext cmd, int first, [NotNullWhen(true)] out ArrayPredicates? predicates)
    {
        predicates = new ArrayPredicates();
        if (predicates.TryRead(cmd, first, out string? error)) return true;
        cmd.Reply.Error(error);
        predicates = null;
        return false;
    }

    /// <summary>Whether an element matches.</summary>
    /// <param name="element">Its text; after a stop, the same one.</param>
    /// <param name="steps">The steps that may be taken; then those that are left.</param>
    /// <param name="error">Why that cannot be said; null: it can.</param>
    /// <returns>Null: it has stopped.</returns>
    internal bool? Match(ReadOnlySpan<byte> element, ref long steps, out string? error)
    {
        error = null;
        for (; _next < _predicates.Count; _next++)
        {
            bool? holds = Holds(_predicates[_next], element, ref steps, ref error);
            if (holds is null) return null;
            if (error is null && holds == _isAll) continue;
            _next = 0;
            return error is null && holds.Value;
        }

        _next = 0;
        return _isAll;
    }

    /// <summary>Forgets an element within which it has stopped.</summary>
    internal void Restart()
    {
        _next = _partStart = 0;
        _glob = default;
        foreach (Predicate predicate in _predicates) predicate.Expression?.Restart();
    }

    private bool? Holds(Predicate predicate, ReadOnlySpan<byte> element, ref long steps, ref string? error)
    {
        switch (predicate.Kind)
        {
            case Kind.Exact:
                if (element.Length != predicate.Text.Length) return false;
                steps -= _ignoresCase ? element.Length : element.Length / sizeof(long);
                return _ignoresCase ? ArrayNeedle.EqualsIgnoreCase(element, predicate.Text) : element.SequenceEqual(predicate.Text);
            case Kind.Match:
                return Contains(predicate, element, ref steps);
        }

        if (element.Length > PatternTextMax)
        {
            error = $"ERR an element of more than {PatternTextMax} bytes can't be compared with a pattern";
            return false;
        }

        if (predicate.Kind == Kind.Expression) return predicate.Expression!.IsIn(element, ref steps);
        long globSteps = Math.Max(1, steps / GlobSteps);
        long before = globSteps;
        bool? matches = GlobPattern.IsMatch(predicate.Text, element, _ignoresCase, ref _glob, ref globSteps);
        steps -= (before - globSteps) * GlobSteps;
        if (matches is not null) _glob = default;
        return matches;
    }

    // In parts that overlap by what is looked for.
    private bool? Contains(Predicate predicate, ReadOnlySpan<byte> element, ref long steps)
    {
        while (true)
        {
            int end = (int)Math.Min(element.Length, (long)_partStart + PartBytes + predicate.Text.Length);
            bool isLast = end == element.Length;
            bool found = predicate.Needle!.IsIn(element[_partStart..end]);
            steps -= end - _partStart;
            _partStart = found || isLast ? 0 : _partStart + PartBytes;
            if (found || isLast) return found;
            if (steps <= 0) return null;
        }
    }

    private bool TryRead(scoped in CommandContext cmd, int first, [NotNullWhen(false)] out string? error)
    {
        bool isAny = false;
        int patternBytes = 0;
        error = "ERR syntax error";
        var options = new OptionReader(cmd, first);
        while (options.More)
        {
            if (options.Take("AND"u8)) _isAll = true;
            else if (options.Take("OR"u8)) isAny = true;
            else if (options.Take("NOCASE"u8)) _ignoresCase = true;
            else if (options.Take("WITHVALUES"u8)) WithValues = true;
            else if (options.TakeWithValue("LIMIT"u8, out int limit))
            {
                if (!RespNumber.TryParseInt64(cmd[limit], out long value) || value <= 0)
                {
                    error = "ERR LIMIT must be a positive integer";
                    return false;
                }

                Limit = value;
            }
            else if (TryTake(ref options, out Kind kind, out int text))
            {
                if (kind is Kind.Glob or Kind.Expression) patternBytes += cmd[text].Length;
                if (!TryAdd(kind, cmd[text], patternBytes, ref error)) return false;
            }
            else return false;
        }

        if (_predicates.Count == 0 || (_isAll && isAny)) return false;
        return TryPrepare(ref error);
    }

    private static bool TryTake(scoped ref OptionReader options, out Kind kind, out int text)
    {
        kind = Kind.Exact;
        if (options.TakeWithValue("EXACT"u8, out text)) return true;
        kind = Kind.Match;
        if (options.TakeWithValue("MATCH"u8, out text)) return true;
        kind = Kind.Glob;
        if (options.TakeWithValue("GLOB"u8, out text)) return true;
        kind = Kind.Expression;
        return options.TakeWithValue("RE"u8, out text);
    }

    private bool TryAdd(Kind kind, ReadOnlySpan<byte> text, int patternBytes, ref string error)
    {
        if (_predicates.Count == CountMax) error = $"ERR more than {CountMax} predicates";
        else if (kind is Kind.Glob or Kind.Expression && text.Length > PatternBytesMax) error = $"ERR a pattern has more than {PatternBytesMax} bytes";
        else if (patternBytes > PatternBytesTotalMax) error = $"ERR the patterns have more than {PatternBytesTotalMax} bytes";
        else if (kind == Kind.Match && text.Length > MatchBytesMax) error = $"ERR what MATCH looks for has more than {MatchBytesMax} bytes";
        else
        {
            _predicates.Add(new Predicate(kind, text.ToArray()));
            return true;
        }

        return false;
    }

    // NOCASE may follow the predicates.
    private bool TryPrepare(ref string error)
    {
        for (int i = 0; i < _predicates.Count; i++)
        {
            Predicate predicate = _predicates[i];
            if (predicate.Kind == Kind.Match) _predicates[i] = predicate with { Needle = new ArrayNeedle(predicate.Text, _ignoresCase) };
            if (predicate.Kind != Kind.Expression) continue;
            if (!ArrayExpression.TryCompile(PosixClasses.Replace(Encoding.Latin1.GetString(predicate.Text)), _ignoresCase, out ArrayExpression? expression))
            {
                error = "ERR invalid regular expression";
                return false;
            }

            _predicates[i] = predicate with { Expression = new ArrayExpressionMatch(expression) };
        }

        return true;
    }

    private readonly record struct Predicate(Kind Kind, byte[] Text, ArrayNeedle? Needle = null, ArrayExpressionMatch? Expression = null);
}
