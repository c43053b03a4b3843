using RedKite.Json.Store;
using RedKite.Store.Memory;

namespace RedKite.Json.Paths;

/// <summary>How a segment of a path selects items.</summary>
internal enum JsonSelectorKind : byte
{
    Name,
    Wildcard,
    Index,
    Slice,
    Filter,
}

/// <summary>One of a segment's selectors. Which of the numbers counts depends on its kind.</summary>
internal struct JsonSelector
{
    /// <summary>A part of a slice that is not given.</summary>
    internal const long Omitted = long.MinValue;

    internal JsonSelectorKind Kind;
    internal int Text;
    internal int TextBytes;
    internal long Start;
    internal long End;
    internal long Step;
    internal int Expression;

    /// <summary>The segment's next selector; -1: none.</summary>
    internal int Next;
}

/// <summary>A segment of a path: what it selects of a value's items, or of those and all below.</summary>
internal struct JsonSegment
{
    internal bool IsDescendant;
    internal int Selector;

    /// <summary>The path's next segment; -1: none.</summary>
    internal int Next;
}

/// <summary>What an expression of a filter is.</summary>
internal enum JsonExpressionKind : byte
{
    Or,
    And,
    Not,
    Exists,
    Compare,
    Literal,
    Query,
    Length,
    CountOf,
    ValueOf,
    Match,
    Search,
}

/// <summary>A comparison of two operands.</summary>
internal enum JsonComparison : byte
{
    Equal,
    NotEqual,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
    Matches,
}

/// <summary>A part of a filter. Operands are other parts, by their number.</summary>
internal struct JsonExpression
{
    internal JsonExpressionKind Kind;
    internal JsonComparison Comparison;
    internal int Left;
    internal int Right;

    /// <summary>A query's first segment; -1: none.</summary>
    internal int Segment;

    /// <summary>Whether a query begins at the document's root.</summary>
    internal bool IsOfRoot;

    /// <summary>Whether a query finds one value at most.</summary>
    internal bool IsSingular;

    /// <summary>Where a literal is.</summary>
    internal int Literal;
}

/// <summary>A path as it is evaluated. Each thread has one, and it is valid until the next path is parsed.</summary>
internal sealed class JsonPath
{
    /// <summary>The longest path.</summary>
    internal const int BytesMax = 16 * 1024;

    internal List<JsonSegment> Segments { get; } = [];

    internal List<JsonSelector> Selectors { get; } = [];

    internal List<JsonExpression> Expressions { get; } = [];

    /// <summary>The texts of names.</summary>
    internal NativeBuffer Texts { get; } = new();

    /// <summary>The literals of filters, as values of a document without shared names.</summary>
    internal NativeBuffer Literals { get; } = new();

    /// <summary>Whether the path is of the first version of the type: it begins with no dollar sign, and stands for one value.</summary>
    internal bool IsLegacy { get; private set; }

    /// <summary>The first segment; -1: the path is the root.</summary>
    internal int First { get; private set; }

    internal bool IsRoot => First < 0;

    /// <summary>Whether the path names one place, which may not exist.</summary>
    internal bool IsStatic => IsSingular(First);

    internal ReadOnlySpan<byte> TextOf(in JsonSelector selector) => Texts.Written.Slice(selector.Text, selector.TextBytes);

    internal JsonValue LiteralOf(in JsonExpression expression) => JsonLiteral.At(Literals, expression.Literal);

    internal void BeginAt(int segment) => First = segment;

    internal void Clear(bool isLegacy)
    {
        Segments.Clear();
        Selectors.Clear();
        Expressions.Clear();
        Texts.Clear();
        Literals.Clear();
        Literals.Write([0]); // a document's image without shared names
        First = -1;
        IsLegacy = isLegacy;
    }

    /// <summary>Whether segments from one on have a single name or index each.</summary>
    internal bool IsSingular(int segment)
    {
        for (; segment >= 0; segment = Segments[segment].Next)
        {
            JsonSegment part = Segments[segment];
            JsonSelector selector = Selectors[part.Selector];
            if (part.IsDescendant || selector.Next >= 0 || selector.Kind is not (JsonSelectorKind.Name or JsonSelectorKind.Index)) return false;
        }

        return true;
    }

    /// <summary>The last selector of a static path.</summary>
    internal JsonSelector LastSelector()
    {
        int segment = First;
        while (Segments[segment].Next >= 0) segment = Segments[segment].Next;
        return Selectors[Segments[segment].Selector];
    }
}
