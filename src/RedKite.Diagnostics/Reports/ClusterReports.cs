using System.Text.Json;
using System.Text.RegularExpressions;
using RedKite.Server.Cluster;
using RedKite.Store.Keyspace;

namespace RedKite.Server.Diagnostics.Reports;

/// <summary>The report on the cluster as this node sees it. In a package addresses and names are hashed; ids of nodes, shards and moves are shown.</summary>
internal static partial class ClusterReports
{
    internal static void Cluster(ReportContext report)
    {
        Utf8JsonWriter json = report.Json;
        json.WriteStartObject();
        json.WriteBoolean("enabled", report.Parts.Core.Settings.ClusterEnabled);
        if (report.Parts.Cluster() is { } watch)
        {
            ClusterPicture picture = watch.Picture();
            ClusterFigures figures = watch.Figures();
            WriteSelf(report, picture);
            WriteLease(report, picture, figures);
            WriteSlots(report, picture, figures);
            WriteShards(report, picture);
            json.WriteStartArray("nodes");
            foreach (PicturedNode node in picture.Nodes) WriteNode(report, picture, node);
            json.WriteEndArray();
            WriteMoves(report, picture);
            json.WriteStartArray("events");
            foreach (ClusterEvent each in watch.Events) WriteEvent(report, picture, each);
            json.WriteEndArray();
        }

        json.WriteEndObject();
    }

    private static void WriteSelf(ReportContext report, ClusterPicture picture)
    {
        Utf8JsonWriter json = report.Json;
        json.WriteString("self", picture.SelfId);
        json.WriteString("cluster_id", picture.ClusterId);
        json.WriteBoolean("has_store", picture.HasStore);
        json.WriteBoolean("is_up", picture.IsUp);
        json.WriteNumber("version", picture.Version);
        json.WriteNumber("store_version", picture.StoreVersion);
        json.WriteString("fault", Redacted(report, picture, picture.Fault));
        json.WriteString("controller", IsId(picture.Controller) ? picture.Controller : report.Shown(picture.Controller));
        json.WriteBoolean("is_controller", picture.IsController);
        report.Number("age_seconds", picture.AgeSeconds);
    }

    private static void WriteLease(ReportContext report, ClusterPicture picture, ClusterFigures figures)
    {
        Utf8JsonWriter json = report.Json;
        json.WriteStartObject("lease");
        report.Number("seconds_left", figures.LeaseSeconds);
        json.WriteNumber("seconds_max", picture.LeaseSecondsMax);
        json.WriteNumber("renewals", figures.Renewals);
        json.WriteNumber("renewal_microseconds", figures.Renewals == 0 ? 0 : figures.RenewalMicroseconds / figures.Renewals);
        report.Number("last_renewal_microseconds", figures.LastRenewalMicroseconds);
        json.WriteNumber("late_disconnections", figures.LateDisconnections);
        json.WriteEndObject();
        json.WriteStartObject("store");
        json.WriteNumber("requests", figures.StoreRequests);
        json.WriteNumber("errors", figures.StoreErrors);
        json.WriteNumber("mean_microseconds", figures.StoreRequests == 0 ? 0 : figures.StoreMicroseconds / figures.StoreRequests);
        report.Number("away_seconds", figures.StoreAwaySeconds);
        json.WriteString("error", Redacted(report, picture, picture.StoreError));
        json.WriteEndObject();
        json.WriteNumber("elections", figures.Elections);
        json.WriteNumber("takeovers", figures.Takeovers);
        report.Number("clock_skew_seconds", figures.ClockSkewSeconds);
    }

