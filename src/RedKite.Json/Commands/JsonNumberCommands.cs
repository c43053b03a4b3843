using RedKite.Json.Paths;
using RedKite.Json.Store;
using RedKite.Protocol;
using RedKite.Server.Changes;
using RedKite.Server.Model;
using RedKite.Store.Keyspace;
using RedKite.Store.Memory;
using static RedKite.Server.Model.CommandFlags;

namespace RedKite.Json.Commands;

/// <summary>Commands that change numbers, strings and booleans of documents. The table is their single declaration and this file's contents.</summary>
internal static class JsonNumberCommands
{
    private const string Complexity = "O(1) for one value, O(N) for a path that selects several, where N is the size of the document.";

    internal static readonly CommandFamily Family = new("module", "json",
    [
        new("JSON.NUMINCRBY", -4, Write | DenyOom, JsonSetCommands.Written, NumIncrBy,
            new("1.0.0", Complexity, "Adds to the numbers at a path.", "key path value:double")) { Module = ServerModule.Json },
        new("JSON.NUMMULTBY", -4, Write | DenyOom, JsonSetCommands.Written, NumMultBy,
            new("1.0.0", Complexity, "Multiplies the numbers at a path.", "key path value:double") { DeprecatedSince = "2.0" }) { Module = ServerModule.Json },
        new("JSON.NUMPOWBY", -4, Write | DenyOom, JsonSetCommands.Written, NumPowBy,
            new("1.0.0", Complexity, "Raises the numbers at a path to a power.", "key path value:double")) { Module = ServerModule.Json },
        new("JSON.STRAPPEND", -3, Write | DenyOom, JsonSetCommands.Written, StrAppend,
            new("1.0.0", Complexity, "Appends to the strings at a path.", "key [path] value")) { Module = ServerModule.Json },
        new("JSON.TOGGLE", -3, Write | DenyOom, JsonSetCommands.Written, Toggle,
            new("2.0.0", Complexity, "Inverts the booleans at a path.", "key path")) { Module = ServerModule.Json },
    ]);

    private enum Operation
    {
        Add,
        Multiply,
        Power,
    }

    // JSON.NUMINCRBY key path value
    private static void NumIncrBy(ref CommandContext cmd) => Change(cmd, Operation.Add, JsonEvents.NumIncrBy);

    // JSON.NUMMULTBY key path value
    private static void NumMultBy(ref CommandContext cmd) => Change(cmd, Operation.Multiply, JsonEvents.NumMultBy);

    // JSON.NUMPOWBY key path value
    private static void NumPowBy(ref CommandContext cmd) => Change(cmd, Operation.Power, JsonEvents.NumPowBy);

    private static void Change(scoped in CommandContext cmd, Operation operation, KeyEvent keyEvent)
    {
        Arena arena = cmd.ArenaOf(1);
        if (!cmd.OpenToWriteOrReply(out Entry entry, out JsonDocument document)) return;
        if (!cmd.TrySearchOrReply(document, cmd[2], out JsonPath path, out JsonMatches matches, wantsPaths: true)) return;
        if (!JsonArgument.TryParseOrReply(cmd, 3, arena, out JsonValue operand)) return;
        JsonEditor editor = JsonEditor.OfThread;
        editor.Begin(arena, document);
        ReadOnlySpan<byte> error = operand.IsNumber ? default : "ERR expected a number"u8;
        foreach (JsonMatch match in matches.Items)
        {
            if (!match.Value.IsNumber || !error.IsEmpty) continue;
            int data = editor.Data.Length;
            if (!TryCompute(editor.Data, match.Value, operand, operation)) error = "ERR result is not a number"u8;
            else editor.Add(JsonEditKind.Replace, matches.PathOf(match), data, replaced: match.Value);
        }

        if (error.IsEmpty && editor.Count == 0 && path.IsLegacy) error = "ERR Path does not exist or does not contains a number"u8;
        int changed = editor.Count;
        if (!error.IsEmpty)
        {
            cmd.Reply.Error(error);
            editor.Discard();
        }
        else if (cmd.HasRoomOrReply(entry))
        {
            ReplyNumbers(cmd, path, matches, editor);
            editor.Apply(cmd.Database, entry);
            if (changed > 0) cmd.Changed(1, keyEvent, changed);
        }

        JsonArgument.Free(arena);
    }

