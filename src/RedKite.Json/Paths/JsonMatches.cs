using RedKite.Json.Store;
using RedKite.Store.Memory;

namespace RedKite.Json.Paths;

/// <summary>A value that a path has found, and the ordinals of the items on the way to it, if they are wanted.</summary>
internal readonly record struct JsonMatch(JsonValue Value, int Path, int Depth);

/// <summary>How a search ended.</summary>
internal enum JsonOutcome : byte
{
    Complete,

    /// <summary>It would have taken more steps than are allowed.</summary>
    TooManySteps,

    /// <summary>There are more matches than there is room for.</summary>
    TooManyMatches,
}

/// <summary>
/// Finds what a path selects in a document, in the order of RFC 9535: of a value and all below, the value first. Each thread has one.
/// </summary>
internal sealed partial class JsonMatches
{
    // Lists that grew beyond this are not kept for the next command.
    private const int ItemsKept = 16 * 1024;

    [ThreadStatic]
    private static JsonMatches? _ofThread;

    private readonly int[] _way = new int[JsonParser.DepthMax + 1];
    private readonly JsonRegexes _regexes = new();
    private NativeList<JsonMatch> _matches;
    private NativeList<int> _ordinals;
    private NativeList<JsonValue> _found; // by queries of filters
    private JsonPath _path = null!;
    private JsonDocument _document;
    private JsonNames _names;
    private bool _wantsPaths;
    private int _depth;
    private int _queries; // of filters, which are being evaluated inside of each other
    private int _countMax;
    private long _stepsMax;

    /// <summary>The current thread's object.</summary>
    internal static JsonMatches OfThread => _ofThread ??= new JsonMatches();

    internal ReadOnlySpan<JsonMatch> Items => _matches.Items;

    /// <summary>The path that selected them.</summary>
    internal JsonPath Path => _path;

    /// <summary>The names that the document shares.</summary>
    internal JsonNames Names => _names;

    internal JsonOutcome Outcome { get; private set; }

    /// <summary>The items that were examined, and more for what takes longer.</summary>
    internal long Steps { get; private set; }

    private bool IsOver => Outcome != JsonOutcome.Complete || Steps > _stepsMax || (_queries == 0 && _matches.Count >= _countMax);

    internal ReadOnlySpan<int> PathOf(in JsonMatch match) => _ordinals.Items.Slice(match.Path, match.Depth);

    /// <summary>Finds what a path selects.</summary>
    /// <param name="document">The document.</param>
    /// <param name="path">The path.</param>
    /// <param name="wantsPaths">Whether the ways to the values are wanted.</param>
    /// <param name="stepsMax">The steps that it may take.</param>
    /// <param name="countMax">After how many values it ends.</param>
    /// <param name="withoutLast">Whether the last segment is left out.</param>
    internal JsonOutcome Find(JsonDocument document, JsonPath path, bool wantsPaths, long stepsMax, int countMax = int.MaxValue, bool withoutLast = false)
    {
        if (_matches.Count > ItemsKept) _matches.Dispose();
        if (_ordinals.Count > ItemsKept) _ordinals.Dispose();
        if (_found.Count > ItemsKept) _found.Dispose();
        _matches.Truncate(0);
        _ordinals.Truncate(0);
        _found.Truncate(0);
        (_document, _names, _path, _wantsPaths, _stepsMax, _countMax) = (document, document.Names, path, wantsPaths, stepsMax, countMax);
        (_depth, _queries, Steps, Outcome) = (0, 0, 0, JsonOutcome.Complete);
        WithoutLast = withoutLast;
        Visit(path.First, document.Root);
        if (Steps > _stepsMax) Outcome = JsonOutcome.TooManySteps;
        return Outcome;
    }

    private bool WithoutLast { get; set; }

