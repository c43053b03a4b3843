using RedKite.Json.Paths;
using RedKite.Json.Store;
using RedKite.Protocol;
using RedKite.Server.Model;
using RedKite.Store.Keyspace;
using RedKite.Store.Memory;

namespace RedKite.Json.Commands;

/// <summary>What a search is to find.</summary>
/// <param name="CountMax">After how many values it ends.</param>
/// <param name="WantsPaths">Whether the ways to the values are wanted.</param>
/// <param name="WithoutLast">Whether the path's last segment is left out.</param>
internal readonly record struct JsonSearch(int CountMax, bool WantsPaths = false, bool WithoutLast = false);

/// <summary>Opens documents for handlers, finds what paths select, and replies what the family's commands have in common.</summary>
internal static class JsonAccess
{
    /// <summary>The nanoseconds of a step of a path, which a transaction's or script's work is counted in.</summary>
    private const int NanosecondsPerStep = 8;

    /// <summary>The steps that the paths of one command may take at once: about a quarter of a second. Of a search in slices, those of a slice, whatever a filter takes.</summary>
    internal const long StepsMax = UnitWork.CommandStepsMax / NanosecondsPerStep;

    /// <summary>The steps after which a search goes on while its client waits: about a millisecond.</summary>
    internal const long SliceSteps = 128 << 10;

    /// <summary>The steps that a search may take in slices: about four seconds. The largest text has fewer values; a hostile filter takes any number for each.</summary>
    internal const long WaitingStepsMax = 512 << 20;

    internal static ReadOnlySpan<byte> NoKey => "ERR could not perform this operation on a key that doesn't exist"u8;

    internal static ReadOnlySpan<byte> NoPath => "ERR Path does not exist"u8;

    internal static ReadOnlySpan<byte> NoArray => "ERR Path does not exist or not an array"u8;

    internal static ReadOnlySpan<byte> NoObject => "ERR Path does not exist or not an object"u8;

    internal const string TooManyPlaces = "ERR the path selects more values than there is room for";

    internal const string TooLarge = "ERR document exceeds maximum allowed size";

    /// <summary>The path that a command has if it is not given.</summary>
    internal static ReadOnlySpan<byte> PathOrDefault(this scoped in CommandContext cmd, int argument) =>
        cmd.Count > argument ? cmd[argument] : cmd.Reply.Resp3 ? "$"u8 : "."u8;

    /// <summary>Opens a key's document to read it, one that does not exist for a missing key; otherwise replies that it is another type.</summary>
    internal static bool OpenToReadOrReply(this scoped in CommandContext cmd, int key, out JsonDocument document)
    {
        Entry entry = cmd.Environment.Blocking.IsServing ? cmd.Peek(key) : cmd.Find(key); // a client that has waited was counted before
        document = default;
        if (!cmd.IsDocumentOrReply(entry)) return false;
        document = JsonDocument.Of(entry);
        return true;
    }

    /// <summary>Opens a key's document to change it; otherwise replies that there is none.</summary>
    internal static bool OpenToWriteOrReply(this scoped in CommandContext cmd, out Entry entry, out JsonDocument document)
    {
        entry = cmd.FindToWrite(1);
        document = default;
        if (!cmd.IsDocumentOrReply(entry)) return false;
        document = JsonDocument.Of(entry);
        if (entry.Exists) return true;
        cmd.Reply.Error(NoKey);
        return false;
    }

    internal static bool IsDocumentOrReply(this scoped in CommandContext cmd, scoped in Entry entry)
    {
        if (!entry.Exists || entry.Type == JsonType.Instance.Number) return true;
        cmd.Reply.Error("Existing key has wrong Redis type"u8);
        return false;
    }

    /// <summary>Parses a path, or replies what is wrong with it.</summary>
    internal static bool TryPathOrReply(this scoped in CommandContext cmd, scoped ReadOnlySpan<byte> text, out JsonPath path)
    {
        if (JsonPathParser.TryParse(text, out path, out string? error)) return true;
        cmd.Reply.Error(error!);
        return false;
    }

    /// <summary>Finds what a path selects at once, or replies that this takes too much.</summary>
    /// <param name="cmd">The command.</param>
    /// <param name="document">The document.</param>
    /// <param name="path">The path.</param>
    /// <param name="search">What is to be found.</param>
    /// <param name="steps">What the command's earlier searches took: all of them together may take as much as one.</param>
    /// <param name="matches">What was found.</param>
    internal static bool TryFindOrReply(this scoped in CommandContext cmd, JsonDocument document, JsonPath path, JsonSearch search, ref long steps, out JsonMatches matches)
    {
        matches = JsonMatches.OfThread;
        matches.Find(document, path, cmd.Bounds(search.WantsPaths), cmd.StepsAtOnceMax() - steps, search.CountMax, search.WithoutLast);
        steps += matches.Steps;
        return cmd.EndOrReply(matches);
    }

