using RedKite.Json.Paths;
using RedKite.Json.Store;
using RedKite.Server.Changes;
using RedKite.Server.Model;
using RedKite.Store.Keyspace;
using RedKite.Store.Memory;
using static RedKite.Server.Model.CommandFlags;
using static RedKite.Server.Model.KeyFlags;

namespace RedKite.Json.Commands;

/// <summary>Commands that set values of documents. The table is their single declaration and this file's contents.</summary>
internal static class JsonSetCommands
{
    internal static readonly KeySpec[] Written = KeySpecs.One(1, ReadWrite | Update);

    internal static readonly CommandFamily Family = new("module", "json",
    [
        new("JSON.SET", -4, Write | DenyOom, KeySpecs.One(1, ReadWrite | Update), Set,
            new("1.0.0", "O(M+N) where M is the size of what was there and N that of the value, for each place that a path selects.", "Sets the values at a path, or adds a member. Creates the key for the path of the root.", "key path value condition:[NX | XX] [FPHA fpha-type:<FP16 | BF16 | FP32 | FP64>]")) { Module = ServerModule.Json },
        new("JSON.MSET", -4, Write | DenyOom, KeySpecs.Range(1, -1, 3, ReadWrite | Update), MSet,
            new("2.6.0", "O(K*(M+N)) where K is the number of keys, M the size of what was there and N that of the value.", "Sets values of several documents.", "triplet:(key path value) [(key path value) ...]")) { Module = ServerModule.Json },
        new("JSON.MERGE", -4, Write | DenyOom, KeySpecs.One(1, ReadWrite | Update), Merge,
            new("2.6.0", "O(M+N) where M is the size of what was there and N that of the value, for each place that a path selects.", "Merges a value into those at a path, as RFC 7396 says.", "key path value")) { Module = ServerModule.Json },
    ]);

    private enum Condition
    {
        None,
        Missing,
        Existing,
    }

    private enum Outcome
    {
        Set,
        Nothing,
        Replied,
    }

    // One that is tried is not set; what was tried is set whatever its size.
    private enum Pass
    {
        Only,
        Try,
        Tried,
    }

    // How a value is set. MaySlice: a search for its places may go on while the client waits.
    private readonly record struct Setting(KeyEvent Event, Condition Condition = Condition.None, JsonFloats Floats = JsonFloats.Any, Pass Pass = Pass.Only, bool MaySlice = false)
    {
        internal bool IsTried => Pass == Pass.Try;
    }

    // What the values of a command have taken: the steps of their searches, and their texts where they are tried.
    private struct Taken
    {
        internal long Steps;
        internal long Text;
    }

    // JSON.SET key path value [NX | XX] [FPHA type]
    private static void Set(ref CommandContext cmd)
    {
        if (!TryOptionsOrReply(cmd, out Condition condition, out JsonFloats floats)) return;
        Taken taken = default;
        Outcome outcome = SetValue(cmd, 1, new Setting(JsonEvents.Set, condition, floats, MaySlice: true), ref taken);
        if (outcome == Outcome.Set) cmd.Reply.Ok();
        else if (outcome == Outcome.Nothing) cmd.Reply.Null();
    }

    private static bool TryOptionsOrReply(scoped in CommandContext cmd, out Condition condition, out JsonFloats floats)
    {
        condition = Condition.None;
        floats = JsonFloats.Any;
        for (int i = 4; i < cmd.Count; i++)
        {
            if (condition == Condition.None && cmd.Is(i, "NX"u8)) condition = Condition.Missing;
            else if (condition == Condition.None && cmd.Is(i, "XX"u8)) condition = Condition.Existing;
            else if (floats != JsonFloats.Any || !cmd.Is(i, "FPHA"u8) || i + 1 == cmd.Count || !TryFloats(cmd, ++i, out floats)) return ReplySyntax(cmd);
        }

        return true;
    }

    private static bool TryFloats(scoped in CommandContext cmd, int argument, out JsonFloats floats)
    {
        floats = cmd.Is(argument, "FP16"u8) ? JsonFloats.Half : cmd.Is(argument, "BF16"u8) ? JsonFloats.BFloat : cmd.Is(argument, "FP32"u8) ? JsonFloats.Single : cmd.Is(argument, "FP64"u8) ? JsonFloats.Double : JsonFloats.Any;
        return floats != JsonFloats.Any;
    }

    private static bool ReplySyntax(scoped in CommandContext cmd)
    {
        cmd.ReplySyntaxError();
        return false;
    }

