using RedKite.Json.Store;

namespace RedKite.Json.Paths;

/// <summary>
/// Tests items by filters. A query that finds several values satisfies a comparison if one of them does; one that finds none satisfies no comparison, as in
/// RedisJSON (in RFC 9535 nothing equals nothing, and differs from everything else).
/// </summary>
internal sealed partial class JsonMatches
{
    // An operand: a value, or a number that a function has computed.
    private readonly record struct Term(JsonValue Value, long Number, bool IsNumber)
    {
        internal bool Exists => IsNumber || Value.Exists;
    }

    internal bool Test(int expression, JsonValue current)
    {
        if (IsOver) return false;
        JsonExpression part = _path.Expressions[expression];
        switch (part.Kind)
        {
            case JsonExpressionKind.Or:
                return Test(part.Left, current) || Test(part.Right, current);
            case JsonExpressionKind.And:
                return Test(part.Left, current) && Test(part.Right, current);
            case JsonExpressionKind.Not:
                return !Test(part.Left, current);
            case JsonExpressionKind.Exists:
                int start = Evaluate(part.Left, current, out Term single);
                bool exists = start < 0 ? single.Exists : _found.Count > start;
                if (start >= 0) _found.Truncate(start);
                return exists;
            case JsonExpressionKind.Match or JsonExpressionKind.Search:
                return Any(part.Left, part.Right, current, JsonComparison.Matches, isWhole: part.Kind == JsonExpressionKind.Match);
            default:
                return Any(part.Left, part.Right, current, part.Comparison, isWhole: false);
        }
    }

    // Whether one of the left operand's values and one of the right one's satisfy a comparison.
    private bool Any(int left, int right, JsonValue current, JsonComparison comparison, bool isWhole)
    {
        int start = Evaluate(left, current, out Term leftTerm), leftEnd = _found.Count;
        int rightStart = Evaluate(right, current, out Term rightTerm), rightEnd = _found.Count;
        bool any = false;
        for (int i = Math.Max(start, 0); !any && !IsOver && (start < 0 ? i == 0 : i < leftEnd); i++)
        {
            if (start >= 0) leftTerm = new Term(_found.Items[i], 0, false);
            for (int j = rightStart < 0 ? 0 : rightStart; !any && !IsOver && (rightStart < 0 ? j == 0 : j < rightEnd); j++)
            {
                if (rightStart >= 0) rightTerm = new Term(_found.Items[j], 0, false);
                any = Compare(leftTerm, rightTerm, comparison, isWhole, IsLiteral(right));
            }
        }

        if (start >= 0) _found.Truncate(start);
        else if (rightStart >= 0) _found.Truncate(rightStart);
        return any;
    }

    private bool IsLiteral(int expression) => _path.Expressions[expression].Kind == JsonExpressionKind.Literal;

    // Returns where the values of a query begin among those that were found, or -1: there is one term, or none.
    private int Evaluate(int expression, JsonValue current, out Term term)
    {
        JsonExpression part = _path.Expressions[expression];
        term = default;
        switch (part.Kind)
        {
            case JsonExpressionKind.Literal:
                term = new Term(_path.LiteralOf(part), 0, false);
                return -1;
            case JsonExpressionKind.Query when part.IsSingular:
                term = new Term(Single(part.Segment, part.IsOfRoot ? _document.Root : current), 0, false);
                return -1;
            case JsonExpressionKind.Query:
                return AddFound(part.Segment, part.IsOfRoot ? _document.Root : current);
            default:
                int first = Evaluate(part.Left, current, out Term argument);
                int count = first < 0 ? (argument.Exists ? 1 : 0) : _found.Count - first;
                if (first >= 0 && count == 1) argument = new Term(_found.Items[first], 0, false);
                if (first >= 0) _found.Truncate(first);
                if (part.Kind == JsonExpressionKind.CountOf) term = new Term(default, count, true);
                else if (count == 1) term = part.Kind == JsonExpressionKind.ValueOf ? argument : LengthOf(argument);
                return -1;
        }
    }

