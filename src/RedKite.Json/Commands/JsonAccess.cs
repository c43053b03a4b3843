using RedKite.Json.Paths;
using RedKite.Json.Store;
using RedKite.Server.Model;
using RedKite.Store.Keyspace;
using RedKite.Store.Memory;

namespace RedKite.Json.Commands;

/// <summary>Opens documents for handlers, finds what paths select, and replies what the family's commands have in common.</summary>
internal static class JsonAccess
{
    /// <summary>The nanoseconds of a step of a path, which a transaction's or script's work is counted in.</summary>
    private const int NanosecondsPerStep = 8;

    /// <summary>The steps that the paths of one command may take: about a quarter of a second.</summary>
    internal const long StepsMax = UnitWork.CommandStepsMax / NanosecondsPerStep;

    internal static ReadOnlySpan<byte> NoKey => "ERR could not perform this operation on a key that doesn't exist"u8;

    internal static ReadOnlySpan<byte> NoPath => "ERR Path does not exist"u8;

    internal static ReadOnlySpan<byte> NoArray => "ERR Path does not exist or not an array"u8;

    internal static ReadOnlySpan<byte> NoObject => "ERR Path does not exist or not an object"u8;

    /// <summary>The path that a command has if it is not given.</summary>
    internal static ReadOnlySpan<byte> PathOrDefault(this scoped in CommandContext cmd, int argument) =>
        cmd.Count > argument ? cmd[argument] : cmd.Reply.Resp3 ? "$"u8 : "."u8;

    /// <summary>Opens a key's document to read it, one that does not exist for a missing key; otherwise replies that it is another type.</summary>
    internal static bool OpenToReadOrReply(this scoped in CommandContext cmd, int key, out JsonDocument document)
    {
        Entry entry = cmd.Find(key);
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

    /// <summary>Finds what a path selects, or replies that this takes too much.</summary>
    internal static bool TryFindOrReply(this scoped in CommandContext cmd, JsonDocument document, JsonPath path, out JsonMatches matches, bool wantsPaths = false, int countMax = int.MaxValue, bool withoutLast = false)
    {
        matches = JsonMatches.OfThread;
        long stepsMax = Math.Max(UnitWork.CheapSteps, cmd.StepsAtOnce()) / NanosecondsPerStep;
        JsonOutcome outcome = matches.Find(document, path, wantsPaths, stepsMax, countMax, withoutLast);
        if (matches.Steps * NanosecondsPerStep > UnitWork.CheapSteps && cmd.Environment.IsInUnit) cmd.Environment.UnitWork.Take(matches.Steps * NanosecondsPerStep);
        if (outcome == JsonOutcome.Complete) return true;
        cmd.Reply.Error(outcome == JsonOutcome.TooManySteps ? "ERR the path takes too many steps in this document"u8 : "ERR the path selects more values than there is room for"u8);
        return false;
    }

    /// <summary>Finds what a path selects of a document, or replies what is wrong.</summary>
    internal static bool TryFindOrReply(this scoped in CommandContext cmd, JsonDocument document, scoped ReadOnlySpan<byte> text, out JsonPath path, out JsonMatches matches, bool wantsPaths = false)
    {
        matches = null!;
        return cmd.TryPathOrReply(text, out path) && cmd.TryFindOrReply(document, path, out matches, wantsPaths);
    }

    /// <summary>Parses a value for a place in a document, or replies what is wrong with the text.</summary>
    /// <param name="cmd">The command.</param>
    /// <param name="argument">The text's argument.</param>
    /// <param name="document">The document.</param>
    /// <param name="arena">The arena of its stripe.</param>
    /// <param name="depth">How deep the place is.</param>
    /// <param name="hasCode">Whether the error begins with ERR, as those of some commands do in Redis.</param>
    internal static bool TryParseOrReply(this scoped in CommandContext cmd, int argument, JsonDocument document, Arena arena, int depth, bool hasCode = false)
    {
        if (JsonParser.OfThread.TryParse(cmd[argument], JsonEditor.OfThread.Data, arena, document.Names, depth)) return true;
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