    private static void WriteSlots(ReportContext report, ClusterPicture picture, ClusterFigures figures)
    {
        Utf8JsonWriter json = report.Json;
        json.WriteStartObject("slots");
        report.Number("owned", figures.OwnedSlots);
        report.Number("uncovered", figures.UncoveredSlots);
        report.Number("hottest", figures.HottestSlot);
        report.Number("hottest_percent", figures.HottestSlotPercent);
        json.WriteStartArray("key_by_key");
        WriteKeyByKey(json, "to", picture.Migrating);
        WriteKeyByKey(json, "from", picture.Importing);
        WriteKeyByKey(json, "in doubt", picture.Doubtful);
        json.WriteEndArray();
        report.Number("awaited_seconds", figures.AwaitedSeconds);
        json.WriteStartArray("awaited");
        foreach (AwaitedSlots awaited in picture.Awaited)
        {
            json.WriteStartObject();
            json.WriteString("owner", awaited.OwnerId);
            json.WriteString("from", awaited.FromId);
            json.WriteNumber("since", awaited.Since);
            json.WriteNumber("slots", awaited.Slots.Count);
            json.WriteNumber("first_slot", awaited.Slots.Slots().First());
            json.WriteStartArray("waits_for");
            foreach (string id in awaited.WaitsFor) json.WriteStringValue(id);
            json.WriteEndArray();
            json.WriteEndObject();
        }

        json.WriteEndArray();
        json.WriteEndObject();
    }

    private static void WriteKeyByKey(Utf8JsonWriter json, string direction, IReadOnlyDictionary<int, string> slots)
    {
        foreach (IGrouping<string, KeyValuePair<int, string>> ofNode in slots.GroupBy(static slot => slot.Value))
        {
            json.WriteStartObject();
            json.WriteString("direction", direction);
            json.WriteString("node", ofNode.Key);
            json.WriteNumber("slots", ofNode.Count());
            json.WriteNumber("first_slot", ofNode.Min(static slot => slot.Key));
            json.WriteEndObject();
        }
    }

    private static void WriteShards(ReportContext report, ClusterPicture picture)
    {
        Utf8JsonWriter json = report.Json;
        json.WriteStartArray("shards");
        foreach (PicturedShard shard in picture.Shards)
        {
            json.WriteStartObject();
            json.WriteString("id", shard.Id);
            json.WriteString("primary", shard.PrimaryId);
            json.WriteStartArray("slots");
            foreach (SlotRange range in shard.Slots)
            {
                json.WriteStartArray();
                json.WriteNumberValue(range.First);
                json.WriteNumberValue(range.Last);
                json.WriteEndArray();
            }

            json.WriteEndArray();
            json.WriteBoolean("sealed", shard.IsSealed);
            json.WriteNumber("acks", shard.Acks);
            json.WriteStartArray("in_step");
            foreach (string id in shard.InStep) json.WriteStringValue(id);
            json.WriteEndArray();
            json.WriteString("hindrance", shard.Hindrance);
            json.WriteEndObject();
        }

        json.WriteEndArray();
    }

    private static void WriteNode(ReportContext report, ClusterPicture picture, PicturedNode node)
    {
        Utf8JsonWriter json = report.Json;
        json.WriteStartObject();
        json.WriteString("id", node.Id);
        json.WriteString("address", report.Shown(node.Address));
        json.WriteString("name", report.Shown(node.Name));
        json.WriteString("zone", report.Shown(node.Zone));
        json.WriteString("shard", node.ShardId);
        json.WriteString("primary", node.PrimaryId);
        if (node.IsAlive is { } isAlive) json.WriteBoolean("alive", isAlive);
        else json.WriteNull("alive");
        json.WriteNumber("version", node.Version);
        json.WriteNumber("offset", node.Offset);
        json.WriteNumber("lag_bytes", node.LagBytes);
        report.Number("age_seconds", node.FiguresAgeSeconds);
        if (node.Figures is { } said) WriteFigures(report, picture, said);
        else json.WriteNull("said");
        json.WriteEndObject();
    }

