using System.Buffers;
using System.Text.Json;

namespace RedKite.Server.Cluster.Watching;

/// <summary>
/// What a node says of itself, as JSON. Nothing is decided by it, so it is read as far as it is understood: members that this version does not know are passed over, and those that are missing have their defaults.
/// </summary>
internal static class NodeFiguresDocument
{
    private const int MovesMax = 16;
    private const int DepthMax = 8;

    internal static byte[] Write(NodeFigures figures)
    {
        var bytes = new ArrayBufferWriter<byte>();
        using (var json = new Utf8JsonWriter(bytes))
        {
            json.WriteStartObject();
            json.WriteNumber("unixMs"u8, figures.UnixMs);
            json.WriteBoolean("serves"u8, figures.Serves);
            json.WriteNumber("keys"u8, figures.Keys);
            json.WriteNumber("usedBytes"u8, figures.UsedBytes);
            json.WriteNumber("maxBytes"u8, figures.MaxBytes);
            json.WriteNumber("commandsPerSecond"u8, Finite(figures.CommandsPerSecond));
            json.WriteString("history"u8, figures.History);
            json.WriteNumber("offset"u8, figures.Offset);
            if (figures.IsLinkUp is { } isUp) json.WriteBoolean("linkUp"u8, isUp);
            json.WriteNumber("leaseSeconds"u8, Finite(figures.LeaseSeconds));
            json.WriteNumber("renewalMicroseconds"u8, Finite(figures.RenewalMicroseconds));
            json.WriteString("fault"u8, Cut(figures.Fault));
            json.WriteNumber("clockAheadSeconds"u8, Finite(figures.ClockAheadSeconds));
            json.WriteString("clockAheadId"u8, figures.ClockAheadId);
            json.WriteNumber("hottestSlot"u8, figures.HottestSlot);
            json.WriteNumber("hottestSlotPercent"u8, Finite(figures.HottestSlotPercent));
            json.WriteStartArray("keysByPart"u8);
            foreach (long keys in figures.KeysByPart) json.WriteNumberValue(keys);
            json.WriteEndArray();
            json.WriteStartArray("moves"u8);
            foreach (MoveProgress move in figures.Moves.Take(MovesMax)) WriteMove(json, move);
            json.WriteEndArray();
            json.WriteEndObject();
        }

        return bytes.WrittenSpan.ToArray();
    }

    /// <summary>Reads it. Null: it is nothing of that kind.</summary>
    internal static NodeFigures? Read(ReadOnlyMemory<byte> bytes)
    {
        if (bytes.Length > ClusterLimits.FiguresBytesMax) return null;
        try
        {
            using var document = JsonDocument.Parse(bytes, new JsonDocumentOptions { MaxDepth = DepthMax });
            return ReadFigures(document.RootElement);
        }
        catch (Exception failure) when (failure is JsonException or InvalidOperationException or FormatException)
        {
            return null;
        }
    }

    private static NodeFigures? ReadFigures(JsonElement root)
    {
        if (root.ValueKind != JsonValueKind.Object) return null;
        return new NodeFigures
        {
            UnixMs = Whole(root, "unixMs"),
            Serves = root.TryGetProperty("serves", out JsonElement serves) && serves.GetBoolean(),
            Keys = Whole(root, "keys"),
            UsedBytes = Whole(root, "usedBytes"),
            MaxBytes = Whole(root, "maxBytes"),
            CommandsPerSecond = Number(root, "commandsPerSecond"),
            History = Text(root, "history"),
            Offset = root.TryGetProperty("offset", out JsonElement offset) ? offset.GetInt64() : -1,
            IsLinkUp = root.TryGetProperty("linkUp", out JsonElement isUp) ? isUp.GetBoolean() : null,
            LeaseSeconds = Number(root, "leaseSeconds"),
            RenewalMicroseconds = Number(root, "renewalMicroseconds"),
            Fault = Text(root, "fault"),
            ClockAheadSeconds = Number(root, "clockAheadSeconds"),
            ClockAheadId = Text(root, "clockAheadId"),
            HottestSlot = root.TryGetProperty("hottestSlot", out JsonElement slot) ? slot.GetInt32() : -1,
            HottestSlotPercent = Number(root, "hottestSlotPercent"),
            KeysByPart = root.TryGetProperty("keysByPart", out JsonElement keys) && keys.GetArrayLength() == NodeFigures.PartsOfSlots ? [.. keys.EnumerateArray().Select(static part => part.GetInt64())] : [],
            Moves = root.TryGetProperty("moves", out JsonElement moves) ? [.. moves.EnumerateArray().Take(MovesMax).Select(ReadMove)] : [],
        };
    }

    private static void WriteMove(Utf8JsonWriter json, MoveProgress move)
    {
        json.WriteStartObject();
        json.WriteString("id"u8, move.Id);
        json.WriteBoolean("isExport"u8, move.IsExport);
        json.WriteString("source"u8, move.SourceId);
        json.WriteString("target"u8, move.TargetId);
        json.WriteString("slots"u8, move.Slots);
        json.WriteNumber("slotCount"u8, move.SlotCount);
        json.WriteString("state"u8, move.State);
        json.WriteString("message"u8, Cut(move.Message));
        json.WriteNumber("seconds"u8, Finite(move.Seconds));
        json.WriteNumber("keys"u8, move.Keys);
        json.WriteNumber("sentBytes"u8, move.SentBytes);
        json.WriteNumber("waitingBytes"u8, move.WaitingBytes);
        json.WriteNumber("retries"u8, move.Retries);
        json.WriteEndObject();
    }

    private static MoveProgress ReadMove(JsonElement move) => new(
        Text(move, "id"),
        move.TryGetProperty("isExport", out JsonElement isExport) && isExport.GetBoolean(),
        Text(move, "source"),
        Text(move, "target"),
        Text(move, "slots"),
        (int)Whole(move, "slotCount"),
        Text(move, "state"),
        Text(move, "message"),
        Number(move, "seconds"),
        Whole(move, "keys"),
        Whole(move, "sentBytes"),
        Whole(move, "waitingBytes"),
        (int)Whole(move, "retries"),
        HasEnded: false);

    private static string Cut(string text) => text.Length > ClusterLimits.TextMax ? text[..ClusterLimits.TextMax] : text;

    private static double Finite(double value) => double.IsFinite(value) ? Math.Round(value, 3) : 0;

    private static long Whole(JsonElement root, string name) => root.TryGetProperty(name, out JsonElement value) ? value.GetInt64() : 0;

    private static double Number(JsonElement root, string name) => root.TryGetProperty(name, out JsonElement value) ? value.GetDouble() : 0;

    private static string Text(JsonElement root, string name) => root.TryGetProperty(name, out JsonElement value) ? Cut(value.GetString() ?? "") : "";
}
