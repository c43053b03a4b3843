using RedKite.Json.Paths;
using RedKite.Json.Store;
using RedKite.Protocol;
using RedKite.Server.Model;
using RedKite.Store.Keyspace;
using static RedKite.Server.Model.KeyFlags;

namespace RedKite.Json.Commands;

/// <summary>Commands that return values of documents. The table is their single declaration and this file's contents.</summary>
internal static class JsonGetCommands
{
    /// <summary>The longest INDENT, NEWLINE or SPACE: each may be in a text a million times.</summary>
    internal const int FormatBytesMax = 1024;

    /// <summary>The paths of one command: each is compared with the others, and evaluated.</summary>
    internal const int PathsMax = 256;

    internal static readonly CommandFamily Family = new("module", "json",
    [
        new("JSON.GET", -2, CommandFlags.ReadOnly, JsonReadCommands.Read, Get,
            new("1.0.0", "O(N) where N is the size of the values, or of the document for a path that selects several.", "Returns the values at paths as text.", "key [INDENT indent] [NEWLINE newline] [SPACE space] [path [path ...]]")) { Module = ServerModule.Json },
        new("JSON.MGET", -3, CommandFlags.ReadOnly, [new(1, -2, 1, KeyFlags.ReadOnly | Access)], MGet,
            new("1.0.0", "O(M*N) where M is the number of keys and N the size of the values, or of the documents for a path that selects several.", "Returns the values at a path of several documents as text.", "key [key ...] path")) { Module = ServerModule.Json },
        new("JSON.RESP", -2, CommandFlags.ReadOnly, JsonReadCommands.Read, Resp,
            new("1.0.0", "O(N) where N is the size of the values, or of the document for a path that selects several.", "Returns the values at a path as replies of the protocol.", "key [path]") { DeprecatedSince = "2.6" }) { Module = ServerModule.Json },
    ]);

    // JSON.GET key [INDENT indent] [NEWLINE newline] [SPACE space] [NOESCAPE] [path ...]
    private static void Get(ref CommandContext cmd)
    {
        ReadOnlySpan<byte> indent = default, newline = default, space = default;
        int paths = 0, first = 0;
        bool allLegacy = true;
        for (int i = 2; i < cmd.Count; i++)
        {
            if (!IsOption(cmd, i, out bool hasValue))
            {
                if (paths++ == 0) first = i;
                allLegacy &= !JsonAccess.IsDollarPath(cmd[i]);
                continue;
            }

            if (!hasValue) continue;
            if (i + 1 == cmd.Count || cmd[i + 1].Length > FormatBytesMax)
            {
                if (i + 1 == cmd.Count) cmd.ReplySyntaxError();
                else cmd.Reply.Error($"ERR INDENT, NEWLINE and SPACE have {FormatBytesMax} bytes at most");
                return;
            }

            if (cmd.Is(i, "INDENT"u8)) indent = cmd[i + 1];
            else if (cmd.Is(i, "NEWLINE"u8)) newline = cmd[i + 1];
            else space = cmd[i + 1];
            i++;
        }

        if (paths > PathsMax)
        {
            cmd.Reply.Error($"ERR a command has {PathsMax} paths at most");
            return;
        }

        if (!cmd.OpenToReadOrReply(1, out JsonDocument document)) return;
        if (!document.Exists)
        {
            cmd.Reply.Null();
            return;
        }

        var format = new JsonFormat(indent, newline, space);
        if (paths <= 1) GetPath(cmd, document, paths == 0 ? cmd.PathOrDefault(cmd.Count) : cmd[first], format);
        else GetPaths(cmd, document, format, allLegacy);
    }

    private static bool IsOption(scoped in CommandContext cmd, int argument, out bool hasValue)
    {
        hasValue = cmd.Is(argument, "INDENT"u8) || cmd.Is(argument, "NEWLINE"u8) || cmd.Is(argument, "SPACE"u8);
        return hasValue || cmd.Is(argument, "NOESCAPE"u8);
    }

    // An object with a member for each path.
    private static void GetPaths(scoped in CommandContext cmd, JsonDocument document, JsonFormat format, bool allLegacy)
    {
        var search = new JsonSearch(CountMax: allLegacy ? 1 : int.MaxValue);
        long steps = 0, start = cmd.Reply.Length;
        JsonReplyText text = JsonReplyText.Begin(cmd);
        text.Write("{"u8);
        bool isFirst = true;
        for (int i = 2; i < cmd.Count; i++)
        {
            if (IsOption(cmd, i, out bool hasValue))
            {
                if (hasValue) i++;
                continue;
            }

            if (IsRepeated(cmd, i)) continue;
            if (!isFirst) text.Write(","u8);
            isFirst = false;
            text.Line(format, 1);
            text.WriteName(cmd[i], format);
            if (!JsonPathParser.TryParse(cmd[i], out JsonPath path, out string? error))
            {
                text.Drop();
                cmd.Reply.Error(error!);
                return;
            }

            long behind = cmd.Reply.Length;
            if (!cmd.TryFindOrReply(document, path, search, ref steps, out JsonMatches matches))
            {
                text.DropBefore(behind);
                return;
            }

            if (allLegacy && matches.Items.IsEmpty)
            {
                text.Drop();
                cmd.Reply.Error(JsonAccess.NoPath);
                return;
            }

            text.BeginMatches(isList: !allLegacy, depth: 1);
            text.Run(matches, format);
        }

        text.Line(format, 0);
        text.Write("}"u8);
        text.EndOrReply(cmd, start);
    }