    private static void WriteFigures(ReportContext report, ClusterPicture picture, NodeFigures said)
    {
        Utf8JsonWriter json = report.Json;
        json.WriteStartObject("said");
        json.WriteBoolean("serves", said.Serves);
        json.WriteNumber("keys", said.Keys);
        json.WriteNumber("used_bytes", said.UsedBytes);
        json.WriteNumber("max_bytes", said.MaxBytes);
        report.Number("commands_per_second", said.CommandsPerSecond);
        if (said.IsLinkUp is { } isUp) json.WriteBoolean("link_up", isUp);
        else json.WriteNull("link_up");
        report.Number("lease_seconds", said.LeaseSeconds);
        report.Number("renewal_microseconds", said.RenewalMicroseconds);
        json.WriteString("fault", Redacted(report, picture, said.Fault));
        report.Number("clock_ahead_seconds", said.ClockAheadSeconds);
        json.WriteString("clock_ahead", said.ClockAheadId);
        json.WriteNumber("hottest_slot", said.HottestSlot);
        report.Number("hottest_slot_percent", said.HottestSlotPercent);
        json.WriteStartArray("keys_by_part");
        foreach (long keys in said.KeysByPart) json.WriteNumberValue(keys);
        json.WriteEndArray();
        json.WriteEndObject();
    }

    // Each once: as its source knows it, and with the keys that its destination has.
    private static void WriteMoves(ReportContext report, ClusterPicture picture)
    {
        Utf8JsonWriter json = report.Json;
        json.WriteStartArray("moves");
        foreach (IGrouping<string, MoveProgress> words in picture.Moves.Concat(picture.Nodes.Where(node => node.Id != picture.SelfId).SelectMany(static node => node.Figures?.Moves ?? [])).GroupBy(static move => move.Id))
        {
            MoveProgress move = words.OrderByDescending(static word => word.HasEnded).ThenByDescending(static word => word.IsExport).First();
            json.WriteStartObject();
            json.WriteString("id", move.Id);
            json.WriteString("source", move.SourceId);
            json.WriteString("target", move.TargetId);
            json.WriteString("slots", move.Slots);
            json.WriteNumber("slot_count", move.SlotCount);
            json.WriteString("state", move.State);
            json.WriteString("message", Redacted(report, picture, move.Message));
            json.WriteNumber("seconds", move.Seconds);
            json.WriteNumber("keys", words.Where(static word => word.IsExport).Sum(static word => word.Keys));
            json.WriteNumber("keys_received", words.Where(static word => !word.IsExport).Sum(static word => word.Keys));
            json.WriteNumber("sent_bytes", words.Max(static word => word.SentBytes));
            json.WriteNumber("waiting_bytes", words.Max(static word => word.WaitingBytes));
            json.WriteNumber("retries", words.Max(static word => word.Retries));
            json.WriteBoolean("has_ended", move.HasEnded);
            json.WriteEndObject();
        }

        json.WriteEndArray();
    }

    private static void WriteEvent(ReportContext report, ClusterPicture picture, ClusterEvent each)
    {
        Utf8JsonWriter json = report.Json;
        json.WriteStartObject();
        json.WriteNumber("unix_ms", each.UnixMs);
        json.WriteString("kind", each.Kind);
        json.WriteString("text", Redacted(report, picture, each.Text));
        json.WriteEndObject();
    }

    // A line for people may name addresses: of nodes, and of the store's members. In a package they are hashed, wherever they stand.
    private static string Redacted(ReportContext report, ClusterPicture picture, string text)
    {
        if (!report.IsRedacted || text.Length == 0) return text;
        foreach (string name in picture.Nodes.SelectMany(static node => (string[])[node.Address, node.Name, node.Zone]).Where(static name => name.Length > 3)) text = text.Replace(name, report.Shown(name), StringComparison.Ordinal);
        return Hosts().Replace(text, match => report.Shown(match.Value));
    }

    private static bool IsId(string text) => text.Length == 40 && text.All(char.IsAsciiHexDigitLower);

    // What stands behind a scheme, a host and a port, or an address of numbers.
    [GeneratedRegex(@"(?<=://)[^\s/,;""']+|(?<![\w.#-])[\w.-]*[A-Za-z][\w.-]*:\d{1,5}(?!\w)|\[[0-9A-Fa-f:%\w]+\](:\d+)?|(?<![\w.#])\d{1,3}(\.\d{1,3}){3}(:\d+)?|(?<![\w:])([0-9A-Fa-f]{0,4}:){2,7}[0-9A-Fa-f]{0,4}(?![\w:])(?<!(?<!\d)\d\d:\d\d:\d\d)", RegexOptions.CultureInvariant)]
    private static partial Regex Hosts();
}
