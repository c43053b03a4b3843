using RedKite.Json.Paths;
using RedKite.Json.Store;
using RedKite.Protocol;
using RedKite.Server.Model;
using RedKite.Store.Keyspace;
using RedKite.Store.Memory;
using static RedKite.Server.Model.KeyFlags;

namespace RedKite.Json.Commands;

/// <summary>Commands that describe values of documents. Those that return them are in JsonGetCommands. The table is their single declaration and this file's contents.</summary>
internal static class JsonReadCommands
{
    internal static readonly KeySpec[] Read = KeySpecs.One(1, KeyFlags.ReadOnly | Access);

    internal static readonly CommandFamily Family = new("module", "json",
    [
        new("JSON.TYPE", -2, CommandFlags.ReadOnly, Read, Type,
            new("1.0.0", "O(1) for one value, O(N) for a path that selects several, where N is the size of the document.", "Returns the types of the values at a path.", "key [path]")) { Module = ServerModule.Json },
        new("JSON.STRLEN", -2, CommandFlags.ReadOnly, Read, StrLen,
            new("1.0.0", "O(1) for one value, O(N) for a path that selects several, where N is the size of the document.", "Returns the lengths of the strings at a path.", "key [path]")) { Module = ServerModule.Json },
        new("JSON.ARRLEN", -2, CommandFlags.ReadOnly, Read, ArrLen,
            new("1.0.0", "O(1) for one value, O(N) for a path that selects several, where N is the size of the document.", "Returns the lengths of the arrays at a path.", "key [path]")) { Module = ServerModule.Json },
        new("JSON.OBJLEN", -2, CommandFlags.ReadOnly, Read, ObjLen,
            new("1.0.0", "O(1) for one value, O(N) for a path that selects several, where N is the size of the document.", "Returns the number of members of the objects at a path.", "key [path]")) { Module = ServerModule.Json },
        new("JSON.OBJKEYS", -2, CommandFlags.ReadOnly, Read, ObjKeys,
            new("1.0.0", "O(N) where N is the number of members, or the size of the document for a path that selects several values.", "Returns the names of the members of the objects at a path.", "key [path]")) { Module = ServerModule.Json },
        new("JSON.ARRINDEX", -4, CommandFlags.ReadOnly, Read, ArrIndex,
            new("1.0.0", "O(N) where N is the length of the array, or the size of the document for a path that selects several values.", "Returns where a value is in the arrays at a path.", "key path value range:[start [stop]]")) { Module = ServerModule.Json },
        new("JSON.DEBUG", -2, CommandFlags.ReadOnly, KeySpecs.One(2, KeyFlags.ReadOnly | Access), Debug,
            new("1.0.0", "O(N) where N is the size of the document.", "Returns the memory of the values at a path, or the beginning of a document's text.", "<MEMORY key [path] | TEXT key bytes:integer | HELP>")) { Module = ServerModule.Json },
    ]);

    // Of JSON.DEBUG TEXT.
    private const int TextBytesMax = 1 << 20;

    private delegate void ValueReply(ReplyWriter reply, JsonNames names, JsonValue value);

    // JSON.TYPE key [path]
    private static void Type(ref CommandContext cmd)
    {
        ReadOnlySpan<byte> pathText = cmd.PathOrDefault(2);
        if (!cmd.OpenToReadOrReply(1, out JsonDocument document)) return;
        ReplyWriter reply = cmd.Reply;
        if (!document.Exists)
        {
            if (reply.Resp3) reply.Array(1);
            reply.Null();
            return;
        }

        if (!cmd.TrySearchOrReply(document, pathText, out JsonPath path, out JsonMatches matches)) return;
        if (reply.Resp3) reply.Array(1);
        if (path.IsLegacy)
        {
            if (matches.Items.IsEmpty) reply.Null();
            else reply.Bulk(matches.Items[0].Value.TypeName);
            return;
        }

        reply.Array(matches.Items.Length);
        foreach (JsonMatch match in matches.Items) reply.Bulk(match.Value.TypeName);
    }

    // JSON.STRLEN key [path]
    private static void StrLen(ref CommandContext cmd)
    {
        if (!TryBegin(cmd, JsonAccess.NoKey, out JsonMatches matches)) return;
        ReplyOf(cmd, matches, JsonKind.String, static (reply, _, value) => reply.Integer(value.Text.Length), JsonAccess.NoPath);
    }

