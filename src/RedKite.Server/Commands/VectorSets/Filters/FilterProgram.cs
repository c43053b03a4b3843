using RedKite.Protocol;

namespace RedKite.Server.Commands.VectorSets.Filters;

/// <summary>One step of a program: a constant, a field of the attributes, or an operator.</summary>
/// <param name="Value">A constant's value, or the name of a field.</param>
internal readonly record struct FilterStep(FilterOperator Operator, FilterValue Value);

/// <summary>
/// A compiled filter: its steps in the order of their execution, operands before operators. It is applied to the attributes of one element
/// after the other, by one thread.
/// </summary>
/// <remarks>
/// As in Redis, an element without attributes does not match, nor does one whose attributes lack a field that the filter names, whatever the rest of the filter says; a string
/// counts as the number that it is, or as 0; a list counts as 0; and null equals null alone.
/// </remarks>
internal sealed class FilterProgram
{
    [ThreadStatic]
    private static FilterProgram? _last;

    private readonly byte[] _text;
    private readonly FilterStep[] _steps;
    private readonly FilterValue[] _stack;
    private readonly FilterMemory _memory;

    internal FilterProgram(ReadOnlySpan<byte> text, FilterStep[] steps, int depth, FilterMemory memory)
    {
        _text = text.ToArray();
        _steps = steps;
        _stack = new FilterValue[depth];
        _memory = memory;
        memory.KeepAll();
        Predicate = Matches;
    }

    /// <summary><see cref="Matches"/>.</summary>
    internal Store.Values.VectorSets.VectorPredicate Predicate { get; }

    /// <summary>Compiles a filter, or takes the thread's last one if it has the same text.</summary>
    /// <param name="text">The expression.</param>
    /// <param name="program">The program.</param>
    /// <param name="error">Where the error is: the rest of the text from there on, or all of it.</param>
    internal static bool TryCompile(ReadOnlySpan<byte> text, out FilterProgram program, out int error)
    {
        error = 0;
        program = _last!;
        if (_last is not null && text.SequenceEqual(_last._text)) return true;
        if (!FilterCompiler.TryCompile(text, out program, out error)) return false;
        _last = program;
        return true;
    }

    /// <summary>Whether attributes match.</summary>
    internal bool Matches(ReadOnlySpan<byte> attributes)
    {
        if (attributes.IsEmpty) return false;
        _memory.Drop();
        int depth = 0;
        foreach (ref readonly FilterStep step in _steps.AsSpan())
        {
            switch (step.Operator)
            {
                case FilterOperator.Constant:
                    _stack[depth++] = step.Value;
                    break;
                case FilterOperator.Field:
                    if (!AttributeReader.TryRead(attributes, _memory.Bytes(step.Value), _memory, out _stack[depth++])) return false;
                    break;
                case FilterOperator.Null:
                    break;
                case FilterOperator.Not:
                    _stack[depth - 1] = FilterValue.Of(!IsTrue(_stack[depth - 1]));
                    break;
                default:
                    depth--;
                    _stack[depth - 1] = FilterValue.Of(Apply(step.Operator, _stack[depth - 1], _stack[depth]));
                    break;
            }
        }

        return IsTrue(_stack[0]);
    }

    private double Apply(FilterOperator op, in FilterValue left, in FilterValue right) => op switch
    {
        FilterOperator.Power => Math.Pow(NumberOf(left), NumberOf(right)),
        FilterOperator.Multiply => NumberOf(left) * NumberOf(right),
        FilterOperator.Divide => NumberOf(left) / NumberOf(right),
        FilterOperator.Remainder => NumberOf(left) % NumberOf(right),
        FilterOperator.Add => NumberOf(left) + NumberOf(right),
        FilterOperator.Subtract => NumberOf(left) - NumberOf(right),
        FilterOperator.Greater => NumberOf(left) > NumberOf(right) ? 1 : 0,
        FilterOperator.GreaterOrEqual => NumberOf(left) >= NumberOf(right) ? 1 : 0,
        FilterOperator.Less => NumberOf(left) < NumberOf(right) ? 1 : 0,
        FilterOperator.LessOrEqual => NumberOf(left) <= NumberOf(right) ? 1 : 0,
        FilterOperator.Equal => AreEqual(left, right) ? 1 : 0,
        FilterOperator.NotEqual => AreEqual(left, right) ? 0 : 1,
        FilterOperator.In => IsIn(left, right) ? 1 : 0,
        FilterOperator.And => IsTrue(left) && IsTrue(right) ? 1 : 0,
        _ => IsTrue(left) || IsTrue(right) ? 1 : 0,
    };

    private bool AreEqual(in FilterValue left, in FilterValue right)
    {
        if (left.Kind == FilterKind.String && right.Kind == FilterKind.String) return _memory.Bytes(left).SequenceEqual(_memory.Bytes(right));
        if (left.Kind == FilterKind.Null || right.Kind == FilterKind.Null) return left.Kind == right.Kind;
        return NumberOf(left) == NumberOf(right);
    }

    private bool IsIn(in FilterValue value, in FilterValue list)
    {
        if (list.Kind != FilterKind.List) return false;
        foreach (ref readonly FilterValue element in _memory.Elements(list))
        {
            if (AreEqual(value, element)) return true;
        }

        return false;
    }

    private static bool IsTrue(in FilterValue value) => value.Kind switch
    {
        FilterKind.Number => value.Number != 0,
        FilterKind.String => value.Length > 0,
        FilterKind.List => true,
        _ => false,
    };

    private double NumberOf(in FilterValue value)
    {
        if (value.Kind == FilterKind.Number) return value.Number;
        if (value.Kind != FilterKind.String) return 0;
        ReadOnlySpan<byte> text = _memory.Bytes(value).TrimStart(" \t\n\v\f\r"u8);
        if (text.Length == 3 && AsciiText.EqualsIgnoreCase(text, "nan")) return double.NaN;
        return FloatText.TryParse(text, out double number) ? number : 0;
    }
}
