using RedKite.Store.Values.VectorSets;

namespace RedKite.Server.Commands.VectorSets.Filters;

/// <summary>One step of a program: a constant, a field of the attributes, or an operator.</summary>
/// <param name="Value">A constant's value, or the number of a field as its start.</param>
internal readonly record struct FilterStep(FilterOperator Operator, FilterValue Value);

/// <summary>
/// A compiled filter: its steps in the order of their execution, operands before operators. It is applied to the attributes of one element
/// after the other, by one thread.
/// </summary>
/// <remarks>
/// As in Redis, an element without attributes does not match, nor does one whose attributes lack a field that the filter names, whatever the rest of the filter says; a string
/// counts as the number that it is, or as 0; a list counts as 0; and null equals null alone.
///
/// Filters and attributes are both as long as clients like, so what one does with an element is bounded in steps.
/// </remarks>
internal sealed class FilterProgram
{
    /// <summary>
    /// The steps that a filter may take for one element: bytes that are read, and what operators do with them. A step takes about a nanosecond;
    /// measured from 0.3 ns for what is copied or compared in large pieces to 1.2 for lists and fields, so that an element takes 10 ms at most.
    /// </summary>
    internal const long StepsMax = 10 << 20;

    // A longer filter is compiled each time.
    private const int KeptTextMax = 1 << 16;

    // Bytes that are compared in a step.
    private const int ComparedBytes = 8;

    // Steps of an operator, beside those of the strings and lists that it compares.
    private const int OperatorSteps = 4;
    private const int ListedSteps = 12; // of an element of a list
    private const int PowerSteps = 64;
    private const int RemainderSteps = 1024; // as many as the exponents are apart

    [ThreadStatic]
    private static FilterProgram? _last;

    private readonly byte[] _text;
    private readonly FilterStep[] _steps;
    private readonly FilterValue[] _stack;
    private readonly FilterFields _fields;
    private readonly FilterValue[] _values; // of the fields
    private readonly FilterMemory _memory;
    private long _stepsLeft;

    internal FilterProgram(ReadOnlySpan<byte> text, FilterStep[] steps, int depth, FilterFields fields, FilterMemory memory)
    {
        _text = text.ToArray();
        _steps = steps;
        _stack = new FilterValue[depth];
        _fields = fields;
        _values = new FilterValue[fields.Count];
        _memory = memory;
        memory.KeepAll();
        Predicate = Matches;
    }

    /// <summary><see cref="Matches"/>.</summary>
    internal VectorPredicate Predicate { get; }

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
        if (text.Length <= KeptTextMax) _last = program;
        return true;
    }

    /// <summary>Whether attributes match.</summary>
    /// <param name="attributes">The attributes of an element.</param>
    /// <param name="work">What a search may still do, in bytes of vectors.</param>
    internal VectorMatch Matches(ReadOnlySpan<byte> attributes, ref long work)
    {
        if (attributes.IsEmpty) return VectorMatch.No;
        _memory.Drop();
        _stepsLeft = StepsMax;
        bool matches = (_values.Length == 0 || AttributeReader.TryRead(attributes, _fields, _memory, _values, ref _stepsLeft)) && Evaluate();
        work -= (StepsMax - _stepsLeft) * VectorSearchWork.BytesPerStep;
        if (_stepsLeft < 0) return VectorMatch.TooLong;
        return matches ? VectorMatch.Yes : VectorMatch.No;
    }

    private bool Evaluate()
    {
        int depth = 0;
        foreach (ref readonly FilterStep step in _steps.AsSpan())
        {
            _stepsLeft -= OperatorSteps;
            if (_stepsLeft < 0) return false;
            switch (step.Operator)
            {
                case FilterOperator.Constant:
                    _stack[depth++] = step.Value;
                    break;
                case FilterOperator.Field:
                    _stack[depth++] = _values[step.Value.Start];
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
        FilterOperator.Power => Power(NumberOf(left), NumberOf(right)),
        FilterOperator.Multiply => NumberOf(left) * NumberOf(right),
        FilterOperator.Divide => NumberOf(left) / NumberOf(right),
        FilterOperator.Remainder => Remainder(NumberOf(left), NumberOf(right)),
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

    private double Power(double left, double right)
    {
        _stepsLeft -= PowerSteps;
        return Math.Pow(left, right);
    }

    private double Remainder(double left, double right)
    {
        _stepsLeft -= RemainderSteps;
        return left % right;
    }

    private bool AreEqual(in FilterValue left, in FilterValue right)
    {
        if (left.Kind == FilterKind.String && right.Kind == FilterKind.String)
        {
            if (left.Length != right.Length) return false;
            _stepsLeft -= left.Length / ComparedBytes;
            return _memory.Bytes(left).SequenceEqual(_memory.Bytes(right));
        }

        if (left.Kind == FilterKind.Null || right.Kind == FilterKind.Null) return left.Kind == right.Kind;
        return NumberOf(left) == NumberOf(right);
    }

    private bool IsIn(in FilterValue value, in FilterValue list)
    {
        if (value.Kind == FilterKind.String && list.Kind == FilterKind.String) return IsPart(_memory.Bytes(value), _memory.Bytes(list));
        if (list.Kind != FilterKind.List) return false;
        foreach (ref readonly FilterValue element in _memory.Elements(list))
        {
            _stepsLeft -= ListedSteps;
            if (_stepsLeft < 0 || AreEqual(value, element)) return true;
        }

        return false;
    }

    // Looks for the first byte and compares there, so that the steps are known: texts that repeat themselves cost their product.
    private bool IsPart(ReadOnlySpan<byte> part, ReadOnlySpan<byte> text)
    {
        if (part.IsEmpty) return true;
        while (text.Length >= part.Length)
        {
            int next = text.IndexOf(part[0]);
            _stepsLeft -= OperatorSteps + ((next < 0 ? text.Length : next) / ComparedBytes);
            if (next < 0 || text.Length - next < part.Length) return false;
            int same = text[next..].CommonPrefixLength(part);
            _stepsLeft -= same / ComparedBytes;
            if (same == part.Length || _stepsLeft < 0) return true;
            text = text[(next + 1)..];
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

    private static double NumberOf(in FilterValue value) => value.Kind is FilterKind.Number or FilterKind.String ? value.Number : 0;
}