    // JSON.ARRLEN key [path]
    private static void ArrLen(ref CommandContext cmd)
    {
        if (!TryBegin(cmd, JsonAccess.NoKey, out JsonMatches matches)) return;
        ReplyOf(cmd, matches, JsonKind.Array, static (reply, _, value) => reply.Integer(value.Count), JsonAccess.NoArray, JsonAccess.NoArray);
    }

    // JSON.OBJLEN key [path]
    private static void ObjLen(ref CommandContext cmd)
    {
        if (!TryBegin(cmd, JsonAccess.NoObject, out JsonMatches matches)) return;
        ReplyOf(cmd, matches, JsonKind.Object, static (reply, _, value) => reply.Integer(value.Count), default);
    }

    // JSON.OBJKEYS key [path]
    private static void ObjKeys(ref CommandContext cmd)
    {
        if (!TryBegin(cmd, JsonAccess.NoKey, out JsonMatches matches)) return;
        ReplyOf(cmd, matches, JsonKind.Object, ReplyNames, default, JsonAccess.NoObject);
    }

    private static void ReplyNames(ReplyWriter reply, JsonNames names, JsonValue value)
    {
        reply.Array((int)value.Count);
        JsonItems items = value.Items;
        while (items.MoveNext()) reply.Bulk(items.Name(names));
    }

    // JSON.ARRINDEX key path value [start [stop]]
    private static void ArrIndex(ref CommandContext cmd)
    {
        long start = 0, stop = 0;
        if (cmd.Count > 4 && !cmd.TryIntegerOrReply(4, out start)) return;
        if (cmd.Count > 5 && !cmd.TryIntegerOrReply(5, out stop)) return;
        if (!cmd.OpenToReadOrReply(1, out JsonDocument document)) return;
        if (!document.Exists)
        {
            cmd.Reply.Error(JsonAccess.NoPath);
            return;
        }

        JsonEditor editor = JsonEditor.OfThread;
        editor.Begin(cmd.ArenaOf(1), document);
        if (!cmd.TryParseOrReply(3, document, cmd.ArenaOf(1), 0, hasCode: true)) return;
        if (cmd.TrySearchOrReply(document, cmd[2], out JsonPath path, out JsonMatches matches)) ReplyIndexes(cmd, document, path, matches, JsonLiteral.At(editor.Data, 0), start, stop);
        editor.Discard(data: 0);
    }

    private static void ReplyIndexes(scoped in CommandContext cmd, JsonDocument document, JsonPath path, JsonMatches matches, JsonValue wanted, long start, long stop)
    {
        ReplyWriter reply = cmd.Reply;
        if (path.IsLegacy)
        {
            if (matches.Items.IsEmpty) reply.Error(JsonAccess.NoPath);
            else if (matches.Items[0].Value.Kind != JsonKind.Array) cmd.ReplyWrongValue("array", matches.Items[0].Value);
            else reply.Integer(IndexOf(document, matches.Items[0].Value, wanted, start, stop));
            return;
        }

        reply.Array(matches.Items.Length);
        foreach (JsonMatch match in matches.Items)
        {
            if (match.Value.Kind != JsonKind.Array) reply.Null();
            else reply.Integer(IndexOf(document, match.Value, wanted, start, stop));
        }
    }

    // A stop of 0 is the end, and so is one behind it; a start behind the end is the last element.
    private static long IndexOf(JsonDocument document, JsonValue array, JsonValue wanted, long start, long stop)
    {
        long count = array.Count;
        if (count == 0) return -1;
        long from = start < 0 ? Math.Max(0, count + start) : Math.Min(start, count - 1);
        long to = stop == 0 ? count : stop < 0 ? Math.Max(0, count + stop) : Math.Min(stop, count);
        JsonItems items = array.Items;
        if (from >= to || !items.Skip(from)) return -1;
        long steps = 0;
        for (long at = from; at < to; at++, items.MoveNext())
        {
            if (items.Value.IsEqual(document.Names, wanted, document.Names, isExact: true, ref steps)) return at;
        }

        return -1;
    }