    // JSON.MSET key path value [key path value ...]
    private static void MSet(ref CommandContext cmd)
    {
        if (cmd.Count % 3 != 1)
        {
            cmd.Reply.Error("ERR wrong number of arguments for 'json.mset' command"u8);
            return;
        }

        // All or nothing: each is tried with the documents as they are. The search for its places is then made again, so all tries may take half of what the command may.
        Taken taken = new() { Steps = cmd.StepsAtOnceMax() / 2 };
        for (int i = 1; i < cmd.Count; i += 3)
        {
            if (SetValue(cmd, i, new Setting(JsonEvents.MSet, Pass: Pass.Try), ref taken) == Outcome.Replied) return;
        }

        taken.Steps -= cmd.StepsAtOnceMax() / 2;
        bool isSet = true;
        for (int i = 1; i < cmd.Count; i += 3)
        {
            Outcome outcome = SetValue(cmd, i, new Setting(JsonEvents.MSet, Pass: Pass.Tried), ref taken);
            if (outcome == Outcome.Replied) return;
            isSet &= outcome == Outcome.Set;
        }

        if (isSet) cmd.Reply.Ok();
        else cmd.Reply.Null();
    }

    // Sets what the path behind a key selects to the value behind that, or only says whether that is possible.
    private static Outcome SetValue(scoped in CommandContext cmd, int key, in Setting setting, ref Taken taken)
    {
        ReadOnlySpan<byte> pathText = cmd[key + 1];
        Arena arena = cmd.ArenaOf(key);
        if (!cmd.TryPathOrReply(pathText, out JsonPath path)) return Outcome.Replied;
        Entry entry = path.IsRoot ? cmd.FindToReplace(key) : cmd.FindToWrite(key);
        if (!cmd.IsDocumentOrReply(entry)) return Outcome.Replied;
        if (path.IsRoot) return SetRoot(cmd, key, entry, setting, ref taken);
        JsonDocument document = JsonDocument.Of(entry);
        if (!document.Exists)
        {
            if (setting.Condition == Condition.Existing) return Outcome.Nothing;
            cmd.Reply.Error("ERR new objects must be created at the root"u8);
            return Outcome.Replied;
        }

        if (!(setting.MaySlice ? cmd.TrySearchOrReply(document, path, out JsonMatches matches, wantsPaths: true) : cmd.TryFindOrReply(document, path, new JsonSearch(int.MaxValue, WantsPaths: true), ref taken.Steps, out matches))) return Outcome.Replied;
        JsonEditor editor = JsonEditor.OfThread;
        editor.Begin(arena, document);
        int places = 1;
        if (matches.Items.IsEmpty)
        {
            Outcome planned = setting.Condition == Condition.Existing ? Outcome.Nothing : Insert(cmd, key + 2, document, path, setting.Floats, ref taken);
            if (planned != Outcome.Set) return planned;
        }
        else
        {
            if (setting.Condition == Condition.Missing) return Outcome.Nothing;
            places = matches.Items.Length;
            if (!cmd.MayTakeScratch((long)cmd[key + 2].Length * places))
            {
                cmd.Reply.Error(JsonAccess.TooManyPlaces);
                return Outcome.Replied;
            }

            foreach (JsonMatch match in matches.Items)
            {
                int data = editor.Data.Length;
                if (!cmd.TryParseOrReply(key + 2, document, arena, match.Depth, floats: setting.Floats))
                {
                    editor.Discard();
                    return Outcome.Replied;
                }

                editor.Add(JsonEditKind.Replace, matches.PathOf(match), data, replaced: match.Value);
                if (!cmd.MayEditOrReply((editor.Data.Length - data) * (long)places)) return Outcome.Replied;
                if (setting.IsTried) break;
            }
        }

        if (setting.IsTried)
        {
            taken.Text += editor.Added * places;
            editor.Discard();
            return HasRoomOrReply(cmd, JsonDocument.TextOf(entry) + taken.Text) ? Outcome.Set : Outcome.Replied;
        }

        if (setting.Pass == Pass.Only && !cmd.HasRoomOrReply(entry)) return Outcome.Replied;
        editor.Apply(cmd.Database, entry);
        cmd.Changed(key, setting.Event);
        return Outcome.Set;
    }