    private static bool TryCompute(NativeBuffer output, JsonValue value, JsonValue operand, Operation operation)
    {
        if (value.Kind == JsonKind.Integer && operand.Kind == JsonKind.Integer && !value.IsUnsigned && !operand.IsUnsigned && TryComputeIntegers(value.Integer, operand.Integer, operation, out long integer))
        {
            JsonNumber.Append(output, integer);
            return true;
        }

        double left = value.Double, right = operand.Double;
        double result = operation switch { Operation.Add => left + right, Operation.Multiply => left * right, _ => Math.Pow(left, right) };
        if (!double.IsFinite(result)) return false;
        JsonNumber.AppendShortest(output, result);
        return true;
    }

    private static bool TryComputeIntegers(long left, long right, Operation operation, out long result)
    {
        Int128 exact = operation switch { Operation.Add => (Int128)left + right, Operation.Multiply => (Int128)left * right, _ => Power(left, right) };
        result = unchecked((long)exact);
        return exact == result;
    }

    // Beyond an integer of 64 bits it does not matter what it is.
    private static Int128 Power(long left, long right)
    {
        if (right < 0) return Int128.MaxValue;
        if (left is 0 or 1) return right == 0 ? 1 : left;
        if (left == -1) return (right & 1) == 0 ? 1 : -1;
        Int128 result = 1;
        for (; right > 0; right--)
        {
            result *= left;
            if (result < long.MinValue || result > long.MaxValue) return Int128.MaxValue;
        }

        return result;
    }

    // In RESP2 the list is text, and a path of the first version has the last number.
    private static void ReplyNumbers(scoped in CommandContext cmd, JsonPath path, JsonMatches matches, JsonEditor editor)
    {
        ReplyWriter reply = cmd.Reply;
        Span<byte> digits = stackalloc byte[JsonNumber.TextMax];
        if (path.IsLegacy)
        {
            JsonValue last = editor.DataOf(editor.Count - 1);
            if (reply.Resp3)
            {
                reply.Array(1);
                ReplyNumber(reply, last, digits);
            }
            else
            {
                reply.Bulk(digits[..JsonNumber.Format(last, digits)]);
            }

            return;
        }

        NativeBuffer text = JsonTexts.Begin();
        int next = 0;
        bool isFirst = true;
        if (reply.Resp3) reply.Array(matches.Items.Length);
        else text.Write("["u8);
        foreach (JsonMatch match in matches.Items)
        {
            JsonValue number = match.Value.IsNumber ? editor.DataOf(next++) : default;
            if (reply.Resp3)
            {
                if (number.Exists) ReplyNumber(reply, number, digits);
                else reply.Null();
                continue;
            }

            if (!isFirst) text.Write(","u8);
            isFirst = false;
            text.Write(number.Exists ? digits[..JsonNumber.Format(number, digits)] : "null"u8);
        }

        if (reply.Resp3) return;
        text.Write("]"u8);
        reply.Bulk(text.Written);
        text.Clear();
    }

    private static void ReplyNumber(ReplyWriter reply, JsonValue number, Span<byte> digits)
    {
        if (number.Kind == JsonKind.Integer && !number.IsUnsigned) reply.Integer(number.Integer);
        else reply.Double(number.Double);
    }

    // JSON.STRAPPEND key [path] value
    private static void StrAppend(ref CommandContext cmd)
    {
        Arena arena = cmd.ArenaOf(1);
        if (!cmd.OpenToWriteOrReply(out Entry entry, out JsonDocument document)) return;
        int argument = cmd.Count > 3 ? 3 : 2;
        if (!cmd.TrySearchOrReply(document, argument == 3 ? cmd[2] : cmd.PathOrDefault(cmd.Count), out JsonPath path, out JsonMatches matches, wantsPaths: true)) return;
        if (!JsonArgument.TryParseOrReply(cmd, argument, arena, out JsonValue appended)) return;
        JsonEditor.OfThread.Begin(arena, document);
        if (TryAppend(cmd, entry, path, matches, appended))
        {
            int changed = JsonEditor.OfThread.Count;
            JsonEditor.OfThread.Apply(cmd.Database, entry);
            if (changed > 0) cmd.Changed(1, JsonEvents.StrAppend, changed);
        }

        JsonArgument.Free(arena);
    }