    // JSON.DEBUG MEMORY key [path] | TEXT key bytes | HELP
    private static void Debug(ref CommandContext cmd)
    {
        ReplyWriter reply = cmd.Reply;
        if (cmd.Is(1, "HELP"u8))
        {
            reply.Array(3);
            reply.Bulk("MEMORY <key> [path] - reports memory usage"u8);
            reply.Bulk("TEXT <key> <bytes>  - returns the beginning of the document's text"u8);
            reply.Bulk("HELP                - this message"u8);
            return;
        }

        if (cmd.Is(1, "TEXT"u8) && cmd.Count == 4)
        {
            ReplyBeginning(cmd);
            return;
        }

        if (!cmd.Is(1, "MEMORY"u8))
        {
            reply.Error("ERR unknown subcommand - try `JSON.DEBUG HELP`"u8);
            return;
        }

        if (cmd.Count < 3)
        {
            reply.Error("ERR wrong number of arguments for 'json.debug' command"u8);
            return;
        }

        Entry entry = cmd.Find(2);
        if (!cmd.IsDocumentOrReply(entry)) return;
        ReadOnlySpan<byte> pathText = cmd.PathOrDefault(3);
        if (!entry.Exists)
        {
            if (JsonAccess.IsDollarPath(pathText)) reply.Array(0);
            else reply.Integer(0);
            return;
        }

        JsonDocument document = JsonDocument.Of(entry);
        if (!cmd.TrySearchOrReply(document, pathText, out JsonPath path, out JsonMatches matches)) return;
        if (!path.IsLegacy) reply.Array(matches.Items.Length);
        else if (matches.Items.IsEmpty) reply.Error(JsonAccess.NoPath);
        foreach (JsonMatch match in matches.Items)
        {
            reply.Integer(match.Value.IsSame(document.Root) ? entry.MemoryBytes : JsonType.MemoryOf(match.Value));
            if (path.IsLegacy) return;
        }
    }

    // For those who look at a document without knowing how long it is.
    private static void ReplyBeginning(scoped in CommandContext cmd)
    {
        if (!cmd.TryIntegerOrReply(3, out long bytes) || !cmd.OpenToReadOrReply(2, out JsonDocument document)) return;
        if (!document.Exists)
        {
            cmd.Reply.Null();
            return;
        }

        int length = (int)Math.Clamp(bytes, 0, TextBytesMax);
        NativeBuffer text = JsonTexts.Begin();
        JsonTextWriter.OfThread.Begin(document.Names, document.Root);
        JsonTextWriter.OfThread.Step(text, length);
        length = Math.Min(length, text.Length);
        while (length > 0 && length < text.Length && (text.Written[length] & 0xC0) == 0x80) length--; // characters stay whole
        cmd.Reply.Bulk(text.Written[..length]);
        text.Clear();
    }

    // Finds what a path selects, or replies that there is no key.
    private static bool TryBegin(scoped in CommandContext cmd, scoped ReadOnlySpan<byte> noKey, out JsonMatches matches)
    {
        matches = null!;
        if (!cmd.OpenToReadOrReply(1, out JsonDocument document)) return false;
        if (document.Exists) return cmd.TrySearchOrReply(document, cmd.PathOrDefault(2), out _, out matches);
        if (JsonAccess.IsDollarPath(cmd.PathOrDefault(2))) cmd.Reply.Error(noKey);
        else cmd.Reply.Null();
        return false;
    }

    // Of a path of the first version, the reply of the first value; null is what an empty error stands for.
    private static void ReplyOf(scoped in CommandContext cmd, JsonMatches matches, JsonKind kind, ValueReply replyValue, scoped ReadOnlySpan<byte> missing, scoped ReadOnlySpan<byte> other = default)
    {
        ReplyWriter reply = cmd.Reply;
        JsonNames names = matches.Names;
        if (!matches.Path.IsLegacy)
        {
            reply.Array(matches.Items.Length);
            foreach (JsonMatch match in matches.Items)
            {
                if (match.Value.Kind == kind) replyValue(reply, names, match.Value);
                else reply.Null();
            }

            return;
        }

        if (matches.Items.IsEmpty)
        {
            if (missing.IsEmpty) reply.Null();
            else reply.Error(missing);
            return;
        }

        JsonValue value = matches.Items[0].Value;
        if (value.Kind == kind) replyValue(reply, names, value);
        else if (!other.IsEmpty) reply.Error(other);
        else cmd.ReplyWrongValue(System.Text.Encoding.ASCII.GetString(JsonValue.NameOf(kind)), value);
    }
}
