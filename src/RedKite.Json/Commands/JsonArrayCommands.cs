using RedKite.Json.Paths;
using RedKite.Json.Store;
using RedKite.Protocol;
using RedKite.Server.Changes;
using RedKite.Server.Model;
using RedKite.Store.Keyspace;
using RedKite.Store.Memory;
using static RedKite.Server.Model.CommandFlags;

namespace RedKite.Json.Commands;

/// <summary>Commands that change arrays of documents. The table is their single declaration and this file's contents.</summary>
internal static class JsonArrayCommands
{
    internal static readonly CommandFamily Family = new("module", "json",
    [
        new("JSON.ARRAPPEND", -4, Write | DenyOom, JsonSetCommands.Written, ArrAppend,
            new("1.0.0", "O(1) for each value, O(N) for a path that selects several arrays, where N is the size of the document.", "Appends values to the arrays at a path.", "key path value [value ...]")) { Module = ServerModule.Json },
        new("JSON.ARRINSERT", -5, Write | DenyOom, JsonSetCommands.Written, ArrInsert,
            new("1.0.0", "O(N) where N is the length of the array, or the size of the document for a path that selects several arrays.", "Inserts values into the arrays at a path.", "key path index value [value ...]")) { Module = ServerModule.Json },
        new("JSON.ARRPOP", -2, Write, JsonSetCommands.Written, ArrPop,
            new("1.0.0", "O(N) where N is the length of the array, or the size of the document for a path that selects several arrays.", "Removes and returns an element of the arrays at a path.", "key path:[path [index]]")) { Module = ServerModule.Json },
        new("JSON.ARRTRIM", -5, Write, JsonSetCommands.Written, ArrTrim,
            new("1.0.0", "O(N) where N is the length of the array, or the size of the document for a path that selects several arrays.", "Cuts the arrays at a path to a range of elements.", "key path start:integer stop:integer")) { Module = ServerModule.Json },
    ]);

    // JSON.ARRAPPEND key path value [value ...]
    private static void ArrAppend(ref CommandContext cmd) => Insert(cmd, 3, null, JsonEvents.ArrAppend);

    // JSON.ARRINSERT key path index value [value ...]
    private static void ArrInsert(ref CommandContext cmd)
    {
        if (cmd.TryIntegerOrReply(3, out long index)) Insert(cmd, 4, index, JsonEvents.ArrInsert);
    }

    private static void Insert(scoped in CommandContext cmd, int firstValue, long? index, KeyEvent keyEvent)
    {
        Arena arena = cmd.ArenaOf(1);
        if (!cmd.OpenToWriteOrReply(out Entry entry, out JsonDocument document)) return;
        if (!cmd.TrySearchOrReply(document, cmd[2], out JsonPath path, out JsonMatches matches, wantsPaths: true)) return;
        JsonEditor editor = JsonEditor.OfThread;
        editor.Begin(arena, document);
        int values = cmd.Count - firstValue;
        if (!TryAddOrReply(cmd, editor, document, matches, arena, firstValue, index))
        {
            editor.Discard();
            return;
        }

        int changed = editor.Count;
        if (path.IsLegacy && changed == 0)
        {
            // The texts are looked at also where they go nowhere.
            bool areValid = AreValidOrReply(cmd, editor, document, arena, firstValue);
            if (areValid) cmd.Reply.Error(JsonAccess.NoArray);
            return;
        }

        if (changed == 0 && !AreValidOrReply(cmd, editor, document, arena, firstValue)) return;
        if (!cmd.HasRoomOrReply(entry)) return;
        ReplyCounts(cmd, path, matches, new Counts { Added = values });
        editor.Apply(cmd.Database, entry);
        if (changed > 0) cmd.Changed(1, keyEvent, changed);
    }

    private static bool TryAddOrReply(scoped in CommandContext cmd, JsonEditor editor, JsonDocument document, JsonMatches matches, Arena arena, int firstValue, long? index)
    {
        long bytes = 0;
        for (int i = firstValue; i < cmd.Count; i++) bytes += cmd[i].Length;
        if (!cmd.MayTakeScratch(bytes * matches.Items.Length))
        {
            cmd.Reply.Error(JsonAccess.TooManyPlaces);
            return false;
        }

        foreach (JsonMatch match in matches.Items)
        {
            if (match.Value.Kind != JsonKind.Array) continue;
            long count = match.Value.Count, at = index is not { } given ? count : given < 0 ? count + given : given;
            if (at < 0 || at > count)
            {
                cmd.Reply.Error("ERR index out of bounds"u8);
                return false;
            }

            int data = editor.Data.Length;
            for (int i = firstValue; i < cmd.Count; i++)
            {
                if (cmd.TryParseOrReply(i, document, arena, match.Depth + 1)) continue;
                editor.Discard(data);
                return false;
            }

            editor.AddInsertion(matches.PathOf(match), (int)at, data, cmd.Count - firstValue);
            if (!cmd.MayEditOrReply((editor.Data.Length - data) * (long)matches.Items.Length)) return false;
        }

        return true;
    }

    private static bool AreValidOrReply(scoped in CommandContext cmd, JsonEditor editor, JsonDocument document, Arena arena, int firstValue)
    {
        bool areValid = true;
        for (int i = firstValue; areValid && i < cmd.Count; i++) areValid = cmd.TryParseOrReply(i, document, arena, 0);
        editor.Discard(data: 0);
        return areValid;
    }

