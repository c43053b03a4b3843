using RedKite.Json.Paths;
using RedKite.Json.Store;
using RedKite.Server.Model;
using RedKite.Store.Keyspace;
using RedKite.Store.Memory;
using static RedKite.Server.Model.CommandFlags;
using static RedKite.Server.Model.KeyFlags;

namespace RedKite.Json.Commands;

/// <summary>Commands that remove or clear values of documents. The table is their single declaration and this file's contents.</summary>
internal static class JsonRemoveCommands
{
    /// <summary>
    /// So many values are removed one after the other, so that the last member of an object takes the place of each, as in RedisJSON. Of more, the members that stay
    /// keep their order.
    /// </summary>
    internal const int OneByOneMax = 256;

    private static readonly KeySpec[] Removed = KeySpecs.One(1, ReadWrite | Delete);

    internal static readonly CommandFamily Family = new("module", "json",
    [
        new("JSON.DEL", -2, Write, Removed, Del,
            new("1.0.0", "O(N) where N is the size of what is removed, or of the document for a path that selects several values.", "Removes the values at a path. Deletes the key for the path of the root.", "key [path]")) { Module = ServerModule.Json },
        new("JSON.FORGET", -2, Write, Removed, Del,
            new("1.0.0", "O(N) where N is the size of what is removed, or of the document for a path that selects several values.", "Removes the values at a path: another name of JSON.DEL.", "key [path]")) { Module = ServerModule.Json },
        new("JSON.CLEAR", -2, Write, Removed, Clear,
            new("2.0.0", "O(N) where N is the size of what is cleared, or of the document for a path that selects several values.", "Empties the arrays and objects at a path, and sets the numbers there to 0.", "key [path]")) { Module = ServerModule.Json },
    ]);

    // JSON.DEL key [path]
    private static void Del(ref CommandContext cmd)
    {
        if (!cmd.TryPathOrReply(cmd.PathOrDefault(2), out JsonPath path)) return;
        Entry entry = path.IsRoot ? cmd.FindToReplace(1) : cmd.FindToWrite(1);
        if (!cmd.IsDocumentOrReply(entry)) return;
        if (!entry.Exists)
        {
            cmd.Reply.Integer(0);
            return;
        }

        if (path.IsRoot)
        {
            cmd.Database.Unlink(entry, UnlinkReason.Deleted);
            cmd.Changed(1, JsonEvents.Del);
            cmd.Reply.Integer(1);
            return;
        }

        if (!cmd.TrySearchOrReply(JsonDocument.Of(entry), path, out JsonMatches matches, wantsPaths: true)) return;
        NativeList<int> places = JsonPlaces.Sorted(matches);
        JsonPlaces.Prune(matches, ref places);
        int count = places.Count;
        Remove(cmd, entry, matches, places);
        places.Dispose();
        if (count > 0) cmd.Changed(1, JsonEvents.Del, count);
        cmd.Reply.Integer(count);
    }

    private static void Remove(scoped in CommandContext cmd, Entry entry, JsonMatches matches, NativeList<int> places)
    {
        Arena arena = cmd.ArenaOf(1);
        if (places.Count <= OneByOneMax)
        {
            for (int i = places.Count - 1; i >= 0; i--) entry = JsonPlaces.Remove(cmd.Database, entry, arena, JsonPlaces.PathOf(matches, places.Items[i]));
            return;
        }

        JsonEditor editor = JsonEditor.OfThread;
        editor.Begin(arena, JsonDocument.Of(entry));
        foreach (int place in places.Items) editor.Add(JsonEditKind.Remove, JsonPlaces.PathOf(matches, place), 0);
        editor.Apply(cmd.Database, entry);
    }

    // JSON.CLEAR key [path]
    private static void Clear(ref CommandContext cmd)
    {
        if (!cmd.OpenToWriteOrReply(out Entry entry, out JsonDocument document)) return;
        if (!cmd.TrySearchOrReply(document, cmd.PathOrDefault(2), out _, out JsonMatches matches, wantsPaths: true)) return;
        JsonEditor editor = JsonEditor.OfThread;
        editor.Begin(cmd.ArenaOf(1), document);
        NativeList<int> places = JsonPlaces.Sorted(matches);
        int kept = 0;
        foreach (int place in places.Items)
        {
            if (MayClear(matches.Items[place].Value)) places.Items[kept++] = place;
        }

        places.Truncate(kept);
        JsonPlaces.Prune(matches, ref places);
        foreach (int place in places.Items)
        {
            int data = editor.Data.Length;
            JsonLiteral.AppendEmpty(editor.Data, matches.Items[place].Value.Kind);
            editor.Add(JsonEditKind.Replace, JsonPlaces.PathOf(matches, place), data);
        }

        int cleared = places.Count;
        places.Dispose();
        editor.Apply(cmd.Database, entry);
        if (cleared > 0) cmd.Changed(1, JsonEvents.Clear, cleared);
        cmd.Reply.Integer(cleared);
    }

    private static bool MayClear(JsonValue value) => value.IsContainer ? !value.IsEmptyContainer : value.IsNumber && value.Double != 0;
}