    private static Outcome SetRoot(scoped in CommandContext cmd, int key, scoped in Entry entry, in Setting setting, ref Taken taken)
    {
        NativeBuffer image = JsonEditor.OfThread.Data;
        image.Clear();
        Arena arena = cmd.ArenaOf(key);
        if (setting.Condition == Condition.Existing && !entry.Exists) return Outcome.Nothing;
        if (setting.Condition == Condition.Missing && entry.Exists) return Outcome.Nothing;
        if (!JsonParser.OfThread.TryParseDocument(cmd[key + 2], image, arena, setting.Floats))
        {
            cmd.ReplySyntax();
            return Outcome.Replied;
        }

        // A small one certainly has no long text.
        long text = JsonParser.OfThread.MayRefer || setting.IsTried ? JsonTextSize.OfDocument(image) : 0;
        if (setting.IsTried) taken.Text += text;
        bool hasRoom = setting.Pass == Pass.Tried || HasRoomOrReply(cmd, setting.IsTried ? taken.Text : text);
        if (setting.IsTried || !hasRoom)
        {
            JsonDocument.Free(image, arena);
            image.Clear();
            return hasRoom ? Outcome.Set : Outcome.Replied;
        }

        JsonDocument.Create(cmd.Database, cmd[key], cmd.HashOf(key), entry, entry.Exists ? cmd.Accesses.ClockOfRewritten(entry) : cmd.Accesses.NewClock, image, text);
        image.Clear();
        cmd.Changed(key, setting.Event);
        return Outcome.Set;
    }

    private static bool HasRoomOrReply(scoped in CommandContext cmd, long text)
    {
        if (text <= cmd.TextMax()) return true;
        cmd.Reply.Error(JsonAccess.TooLarge);
        return false;
    }

    // Adds the member that a path would name, if its object is there.
    private static Outcome Insert(scoped in CommandContext cmd, int argument, JsonDocument document, JsonPath path, JsonFloats floats, ref Taken taken)
    {
        if (!path.IsStatic)
        {
            cmd.Reply.Error("ERR wrong static path"u8);
            return Outcome.Replied;
        }

        JsonSelector last = path.LastSelector();
        if (last.Kind == JsonSelectorKind.Index)
        {
            cmd.Reply.Error("ERR array index out of range"u8);
            return Outcome.Replied;
        }

        if (!cmd.TryFindOrReply(document, path, new JsonSearch(int.MaxValue, WantsPaths: true, WithoutLast: true), ref taken.Steps, out JsonMatches parents)) return Outcome.Replied;
        bool hasObject = !parents.Items.IsEmpty && parents.Items[0].Value.Kind == JsonKind.Object;
        JsonEditor editor = JsonEditor.OfThread;
        int depth = hasObject ? parents.Items[0].Depth + 1 : 0;
        editor.AppendName(document.Names, path.TextOf(last));
        if (!cmd.TryParseOrReply(argument, document, cmd.ArenaOf(argument - 2), depth, floats: floats))
        {
            editor.Discard();
            return Outcome.Replied;
        }

        if (!hasObject)
        {
            editor.DiscardMember();
            return Outcome.Nothing;
        }

        editor.AddInsertion(parents.PathOf(parents.Items[0]), (int)parents.Items[0].Value.Count, 0, 1, isMember: true);
        return Outcome.Set;
    }

    // JSON.MERGE key path value
    private static void Merge(ref CommandContext cmd)
    {
        Arena arena = cmd.ArenaOf(1);
        if (!cmd.TryPathOrReply(cmd[2], out JsonPath path)) return;
        Entry entry = cmd.FindToWrite(1);
        if (!cmd.IsDocumentOrReply(entry)) return;
        JsonDocument document = JsonDocument.Of(entry);
        JsonMatches? matches = null;
        if (document.Exists && !cmd.TrySearchOrReply(document, path, out matches, wantsPaths: true)) return;
        if (matches is null || matches.Items.IsEmpty)
        {
            Taken taken = default;
            Outcome outcome = SetValue(cmd, 1, new Setting(JsonEvents.Merge), ref taken);
            if (outcome == Outcome.Set) cmd.Reply.Ok();
            else if (outcome == Outcome.Nothing) cmd.Reply.Null();
            return;
        }

        var merge = new JsonMerge(cmd.Database, arena, JsonAccess.StepsMax / cmd.Keyspace.BoundsDivisor, cmd.TextMax());
        if (!merge.TryParse(cmd[3]))
        {
            cmd.ReplySyntax();
            return;
        }

        if (merge.TryMerge(entry, matches, out string? error))
        {
            cmd.Changed(1, JsonEvents.Merge);
            cmd.Reply.Ok();
        }
        else
        {
            cmd.Reply.Error(error!);
        }
    }
}
