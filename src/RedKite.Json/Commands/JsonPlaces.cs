using RedKite.Json.Paths;
using RedKite.Json.Store;
using RedKite.Store.Keyspace;
using RedKite.Store.Memory;

namespace RedKite.Json.Commands;

/// <summary>Places in documents: the ordinals of the items on the way to a value.</summary>
internal static class JsonPlaces
{
    /// <summary>The value at a place.</summary>
    internal static JsonValue At(JsonValue root, ReadOnlySpan<int> path)
    {
        foreach (int ordinal in path)
        {
            JsonItems items = root.Items;
            items.Skip(ordinal);
            root = items.Value;
        }

        return root;
    }

    /// <summary>The matches in the order of their places in the document, each place once.</summary>
    internal static NativeList<int> Sorted(JsonMatches matches)
    {
        NativeList<int> order = default;
        for (int i = 0; i < matches.Items.Length; i++) order.Add(i);
        order.Items.Sort(new Order(matches));
        int kept = 0;
        for (int i = 0; i < order.Count; i++)
        {
            if (kept == 0 || !PathOf(matches, order.Items[i]).SequenceEqual(PathOf(matches, order.Items[kept - 1]))) order.Items[kept++] = order.Items[i];
        }

        order.Truncate(kept);
        return order;
    }

    /// <summary>Leaves out places that are inside of others.</summary>
    internal static void Prune(JsonMatches matches, ref NativeList<int> order)
    {
        int kept = 0;
        for (int i = 0; i < order.Count; i++)
        {
            if (kept == 0 || !PathOf(matches, order.Items[i]).StartsWith(PathOf(matches, order.Items[kept - 1]))) order.Items[kept++] = order.Items[i];
        }

        order.Truncate(kept);
    }

    /// <summary>Removes an item. Of an object, the last member takes its place, as in RedisJSON.</summary>
    internal static Entry Remove(Database database, Entry entry, Arena arena, ReadOnlySpan<int> path)
    {
        JsonEditor editor = JsonEditor.OfThread;
        JsonDocument document = JsonDocument.Of(entry);
        editor.Begin(arena, document);
        JsonValue parent = At(document.Root, path[..^1]);
        int last = (int)parent.Count - 1;
        if (parent.Kind == JsonKind.Array || path[^1] == last)
        {
            editor.Add(JsonEditKind.Remove, path, 0);
            return editor.Apply(database, entry);
        }

        JsonItems items = parent.Items;
        items.Skip(last);
        editor.Data.Write(items.Bytes);
        editor.Add(JsonEditKind.ReplaceItem, path, 0, isMember: true);
        editor.AddAt(JsonEditKind.Detach, path[..^1], last);
        return editor.Apply(database, entry);
    }

    internal static ReadOnlySpan<int> PathOf(JsonMatches matches, int index) => matches.PathOf(matches.Items[index]);

    private readonly struct Order(JsonMatches matches) : IComparer<int>
    {
        public int Compare(int x, int y)
        {
            int order = PathOf(matches, x).SequenceCompareTo(PathOf(matches, y));
            return order != 0 ? order : x.CompareTo(y);
        }
    }
}
