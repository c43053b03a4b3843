using RedKite.Json.Paths;
using RedKite.Json.Store;
using RedKite.Store.Keyspace;
using RedKite.Store.Memory;

namespace RedKite.Json.Commands;

/// <summary>
/// Merges a value into others as RFC 7396 says, member by member in the order of the value: what is null is removed, an object is merged into an object, and
/// anything else replaces what is there.
/// </summary>
/// <param name="database">The database.</param>
/// <param name="arena">The arena of the key's stripe.</param>
/// <param name="stepsMax">The members that may be passed in the search for those that are merged.</param>
/// <param name="textMax">The size that the document's text may have (<see cref="JsonTextSize"/>), as if all places kept what they have.</param>
internal ref struct JsonMerge(Database database, Arena arena, long stepsMax, long textMax)
{
    // Of a change, besides the chunks that it passes: places are merged one after the other.
    private const int ChangeSteps = 128;

    [ThreadStatic]
    private static NativeBuffer? _patchOfThread;

    [ThreadStatic]
    private static int[]? _wayOfThread;

    private readonly NativeBuffer _patch = _patchOfThread ??= new NativeBuffer();
    private readonly int[] _way = _wayOfThread ??= new int[JsonParser.DepthMax + 1];
    private JsonDocument _patchDocument;
    private JsonValue _target;
    private long _steps;

    /// <summary>Parses the value that is merged.</summary>
    internal bool TryParse(ReadOnlySpan<byte> text)
    {
        _patch.Clear();
        if (!JsonParser.OfThread.TryParseDocument(text, _patch, arena)) return false;
        _patchDocument = JsonDocument.In(_patch);
        return true;
    }

    /// <summary>Merges it into the values that a path has found, the last one first: so a value inside of another one comes before that.</summary>
    internal bool TryMerge(Entry entry, JsonMatches matches, out string? error)
    {
        error = null;
        long stepsOfChange = ChangeSteps + JsonDocument.Of(entry).Root.Chunks;
        foreach (JsonMatch match in matches.Items)
        {
            _steps += stepsOfChange;
            Estimate(JsonDocument.Of(entry).Names, match.Value, _patchDocument.Root);
            if (match.Depth + DepthOf(_patchDocument.Root) > JsonParser.DepthMax) error = "recursion limit exceeded";
        }

        long added = JsonTextSize.OfDocument(_patch) * matches.Items.Length;
        if (added > textMax - JsonDocument.TextOf(entry)) error = JsonAccess.TooLarge;
        if (_steps > stepsMax) error = "ERR merging takes too many steps in this document";
        if (error is null)
        {
            using NativeList<int> order = JsonPlaces.Sorted(matches);
            for (int i = order.Count - 1; i >= 0; i--)
            {
                ReadOnlySpan<int> path = matches.PathOf(matches.Items[order.Items[i]]);
                path.CopyTo(_way);
                entry = Merge(entry, path.Length, _patchDocument.Root);
            }
        }

        JsonDocument.Free(_patch, arena);
        _patch.Clear();
        return error is null;
    }

    // Merges a value into the one at the end of the way.
    private Entry Merge(Entry entry, int depth, JsonValue patch)
    {
        _target = JsonPlaces.At(JsonDocument.Of(entry).Root, _way.AsSpan(0, depth));
        if (patch.Kind != JsonKind.Object) return Replace(entry, depth, patch);
        if (_target.Kind != JsonKind.Object) return Replace(entry, depth, patch);
        JsonItems members = patch.Items;
        while (members.MoveNext())
        {
            ReadOnlySpan<byte> name = members.Name(_patchDocument.Names);
            JsonDocument document = JsonDocument.Of(entry);
            JsonValue target = JsonPlaces.At(document.Root, _way.AsSpan(0, depth));
            long steps = 0;
            JsonValue found = target.Find(name, document.Names.Find(name), out int ordinal, ref steps);
            JsonValue value = members.Value;
            if (found.Exists)
            {
                _way[depth] = ordinal;
                entry = value.Kind == JsonKind.Null ? JsonPlaces.Remove(database, entry, arena, _way.AsSpan(0, depth + 1)) : Merge(entry, depth + 1, value);
                continue;
            }

            if (value.Kind == JsonKind.Null) continue;
            JsonEditor editor = JsonEditor.OfThread;
            editor.Begin(arena, document);
            editor.AppendName(document.Names, name);
            Append(editor, document, depth + 1, value);
            editor.AddInsertion(_way.AsSpan(0, depth), (int)target.Count, 0, 1, isMember: true);
            entry = editor.Apply(database, entry);
        }

        return entry;
    }

    private readonly Entry Replace(Entry entry, int depth, JsonValue patch)
    {
        JsonEditor editor = JsonEditor.OfThread;
        JsonDocument document = JsonDocument.Of(entry);
        editor.Begin(arena, document);
        Append(editor, document, depth, patch);
        editor.Add(JsonEditKind.Replace, _way.AsSpan(0, depth), 0);
        return editor.Apply(database, entry);
    }

    // Appends a value of the patch in the form of the document, an object without the members that are null.
    private readonly void Append(JsonEditor editor, JsonDocument document, int depth, JsonValue value)
    {
        NativeBuffer text = JsonTexts.Begin();
        JsonTextWriter.Write(text, _patchDocument.Names, value);
        JsonParser.OfThread.TryParse(text.Written, editor.Data, arena, document.Names, depth, dropsNulls: value.Kind == JsonKind.Object);
        text.Clear();
    }

    // Counts what the searches for members will pass.
    private void Estimate(JsonNames names, JsonValue target, JsonValue patch)
    {
        if (patch.Kind != JsonKind.Object || target.Kind != JsonKind.Object) return;
        JsonItems members = patch.Items;
        long added = target.Count;
        while (members.MoveNext() && _steps <= stepsMax)
        {
            _steps += 64 + added; // a change of a chunk, and the search once more
            ReadOnlySpan<byte> name = members.Name(_patchDocument.Names);
            JsonValue found = target.Find(name, names.Find(name), out _, ref _steps);
            if (found.Exists) Estimate(names, found, members.Value);
            else added++;
        }
    }

    private static int DepthOf(JsonValue value)
    {
        if (!value.IsContainer) return 0;
        int depth = 0;
        JsonItems items = value.Items;
        while (items.MoveNext()) depth = Math.Max(depth, DepthOf(items.Value));
        return depth + 1;
    }
}
