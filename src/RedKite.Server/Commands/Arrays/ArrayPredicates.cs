using System.Buffers;
using System.Diagnostics.CodeAnalysis;
using System.Text;
using System.Text.RegularExpressions;
using RedKite.Protocol;
using RedKite.Server.Commands.Arguments;
using RedKite.Server.Model;

namespace RedKite.Server.Commands.Arrays;

/// <summary>
/// What ARGREP looks for: predicates on an element's text, all or any of which must hold. Each takes time proportional to the element's length: what
/// EXACT and MATCH compare, for GLOB and RE that times the pattern's length at most.
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

    // The cost of a pattern relative to a comparison, and the fixed cost of an element.
    private const int PatternCost = 32;
    private const int ElementCost = 16;

    private static readonly TimeSpan ExpressionTimeMax = TimeSpan.FromSeconds(1); // for one element

    private readonly List<Predicate> _predicates = [];
    private bool _isAll;
    private bool _ignoresCase;
    private int _cost;

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

    /// <summary>The cost of an element, in compared bytes.</summary>
    internal long CostOf(int length) => ((long)length + ElementCost) * _cost;

    /// <summary>Whether an element matches.</summary>
    /// <param name="element">Its text.</param>
    /// <param name="error">Why that cannot be said; null: it can.</param>
    internal bool Match(ReadOnlySpan<byte> element, out string? error)
    {
        error = null;
        foreach (Predicate predicate in _predicates)
        {
            bool holds = Holds(predicate, element, ref error);
            if (error is not null) return false;
            if (holds != _isAll) return holds;
        }

        return _isAll;
    }

    private bool Holds(Predicate predicate, ReadOnlySpan<byte> element, ref string? error)
    {
        switch (predicate.Kind)
        {
            case Kind.Exact:
                return _ignoresCase ? ArrayNeedle.EqualsIgnoreCase(element, predicate.Text) : element.SequenceEqual(predicate.Text);
            case Kind.Match:
                return predicate.Needle!.IsIn(element);
        }

        if (element.Length > PatternTextMax)
        {
            error = $"ERR an element of more than {PatternTextMax} bytes can't be compared with a pattern";
            return false;
        }

        return predicate.Kind == Kind.Glob ? GlobPattern.IsMatch(predicate.Text, element, _ignoresCase) : IsMatch(predicate.Expression!, element, ref error);
    }

    // A byte is a character of Latin-1.
    private static bool IsMatch(Regex expression, ReadOnlySpan<byte> element, ref string? error)
    {
        char[] text = ArrayPool<char>.Shared.Rent(element.Length);
        try
        {
            int length = Encoding.Latin1.GetChars(element, text);
            return expression.IsMatch(text.AsSpan(0, length));
        }
        catch (RegexMatchTimeoutException)
        {
            error = "ERR the regular expression takes too long";
            return false;
        }
        finally
        {
            ArrayPool<char>.Shared.Return(text);
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
            _cost += kind is Kind.Glob or Kind.Expression ? PatternCost : 1;
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
            if (!TryExpression(predicate.Text, _ignoresCase, out Regex? expression))
            {
                error = "ERR invalid regular expression";
                return false;
            }

            _predicates[i] = predicate with { Expression = expression };
        }

        return true;
    }

    // Automata only: the time is proportional to the text's length, and back references do not exist.
    private static bool TryExpression(byte[] pattern, bool ignoresCase, [NotNullWhen(true)] out Regex? expression)
    {
        expression = null;
        RegexOptions options = RegexOptions.NonBacktracking | RegexOptions.CultureInvariant | (ignoresCase ? RegexOptions.IgnoreCase : RegexOptions.None);
        try
        {
            expression = new Regex(PosixClasses.Replace(Encoding.Latin1.GetString(pattern)), options, ExpressionTimeMax);
            return true;
        }
        catch (Exception failure) when (failure is ArgumentException or NotSupportedException)
        {
            return false; // not one, or of a kind or size that automata are not made for
        }
    }

    private readonly record struct Predicate(Kind Kind, byte[] Text, ArrayNeedle? Needle = null, Regex? Expression = null);
}