    private static Term LengthOf(Term argument)
    {
        if (!argument.Value.Exists) return default;
        return argument.Value.Kind switch
        {
            JsonKind.String => new Term(default, CharactersOf(argument.Value.Text), true),
            JsonKind.Array or JsonKind.Object => new Term(default, argument.Value.Count, true),
            _ => default,
        };
    }

    private static long CharactersOf(ReadOnlySpan<byte> text)
    {
        long characters = 0;
        foreach (byte b in text) characters += (b & 0xC0) != 0x80 ? 1 : 0;
        return characters;
    }

    private JsonValue Single(int segment, JsonValue value)
    {
        for (; segment >= 0; segment = _path.Segments[segment].Next)
        {
            Steps++;
            JsonSelector selector = _path.Selectors[_path.Segments[segment].Selector];
            if (selector.Kind == JsonSelectorKind.Name)
            {
                if (value.Kind != JsonKind.Object) return default;
                ReadOnlySpan<byte> name = _path.TextOf(selector);
                long steps = 0;
                value = value.Find(name, _names.Find(name), out _, ref steps);
                Steps += steps;
            }
            else
            {
                if (value.Kind != JsonKind.Array) return default;
                value = value.At(selector.Start < 0 ? selector.Start + value.Count : selector.Start);
            }

            if (!value.Exists) return default;
        }

        return value;
    }

    private bool Compare(Term left, Term right, JsonComparison comparison, bool isWhole, bool rightIsLiteral)
    {
        Steps++;
        if (!left.Exists || !right.Exists) return false;
        if (comparison == JsonComparison.Matches)
        {
            if (left.IsNumber || right.IsNumber || left.Value.Kind != JsonKind.String || right.Value.Kind != JsonKind.String) return false;
            Steps += left.Value.Text.Length;
            return _regexes.IsMatch(right.Value.Text, left.Value.Text, isWhole);
        }

        if (comparison is JsonComparison.Equal or JsonComparison.NotEqual) return AreEqual(left, right, rightIsLiteral) == (comparison == JsonComparison.Equal);
        if (Order(left, right) is { } order)
        {
            return comparison switch
            {
                JsonComparison.Less => order < 0,
                JsonComparison.LessOrEqual => order <= 0,
                JsonComparison.Greater => order > 0,
                _ => order >= 0,
            };
        }

        return comparison is JsonComparison.LessOrEqual or JsonComparison.GreaterOrEqual && AreEqual(left, right, rightIsLiteral);
    }

    private bool AreEqual(Term left, Term right, bool rightIsLiteral)
    {
        if (left.IsNumber || right.IsNumber) return Order(left, right) == 0;
        long steps = 0;
        bool areEqual = left.Value.IsEqual(_names, right.Value, rightIsLiteral ? JsonLiteral.NamesOf(_path.Literals) : _names, isExact: false, ref steps);
        Steps += steps;
        return areEqual;
    }

    // The order of two numbers or two strings; null: there is none.
    private int? Order(Term left, Term right)
    {
        bool leftIsNumber = left.IsNumber || left.Value.IsNumber, rightIsNumber = right.IsNumber || right.Value.IsNumber;
        if (leftIsNumber && rightIsNumber)
        {
            bool areIntegers = IsInteger(left) && IsInteger(right);
            double leftDouble = DoubleOf(left), rightDouble = DoubleOf(right);
            return areIntegers ? IntegerOf(left).CompareTo(IntegerOf(right)) : double.IsNaN(leftDouble) ? null : leftDouble.CompareTo(rightDouble);
        }

        if (leftIsNumber || rightIsNumber || left.Value.Kind != JsonKind.String || right.Value.Kind != JsonKind.String) return null;
        Steps += Math.Min(left.Value.Text.Length, right.Value.Text.Length) >> 4;
        return left.Value.Text.SequenceCompareTo(right.Value.Text);
    }

    private static bool IsInteger(Term term) => term.IsNumber || term.Value.Kind == JsonKind.Integer;

    private static Int128 IntegerOf(Term term) => term.IsNumber ? term.Number : term.Value.IsUnsigned ? term.Value.Unsigned : term.Value.Integer;

    private static double DoubleOf(Term term) => term.IsNumber ? term.Number : term.Value.Double;
}