    /// <summary>
    /// Finds what the path of a command selects. A search that takes longer than a slice goes on while the client waits; then the command executes again, and has the
    /// result, if the document is the same. In a transaction or script it is made at once. A command calls it once, before it has replied or changed anything.
    /// </summary>
    /// <returns>False: the client waits, or has an error.</returns>
    internal static bool TrySearchOrReply(this scoped in CommandContext cmd, JsonDocument document, JsonPath path, out JsonMatches matches, bool wantsPaths = false) =>
        cmd.TrySearchOrReply(document, path, new JsonSearch(int.MaxValue, wantsPaths), text: null, default, out matches);

    /// <summary>Finds what the path of a command selects, as the other one, also for a command that replies the text of it (<see cref="TryWriteOrWait"/>).</summary>
    /// <param name="cmd">The command.</param>
    /// <param name="document">The document.</param>
    /// <param name="path">The path.</param>
    /// <param name="search">What is to be found.</param>
    /// <param name="text">The text, which is begun; if the search goes on in slices, they write it, too. Null: none is wanted.</param>
    /// <param name="format">What the text has between its parts.</param>
    /// <param name="matches">What was found.</param>
    internal static bool TrySearchOrReply(this scoped in CommandContext cmd, JsonDocument document, JsonPath path, JsonSearch search, JsonReplyText? text, JsonFormat format, out JsonMatches matches)
    {
        var complete = cmd.Environment.Blocking.CompleteWork as JsonSearchWork;
        if (complete is not null && complete.Matches.Document.IsSame(document))
        {
            matches = complete.Matches;
            return cmd.EndOrReply(matches);
        }

        bool mayWait = cmd.MayWait();
        long stepsMax = cmd.StepsAtOnceMax();
        matches = JsonMatches.OfThread;
        matches.Begin(document, path, cmd.Bounds(search.WantsPaths), search.CountMax);
        if (!matches.Run(mayWait ? SliceSteps / cmd.Keyspace.BoundsDivisor : long.MaxValue, stepsMax))
        {
            if (mayWait)
            {
                if (cmd.TryWaitFor(new JsonSearchWork(cmd.Keyspace, cmd.Database, cmd.HashOf(cmd.Command.FirstKey), matches, text), format)) return false;
            }

            matches.Run(long.MaxValue, stepsMax);
        }

        return cmd.EndOrReply(matches);
    }

    /// <summary>
    /// Writes the text of what the path of a command selects. A text that takes longer than a slice goes on while the client waits, as the search does, with what was
    /// found and written. A command calls it once, behind the search.
    /// </summary>
    /// <returns>False: the client waits.</returns>
    internal static bool TryWriteOrWait(this scoped in CommandContext cmd, JsonMatches matches, ref JsonReplyText text, JsonFormat format)
    {
        if (cmd.Environment.Blocking.CompleteWork is JsonSearchWork { Text: { } written } complete && complete.Matches == matches)
        {
            text = written;
            return true;
        }

        if (cmd.MayWait())
        {
            if (text.Run(matches, format, JsonReplyText.SliceBytes / cmd.Keyspace.BoundsDivisor)) return true;
            if (cmd.TryWaitFor(new JsonSearchWork(cmd.Keyspace, cmd.Database, cmd.HashOf(cmd.Command.FirstKey), matches, text), format)) return false;
        }

        text.Run(matches, format);
        return true;
    }

    // A document that is elsewhere when its search is complete is searched at once.
    private static bool MayWait(this scoped in CommandContext cmd) => cmd.Environment.Blocking.CompleteWork is not JsonSearchWork && !cmd.Environment.IsInUnit && !cmd.WasAccepted;

    private static bool TryWaitFor(this scoped in CommandContext cmd, JsonSearchWork work, JsonFormat format)
    {
        if (!cmd.BlockOnWork(work)) return false;
        work.Text?.Keep(new ReplyWriter(cmd.Environment.Buffers) { Resp3 = cmd.Reply.Resp3 }, format);
        work.Begin();
        return true;
    }

    /// <summary>Finds what the path of a command selects, as the other one.</summary>
    internal static bool TrySearchOrReply(this scoped in CommandContext cmd, JsonDocument document, scoped ReadOnlySpan<byte> text, out JsonPath path, out JsonMatches matches, bool wantsPaths = false)
    {
        matches = null!;
        if (!cmd.TryPathOrReply(text, out path)) return false;
        if (!cmd.TrySearchOrReply(document, path, out matches, wantsPaths)) return false;
        path = matches.Path;
        return true;
    }

