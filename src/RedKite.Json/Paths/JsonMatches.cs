using RedKite.Json.Store;
using RedKite.Store.Memory;

namespace RedKite.Json.Paths;

/// <summary>A value that a path has found, and the ordinals of the items on the way to it, if they are wanted.</summary>
internal readonly record struct JsonMatch(JsonValue Value, int Path, int Depth);

/// <summary>How much a search may find.</summary>
/// <param name="PlacesMax">How many values there may be if the ways to them are wanted; 0: they are not.</param>
/// <param name="WasAccepted">Whether memory does not bound it, because the command was accepted before.</param>
internal readonly record struct JsonBounds(int PlacesMax, bool WasAccepted)
{
    // A list that is full doubles.
    internal int CountMax<T>()
        where T : unmanaged => WasAccepted ? Array.MaxLength : (int)Math.Min(Array.MaxLength, NativeList<T>.CountMax);
}

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
/// Finds what a path selects in a document, at once or in slices. Each thread has one; a search that goes on later keeps it, and the thread gets another one.
/// </summary>
internal sealed partial class JsonMatches
{
    /// <summary>The places that a command may change: all of them are changed at once.</summary>
    internal const int PlacesMax = 4 << 20;

    // Lists that grew beyond this are not kept for the next command.
    private const int ItemsKept = 16 * 1024;

    [ThreadStatic]
    private static JsonMatches? _ofThread;

    private readonly JsonRegexes _regexes = new();
    private readonly Walk _walk;
    private readonly List<Walk> _queries = []; // of filters, by how deep they are in each other
    private NativeList<JsonMatch> _matches;
    private NativeList<int> _ordinals;
    private NativeList<JsonValue> _found; // by queries of filters
    private JsonPath _path = null!;
    private JsonDocument _document;
    private JsonNames _names;
    private JsonBounds _bounds;
    private int _openQueries;
    private int _countMax;
    private long _stepsMax;
    private long _pauseAt;

    private JsonMatches() => _walk = new Walk(this, mayPause: true);

    /// <summary>The current thread's object.</summary>
    internal static JsonMatches OfThread => _ofThread ??= new JsonMatches();

    internal ReadOnlySpan<JsonMatch> Items => _matches.Items;

    /// <summary>The path that selected them.</summary>
    internal JsonPath Path => _path;

    /// <summary>The document that was searched.</summary>
    internal JsonDocument Document => _document;

    /// <summary>The names that the document shares.</summary>
    internal JsonNames Names => _names;

    internal JsonOutcome Outcome { get; private set; }

    /// <summary>The items that were examined, and more for what takes longer.</summary>
    internal long Steps { get; private set; }

    /// <summary>Whether the path's last segment is left out.</summary>
    internal bool WithoutLast { get; private set; }

    /// <summary>Whether the search has ended.</summary>
    internal bool HasEnded => Outcome != JsonOutcome.Complete || _walk.HasEnded || _matches.Count >= _countMax;

    /// <summary>Whether nothing more is to be found.</summary>
    internal bool IsOver => Outcome != JsonOutcome.Complete || Steps > _stepsMax;

    /// <summary>Whether the slice has ended.</summary>
    internal bool IsPaused => Steps >= _pauseAt || IsOver;

    internal ReadOnlySpan<int> PathOf(in JsonMatch match) => _ordinals.Items.Slice(match.Path, match.Depth);

    /// <summary>Finds what a path selects.</summary>
    /// <param name="document">The document.</param>
    /// <param name="path">The path.</param>
    /// <param name="bounds">How much it may find.</param>
    /// <param name="stepsMax">The steps that it may take.</param>
    /// <param name="countMax">After how many values it ends.</param>
    /// <param name="withoutLast">Whether the last segment is left out.</param>
    internal JsonOutcome Find(JsonDocument document, JsonPath path, JsonBounds bounds, long stepsMax, int countMax = int.MaxValue, bool withoutLast = false)
    {
        Begin(document, path, bounds, countMax, withoutLast);
        Run(long.MaxValue, stepsMax);
        return Outcome;
    }

    /// <summary>Begins a search.</summary>
    internal void Begin(JsonDocument document, JsonPath path, JsonBounds bounds, int countMax = int.MaxValue, bool withoutLast = false)
    {
        if (_matches.Count > ItemsKept) _matches.Dispose();
        if (_ordinals.Count > ItemsKept) _ordinals.Dispose();
        if (_found.Count > ItemsKept) _found.Dispose();
        (_document, _names, _path, _bounds, _countMax) = (document, document.Names, path, bounds, countMax);
        WithoutLast = withoutLast;
        Restart();
    }

    /// <summary>Forgets what was found.</summary>
    internal void Restart()
    {
        _matches.Truncate(0);
        _ordinals.Truncate(0);
        _found.Truncate(0);
        (_openQueries, Steps, Outcome) = (0, 0, JsonOutcome.Complete);
        _walk.Begin(_path, _path.First, _document.Root);
    }

    /// <summary>Goes on with the search.</summary>
    /// <param name="pauseSteps">After how many steps it pauses.</param>
    /// <param name="stepsMax">The steps that it may take by then, from its beginning.</param>
    /// <returns>Whether it has ended.</returns>
    internal bool Run(long pauseSteps, long stepsMax)
    {
        _stepsMax = stepsMax;
        _pauseAt = pauseSteps > stepsMax ? long.MaxValue : Steps + pauseSteps;
        while (_matches.Count < _countMax && _walk.MoveNext()) Add(_walk.Value);
        if (Steps > _stepsMax) Outcome = JsonOutcome.TooManySteps;
        return HasEnded;
    }

    /// <summary>Takes its object from the thread: the search goes on after other commands.</summary>
    internal static void Keep() => _ofThread = null;

    /// <summary>Frees the memory of what was found.</summary>
    internal void Release()
    {
        _matches.Dispose();
        _ordinals.Dispose();
        _found.Dispose();
    }

    internal void AddSteps(long steps) => Steps += Math.Max(0, steps);

    private void Add(JsonValue value)
    {
        int path = _ordinals.Count, depth = _walk.Depth;
        bool wantsPath = _bounds.PlacesMax > 0;
        if (_matches.Count >= _bounds.CountMax<JsonMatch>() || (wantsPath && (_matches.Count >= _bounds.PlacesMax || path + (long)depth > _bounds.CountMax<int>())))
        {
            Outcome = JsonOutcome.TooManyMatches;
            return;
        }

        for (int i = 0; wantsPath && i < depth; i++) _ordinals.Add(_walk.OrdinalAt(i));

        _matches.Add(new JsonMatch(value, path, depth));
    }

    // Adds what a query of a filter finds. Returns where it begins.
    private int AddFound(int segment, JsonValue start)
    {
        int first = _found.Count;
        if (_openQueries == _queries.Count) _queries.Add(new Walk(this, mayPause: false));
        Walk walk = _queries[_openQueries++];
        walk.Begin(_path, segment, start);
        while (walk.MoveNext())
        {
            if (_found.Count >= _bounds.CountMax<JsonValue>()) Outcome = JsonOutcome.TooManyMatches;
            else _found.Add(walk.Value);
        }

        _openQueries--;
        return first;
    }
}