    private static bool IsRepeated(scoped in CommandContext cmd, int argument)
    {
        for (int i = 2; i < argument; i++)
        {
            if (cmd[i].SequenceEqual(cmd[argument])) return true;
        }

        return false;
    }

    // A search or text that is long goes on in slices while the client waits.
    private static void GetPath(scoped in CommandContext cmd, JsonDocument document, scoped ReadOnlySpan<byte> pathText, JsonFormat format)
    {
        long start = cmd.Reply.Length;
        if (!cmd.TryPathOrReply(pathText, out JsonPath path)) return;
        JsonReplyText text = JsonReplyText.Begin(cmd);
        text.BeginMatches(isList: !path.IsLegacy);
        if (!cmd.TrySearchOrReply(document, path, new JsonSearch(CountMax: path.IsLegacy ? 1 : int.MaxValue), text, format, out JsonMatches matches)) return;
        if (matches.Path.IsLegacy && matches.Items.IsEmpty)
        {
            cmd.Reply.Error(JsonAccess.NoPath);
            return;
        }

        if (cmd.TryWriteOrWait(matches, ref text, format)) text.EndOrReply(cmd, start);
    }

    // JSON.MGET key [key ...] path
    private static void MGet(ref CommandContext cmd)
    {
        int last = cmd.Count - 1;
        if (!cmd.TryPathOrReply(cmd[last], out JsonPath path)) return;
        long start = cmd.Reply.Length, steps = 0;
        cmd.Reply.Array(last - 1);
        for (int i = 1; i < last && !cmd.Reply.Overflowed; i++)
        {
            if (TryGet(cmd, i, path, ref steps)) continue;
            EndWithError(cmd.Reply, start);
            return;
        }
    }

    // An error replaces what was replied before.
    private static void EndWithError(ReplyWriter reply, long start)
    {
        if (reply.Overflowed) return;
        reply.Truncate(start);
        reply.Error("ERR the path takes too many steps, or its values more room than there is"u8);
    }

    private static bool TryGet(scoped in CommandContext cmd, int key, JsonPath path, ref long steps)
    {
        Entry entry = cmd.Find(key);
        JsonDocument document = entry.Exists && entry.Type == JsonType.Instance.Number ? JsonDocument.Of(entry) : default;
        if (!document.Exists)
        {
            cmd.Reply.Null();
            return true;
        }

        if (!cmd.TryFindOrReply(document, path, new JsonSearch(CountMax: path.IsLegacy ? 1 : int.MaxValue), ref steps, out JsonMatches matches)) return false;
        if (path.IsLegacy && matches.Items.IsEmpty)
        {
            cmd.Reply.Null();
            return true;
        }

        JsonReplyText text = JsonReplyText.Begin(cmd);
        text.BeginMatches(isList: !path.IsLegacy);
        text.Run(matches, default);
        return text.EndOrReply(cmd, cmd.Reply.Length);
    }

    // JSON.RESP key [path]
    private static void Resp(ref CommandContext cmd)
    {
        if (!cmd.OpenToReadOrReply(1, out JsonDocument document)) return;
        ReplyWriter reply = cmd.Reply;
        if (!document.Exists)
        {
            reply.Null();
            return;
        }

        if (!cmd.TrySearchOrReply(document, cmd.PathOrDefault(2), out JsonPath path, out JsonMatches matches)) return;
        if (!path.IsLegacy) reply.Array(matches.Items.Length);
        else if (matches.Items.IsEmpty) reply.Error(JsonAccess.NoPath);
        foreach (JsonMatch match in matches.Items)
        {
            ReplyValue(reply, document.Names, match.Value);
            if (path.IsLegacy || reply.Overflowed) return;
        }
    }

    private static void ReplyValue(ReplyWriter reply, JsonNames names, JsonValue value)
    {
        switch (value.Kind)
        {
            case JsonKind.Null:
                reply.Null();
                return;
            case JsonKind.Boolean:
                reply.SimpleString(value.IsTrue ? "true"u8 : "false"u8);
                return;
            case JsonKind.Integer when !value.IsUnsigned:
                reply.Integer(value.Integer);
                return;
            case JsonKind.Integer or JsonKind.Number:
                Span<byte> digits = stackalloc byte[JsonNumber.TextMax];
                reply.Double(digits[..JsonNumber.Format(value, digits)]);
                return;
            case JsonKind.String:
                reply.Bulk(value.Text);
                return;
        }

        bool isObject = value.Kind == JsonKind.Object;
        reply.Array((int)(1 + (value.Count * (isObject ? 2 : 1))));
        reply.SimpleString(isObject ? "{"u8 : "["u8);
        JsonItems items = value.Items;
        while (items.MoveNext() && !reply.Overflowed)
        {
            if (isObject) reply.Bulk(items.Name(names));
            ReplyValue(reply, names, items.Value);
        }
    }
}