    /// <summary>The size of the text that a document may have (<see cref="JsonTextSize"/>).</summary>
    internal static long TextMax(this scoped in CommandContext cmd) => (cmd.WasAccepted ? JsonTextSize.LoadedMax : JsonTextSize.DocumentMax) / cmd.Keyspace.BoundsDivisor;

    /// <summary>Whether a document's text has room for what the editor's edits add; otherwise drops them and replies that it has none.</summary>
    /// <param name="cmd">The command.</param>
    /// <param name="entry">The document's entry.</param>
    /// <param name="start">Where the command's reply begins, if something of it is written.</param>
    internal static bool HasRoomOrReply(this scoped in CommandContext cmd, scoped in Entry entry, long start = long.MaxValue)
    {
        JsonEditor editor = JsonEditor.OfThread;
        if (editor.HasRoom(entry, cmd.TextMax())) return true;
        editor.Discard();
        if (cmd.Reply.Length > start) cmd.Reply.Truncate(start);
        cmd.Reply.Error(TooLarge);
        return false;
    }

    /// <summary>Whether the editor has room for the data of all edits that a command makes; otherwise drops the edits and replies that it has none.</summary>
    /// <param name="cmd">The command.</param>
    /// <param name="data">The bytes.</param>
    /// <param name="start">Where the command's reply begins, if something of it is written.</param>
    internal static bool MayEditOrReply(this scoped in CommandContext cmd, long data, long start = long.MaxValue)
    {
        if (data <= JsonEditor.DataMax / cmd.Keyspace.BoundsDivisor) return true;
        JsonEditor.OfThread.Discard();
        if (cmd.Reply.Length > start) cmd.Reply.Truncate(start);
        cmd.Reply.Error(TooManyPlaces);
        return false;
    }

    private static JsonBounds Bounds(this scoped in CommandContext cmd, bool wantsPaths) =>
        new(!wantsPaths ? 0 : cmd.WasAccepted ? int.MaxValue : JsonMatches.PlacesMax / cmd.Keyspace.BoundsDivisor, cmd.WasAccepted);

    /// <summary>The steps that all searches that a command makes at once may take together.</summary>
    internal static long StepsAtOnceMax(this scoped in CommandContext cmd) => Math.Max(UnitWork.CheapSteps, cmd.StepsAtOnce()) / NanosecondsPerStep;

    private static bool EndOrReply(this scoped in CommandContext cmd, JsonMatches matches)
    {
        if (matches.Steps * NanosecondsPerStep > UnitWork.CheapSteps && cmd.Environment.IsInUnit) cmd.Environment.UnitWork.Take(matches.Steps * NanosecondsPerStep);
        if (matches.Outcome == JsonOutcome.Complete) return true;
        cmd.Reply.Error(matches.Outcome == JsonOutcome.TooManySteps ? "ERR the path takes too many steps in this document" : TooManyPlaces);
        return false;
    }

    /// <summary>Parses a value for a place in a document, or replies what is wrong with the text.</summary>
    /// <param name="cmd">The command.</param>
    /// <param name="argument">The text's argument.</param>
    /// <param name="document">The document.</param>
    /// <param name="arena">The arena of its stripe.</param>
    /// <param name="depth">How deep the place is.</param>
    /// <param name="hasCode">Whether the error begins with ERR, as those of some commands do in Redis.</param>
    /// <param name="floats">The precision of arrays of numbers.</param>
    internal static bool TryParseOrReply(this scoped in CommandContext cmd, int argument, JsonDocument document, Arena arena, int depth, bool hasCode = false, JsonFloats floats = JsonFloats.Any)
    {
        if (JsonParser.OfThread.TryParse(cmd[argument], JsonEditor.OfThread.Data, arena, document.Names, depth, floats: floats)) return true;
        cmd.ReplySyntax(hasCode);
        return false;
    }

    internal static void ReplySyntax(this scoped in CommandContext cmd, bool hasCode = false)
    {
        byte[] message = JsonParser.OfThread.Error.Message;
        cmd.Reply.Error(hasCode ? [.. "ERR "u8, .. message] : message);
    }

    internal static void ReplyWrongValue(this scoped in CommandContext cmd, string expected, JsonValue found) =>
        cmd.Reply.Error($"WRONGTYPE wrong type of path value - expected {expected} but found {System.Text.Encoding.ASCII.GetString(found.TypeName)}");

    /// <summary>The arena of a key's stripe.</summary>
    internal static Arena ArenaOf(this scoped in CommandContext cmd, int key) => cmd.Database.ArenaOf(cmd.HashOf(key));

    internal static bool IsDollarPath(ReadOnlySpan<byte> text) => JsonPathParser.IsDollarPath(text);
}
