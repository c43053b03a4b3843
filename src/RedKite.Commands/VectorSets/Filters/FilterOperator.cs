namespace RedKite.Server.Commands.VectorSets.Filters;

/// <summary>The operators of filters, and what a program has beside them.</summary>
internal enum FilterOperator : byte
{
    Constant,
    Field,
    Open,
    Close,
    Null,
    Not,
    Power,
    Multiply,
    Divide,
    Remainder,
    Add,
    Subtract,
    Greater,
    GreaterOrEqual,
    Less,
    LessOrEqual,
    Equal,
    NotEqual,
    In,
    And,
    Or,
}

/// <summary>The operators by their names, with their precedence.</summary>
internal static class FilterOperators
{
    /// <summary>Longer names come before their beginnings.</summary>
    internal static readonly (byte[] Name, FilterOperator Operator)[] Names =
    [
        ("not"u8.ToArray(), FilterOperator.Not),
        ("and"u8.ToArray(), FilterOperator.And),
        ("null"u8.ToArray(), FilterOperator.Null),
        ("in"u8.ToArray(), FilterOperator.In),
        ("or"u8.ToArray(), FilterOperator.Or),
        ("**"u8.ToArray(), FilterOperator.Power),
        (">="u8.ToArray(), FilterOperator.GreaterOrEqual),
        ("<="u8.ToArray(), FilterOperator.LessOrEqual),
        ("=="u8.ToArray(), FilterOperator.Equal),
        ("!="u8.ToArray(), FilterOperator.NotEqual),
        ("&&"u8.ToArray(), FilterOperator.And),
        ("||"u8.ToArray(), FilterOperator.Or),
        ("("u8.ToArray(), FilterOperator.Open),
        (")"u8.ToArray(), FilterOperator.Close),
        ("!"u8.ToArray(), FilterOperator.Not),
        ("+"u8.ToArray(), FilterOperator.Add),
        ("-"u8.ToArray(), FilterOperator.Subtract),
        ("*"u8.ToArray(), FilterOperator.Multiply),
        ("/"u8.ToArray(), FilterOperator.Divide),
        ("%"u8.ToArray(), FilterOperator.Remainder),
        (">"u8.ToArray(), FilterOperator.Greater),
        ("<"u8.ToArray(), FilterOperator.Less),
    ];

    /// <summary>Whether an operator's name may contain a byte.</summary>
    internal static bool IsPartOfName(byte b) => char.IsAsciiLetter((char)b) || "+-*%/!()<>=|&"u8.Contains(b);

    /// <summary>The number of operands.</summary>
    internal static int Operands(FilterOperator op) => op == FilterOperator.Not ? 1 : 2;

    /// <summary>Higher ones bind first.</summary>
    internal static int Precedence(FilterOperator op) => op switch
    {
        FilterOperator.Not => 7,
        FilterOperator.Power => 6,
        FilterOperator.Multiply or FilterOperator.Divide or FilterOperator.Remainder => 5,
        FilterOperator.Add or FilterOperator.Subtract => 4,
        >= FilterOperator.Greater and <= FilterOperator.In => 3,
        FilterOperator.And => 2,
        FilterOperator.Or => 1,
        _ => 0,
    };
}