    // JSON.ARRPOP key [path [index]]
    private static void ArrPop(ref CommandContext cmd)
    {
        if (cmd.Count <= 3 || !RespNumber.TryParseInt64(cmd[3], out long index)) index = -1;
        if (!cmd.OpenToWriteOrReply(out Entry entry, out JsonDocument document)) return;
        if (!cmd.TrySearchOrReply(document, cmd.PathOrDefault(2), out JsonPath path, out JsonMatches matches, wantsPaths: true)) return;
        JsonEditor editor = JsonEditor.OfThread;
        editor.Begin(cmd.ArenaOf(1), document);
        long start = cmd.Reply.Length;
        JsonValue last = default;
        bool hasArray = false;
        if (!path.IsLegacy) cmd.Reply.Array(matches.Items.Length);
        foreach (JsonMatch match in matches.Items)
        {
            long count = match.Value.Kind == JsonKind.Array ? match.Value.Count : -1;
            hasArray |= count >= 0;
            JsonValue popped = default;
            if (count > 0)
            {
                int at = (int)Math.Clamp(index < 0 ? count + index : index, 0, count - 1);
                popped = match.Value.At(at);
                editor.AddAt(JsonEditKind.Remove, matches.PathOf(match), at);
            }

            if (count >= 0) last = popped;
            if (path.IsLegacy) continue;
            if (!popped.Exists) cmd.Reply.Null();
            else if (!TryReplyText(cmd, start, document, popped)) return;
        }

        if (path.IsLegacy)
        {
            if (!hasArray) cmd.Reply.Error(JsonAccess.NoArray);
            else if (!last.Exists) cmd.Reply.Null();
            else if (!TryReplyText(cmd, start, document, last)) return;
        }

        int changed = editor.Count;
        editor.Apply(cmd.Database, entry);
        if (changed > 0) cmd.Changed(1, JsonEvents.ArrPop, changed);
    }

    private static bool TryReplyText(scoped in CommandContext cmd, long start, JsonDocument document, JsonValue value)
    {
        if (cmd.WasAccepted)
        {
            // No reply goes anywhere, so none can be too long.
            cmd.Reply.Null();
            return true;
        }

        JsonReplyText text = JsonReplyText.Begin(cmd);
        text.TryWrite(document.Names, value);
        return text.EndOrReply(cmd, start);
    }

    // JSON.ARRTRIM key path start stop
    private static void ArrTrim(ref CommandContext cmd)
    {
        if (!cmd.TryIntegerOrReply(3, out long start) || !cmd.TryIntegerOrReply(4, out long stop)) return;
        if (!cmd.OpenToWriteOrReply(out Entry entry, out JsonDocument document)) return;
        if (!cmd.TrySearchOrReply(document, cmd[2], out JsonPath path, out JsonMatches matches, wantsPaths: true)) return;
        JsonEditor editor = JsonEditor.OfThread;
        editor.Begin(cmd.ArenaOf(1), document);
        bool hasArray = false;
        int changed = 0;
        foreach (JsonMatch match in matches.Items)
        {
            if (match.Value.Kind != JsonKind.Array) continue;
            hasArray = true;
            int count = (int)match.Value.Count, before = editor.Count;
            (int first, int end) = Range(count, start, stop);
            if (first > 0) editor.AddAt(JsonEditKind.Remove, matches.PathOf(match), 0, first);
            if (end < count) editor.AddAt(JsonEditKind.Remove, matches.PathOf(match), end, count - end);
            if (editor.Count > before) changed++;
        }

        if (path.IsLegacy && !hasArray)
        {
            cmd.Reply.Error(JsonAccess.NoArray);
            return;
        }

        ReplyCounts(cmd, path, matches, new Counts { IsTrim = true, Start = start, Stop = stop });
        editor.Apply(cmd.Database, entry);
        if (changed > 0) cmd.Changed(1, JsonEvents.ArrTrim, changed);
    }

    // What becomes of an array's length.
    private readonly record struct Counts(bool IsTrim, long Start, long Stop, int Added)
    {
        internal long Of(long count)
        {
            if (!IsTrim) return count + Added;
            (int first, int end) = Range((int)count, Start, Stop);
            return end - first;
        }
    }

    // The elements that stay: none if the range is outside or empty.
    private static (int First, int End) Range(int count, long start, long stop)
    {
        long first = start < 0 ? Math.Max(0, count + start) : start;
        long last = stop < 0 ? Math.Max(0, count + stop) : Math.Min(stop, count - 1L);
        return first >= count || first > last ? (count, count) : ((int)first, (int)last + 1);
    }

    // The lengths that arrays will have; of a path of the first version, that of the last array.
    private static void ReplyCounts(scoped in CommandContext cmd, JsonPath path, JsonMatches matches, Counts counts)
    {
        ReplyWriter reply = cmd.Reply;
        long last = 0;
        if (!path.IsLegacy) reply.Array(matches.Items.Length);
        foreach (JsonMatch match in matches.Items)
        {
            bool isArray = match.Value.Kind == JsonKind.Array;
            if (isArray) last = counts.Of(match.Value.Count);
            if (path.IsLegacy) continue;
            if (isArray) reply.Integer(last);
            else reply.Null();
        }

        if (path.IsLegacy) reply.Integer(last);
    }
}