    private void Visit(int segment, JsonValue value)
    {
        Steps++;
        if (IsOver) return;
        if (segment < 0 || (WithoutLast && _queries == 0 && _path.Segments[segment].Next < 0))
        {
            Add(value);
            return;
        }

        JsonSegment part = _path.Segments[segment];
        if (!value.IsContainer) return;
        for (int selector = part.Selector; selector >= 0; selector = _path.Selectors[selector].Next) Select(_path.Selectors[selector], part.Next, value);
        if (!part.IsDescendant) return;
        JsonItems items = value.Items;
        while (items.MoveNext() && !IsOver) Enter(segment, items);
    }

    private void Select(in JsonSelector selector, int next, JsonValue value)
    {
        bool isObject = value.Kind == JsonKind.Object;
        switch (selector.Kind)
        {
            case JsonSelectorKind.Name:
                if (isObject) SelectMember(selector, next, value);
                break;
            case JsonSelectorKind.Index:
                if (!isObject) SelectElement(selector.Start, next, value);
                break;
            case JsonSelectorKind.Slice:
                if (!isObject) SelectSlice(selector, next, value);
                break;
            case JsonSelectorKind.Wildcard:
                JsonItems all = value.Items;
                while (all.MoveNext() && !IsOver) Enter(next, all);
                break;
            default:
                JsonItems items = value.Items;
                while (items.MoveNext() && !IsOver)
                {
                    Steps++;
                    if (Test(selector.Expression, items.Value)) Enter(next, items);
                }

                break;
        }
    }

    private void SelectMember(in JsonSelector selector, int next, JsonValue value)
    {
        ReadOnlySpan<byte> name = _path.TextOf(selector);
        JsonItems items = value.Items;
        bool found = items.Find(name, _names.Find(name));
        Steps += items.Ordinal;
        if (found) Enter(next, items);
    }

    private void SelectElement(long index, int next, JsonValue value)
    {
        if (index < 0) index += value.Count;
        JsonItems items = value.Items;
        if (index >= 0 && items.Skip(index)) Enter(next, items);
    }

    // In the order of RFC 9535: with a negative step, backwards. A step of 0 selects nothing.
    private void SelectSlice(in JsonSelector selector, int next, JsonValue value)
    {
        long count = value.Count;
        long step = selector.Step == JsonSelector.Omitted ? 1 : selector.Step;
        if (step == 0) return;
        if (step > 0)
        {
            long lower = Math.Clamp(Bound(selector.Start, 0, count), 0, count), upper = Math.Clamp(Bound(selector.End, count, count), 0, count);
            JsonItems items = value.Items;
            if (lower >= upper || !items.Skip(lower)) return;
            for (long at = lower; !IsOver; at += step)
            {
                Enter(next, items);
                if (step >= upper - at) return;
                for (long i = 0; i < step; i++) items.MoveNext();
                Steps += step;
            }

            return;
        }

        long from = Math.Clamp(Bound(selector.Start, count - 1, count), -1, count - 1), to = Math.Clamp(Bound(selector.End, -count - 1, count), -1, count - 1);
        for (long at = from; at > to && !IsOver; at = at + step < at ? at + step : -1)
        {
            JsonItems items = value.Items;
            if (at < 0 || !items.Skip(at)) return;
            Steps += at >> 4;
            Enter(next, items);
        }
    }

    private static long Bound(long given, long omitted, long count) => given == JsonSelector.Omitted ? omitted : given >= 0 ? given : given + count;

    private void Enter(int segment, in JsonItems items)
    {
        if (_queries == 0) _way[_depth] = items.Ordinal;
        _depth++;
        Visit(segment, items.Value);
        _depth--;
    }

    private void Add(JsonValue value)
    {
        if (_queries > 0)
        {
            if (_found.Count >= NativeList<JsonValue>.CountMax) Outcome = JsonOutcome.TooManyMatches;
            else _found.Add(value);
            return;
        }

        int path = _ordinals.Count;
        if (_matches.Count >= NativeList<JsonMatch>.CountMax || path + _depth > NativeList<int>.CountMax)
        {
            Outcome = JsonOutcome.TooManyMatches;
            return;
        }

        if (_wantsPaths)
        {
            for (int i = 0; i < _depth; i++) _ordinals.Add(_way[i]);
        }

        _matches.Add(new JsonMatch(value, path, _depth));
    }
}