    private static bool TryAppend(scoped in CommandContext cmd, scoped in Entry entry, JsonPath path, JsonMatches matches, JsonValue appended)
    {
        long bytes = 0, last = -1;
        bool any = false;
        foreach (JsonMatch match in matches.Items)
        {
            if (match.Value.Kind != JsonKind.String) continue;
            any = true;
            if (appended.Kind != JsonKind.String) break;
            last = (long)match.Value.Text.Length + appended.Text.Length;
            bytes += last;
            if (last > JsonTag.StringMax) bytes = long.MaxValue / 2;
        }

        ReplyWriter reply = cmd.Reply;
        if (any && appended.Kind != JsonKind.String)
        {
            cmd.ReplyWrongValue("string", appended);
            return false;
        }

        if ((path.IsLegacy && last < 0) || !cmd.MayTakeScratch(bytes))
        {
            reply.Error(last < 0 ? "ERR Path does not exist or not a string"u8 : "ERR string exceeds maximum allowed size (proto-max-bulk-len)"u8);
            return false;
        }

        long start = reply.Length;
        if (path.IsLegacy) reply.Integer(last);
        else reply.Array(matches.Items.Length);
        JsonEditor editor = JsonEditor.OfThread;
        foreach (JsonMatch match in matches.Items)
        {
            if (match.Value.Kind == JsonKind.String)
            {
                int data = editor.Data.Length;
                editor.AppendString(match.Value.Text, appended.Text);
                editor.Add(JsonEditKind.Replace, matches.PathOf(match), data, replaced: match.Value);
                if (!cmd.MayEditOrReply(editor.Data.Length, start)) return false;
                if (!path.IsLegacy) reply.Integer(match.Value.Text.Length + appended.Text.Length);
            }
            else if (!path.IsLegacy)
            {
                reply.Null();
            }
        }

        return cmd.HasRoomOrReply(entry, start);
    }

    // JSON.TOGGLE key path
    private static void Toggle(ref CommandContext cmd)
    {
        if (!cmd.OpenToWriteOrReply(out Entry entry, out JsonDocument document)) return;
        if (!cmd.TrySearchOrReply(document, cmd[2], out JsonPath path, out JsonMatches matches, wantsPaths: true)) return;
        JsonEditor editor = JsonEditor.OfThread;
        editor.Begin(cmd.ArenaOf(1), document);
        ReplyWriter reply = cmd.Reply;
        long start = reply.Length;
        if (!path.IsLegacy) reply.Array(matches.Items.Length);
        bool last = false;
        foreach (JsonMatch match in matches.Items)
        {
            if (match.Value.Kind != JsonKind.Boolean)
            {
                if (!path.IsLegacy) reply.Null();
                continue;
            }

            last = !match.Value.IsTrue;
            int data = editor.Data.Length;
            JsonLiteral.AppendWord(editor.Data, JsonKind.Boolean, last);
            editor.Add(JsonEditKind.Replace, matches.PathOf(match), data, replaced: match.Value);
            if (!path.IsLegacy) reply.Integer(last ? 1 : 0);
        }

        int changed = editor.Count;
        if (path.IsLegacy && changed == 0)
        {
            reply.Error("ERR Path does not exist or not a bool"u8);
            return;
        }

        if (!cmd.HasRoomOrReply(entry, start)) return;
        if (path.IsLegacy) reply.Bulk(last ? "true"u8 : "false"u8);
        editor.Apply(cmd.Database, entry);
        if (changed > 0) cmd.Changed(1, JsonEvents.Toggle, changed);
    }
}
