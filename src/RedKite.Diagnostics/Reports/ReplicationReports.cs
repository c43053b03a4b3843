using System.Globalization;
using System.Text.Json;
using RedKite.Server.Replication;

namespace RedKite.Server.Diagnostics.Reports;

/// <summary>The report on who follows whom. It takes no lock of the data.</summary>
internal static class ReplicationReports
{
    internal static void Replication(ReportContext report)
    {
        Utf8JsonWriter json = report.Json;
        ServerParts parts = report.Parts;
        ReplicaService service = parts.Replicas;
        ReplicationStream stream = service.Stream;
        ReplicationIds ids = service.State.Ids;
        long offset = stream.Offset;
        json.WriteStartObject();
        json.WriteString("role", service.State.IsReplica ? "replica" : "primary");
        json.WriteString("history", ids.Id);
        json.WriteString("second_history", ids.SecondOffset < 0 ? null : ids.SecondId);
        json.WriteNumber("second_history_offset", ids.SecondOffset);
        json.WriteNumber("offset", offset);
        WriteBacklog(report, stream, offset);
        WriteLink(report, service.State);
        json.WriteStartArray("replicas");
        foreach (ReplicaClient replica in service.Replicas.Where(static replica => replica.Main is null)) WriteReplica(report, replica, offset);
        json.WriteEndArray();
        json.WriteNumber("replicas_to_write_min", parts.Core.Settings.ReplicasToWriteMin);
        json.WriteNumber("good_replicas", service.GoodReplicas);
        json.WriteBoolean("writes_refused", parts.Core.WriteGate.LacksReplicas);
        WriteAcks(json, parts.Core.Settings.ReplicaAcks, service.State.Acks.Figures(parts.Core.Clock.SteadyMs));
        WriteCounts(report, service.Counts);
        WriteLinkCounts(report, service.State.LinkCounts);
        json.WriteNumber("stream_errors", parts.Core.Metrics.Server.StreamErrors);
        json.WriteEndObject();
    }

    private static void WriteAcks(Utf8JsonWriter json, int replicas, in AckFigures acks)
    {
        json.WriteStartObject("acks");
        json.WriteNumber("replicas", replicas);
        json.WriteNumber("offset", acks.Position);
        json.WriteNumber("waiting_replies", acks.Replies);
        json.WriteNumber("waiting_seconds", acks.OldestMs / 1000.0);
        json.WriteNumber("mean_wait_microseconds", acks.Waits == 0 ? 0 : acks.Microseconds / acks.Waits);
        json.WriteNumber("errors", acks.Failed);
        json.WriteEndObject();
    }

    private static void WriteCounts(ReportContext report, ReplicaCounts counts)
    {
        Utf8JsonWriter json = report.Json;
        json.WriteNumber("full_synchronizations", counts.Full);
        json.WriteNumber("partial_synchronizations", counts.Partial);
        json.WriteNumber("partials_refused", counts.Refused);
        json.WriteNumber("partials_refused_by_backlog", counts.RefusedFor(RefusalReason.Backlog));
        json.WriteString("last_refusal", counts.LastRefusal?.Reason ?? "");
        json.WriteString("last_refused", counts.LastRefusal is { } refusal ? report.Shown(refusal.Replica) : "");
        json.WriteNumber("overflows", counts.Overflows);
        json.WriteNumber("overflows_in_sync", counts.OverflowsInSync);
        json.WriteNumber("lost_connections", counts.Lost);
    }

    private static void WriteLinkCounts(ReportContext report, LinkCounts counts)
    {
        Utf8JsonWriter json = report.Json;
        json.WriteStartObject("link");
        json.WriteNumber("full_synchronizations", counts.FullSyncs);
        json.WriteNumber("partial_synchronizations", counts.PartialSyncs);
        json.WriteNumber("failed_synchronizations", counts.FailedSyncs);
        json.WriteNumber("breaks", counts.Breaks);
        json.WriteNumber("errors_since_synchronization", counts.ErrorsSinceSync);
        json.WriteString("last_failure", counts.LastFailure.Length > 0 ? report.Shown(counts.LastFailure) : "");
        json.WriteEndObject();
    }

    // How long a replica may be away, at the rate of the last minute.
    private static void WriteBacklog(ReportContext report, ReplicationStream stream, long offset)
    {
        Utf8JsonWriter json = report.Json;
        double rate = report.Parts.Replicas.Counts.BytesPerSecond;
        json.WriteStartObject("backlog");
        json.WriteBoolean("in_use", stream.HasBacklog);
        json.WriteNumber("bytes", stream.HasBacklog ? Math.Max(0, offset - stream.BacklogStart) : 0);
        json.WriteNumber("bytes_max", report.Parts.Core.Settings.ReplicationBacklogBytes);
        json.WriteNumber("kept_bytes", stream.KeptBytes);
        report.Number("bytes_per_second", rate);
        report.Number("window_seconds", rate > 0 ? report.Parts.Core.Settings.ReplicationBacklogBytes / rate : double.NaN);
        json.WriteEndObject();
    }

    private static void WriteLink(ReportContext report, ReplicationState state)
    {
        Utf8JsonWriter json = report.Json;
        if (state.Primary is not { } primary)
        {
            json.WriteNull("primary");
            return;
        }

        ReplicaLinkStatus? link = state.LinkStatus;
        json.WriteStartObject("primary");
        json.WriteString("address", report.Shown(string.Create(CultureInfo.InvariantCulture, $"{primary.Host}:{primary.Port}")));
        json.WriteString("state", link?.State switch
        {
            ReplicaLinkState.Connected => "connected",
            ReplicaLinkState.Sync => "receives the data",
            ReplicaLinkState.Handshake => "introduces itself",
            ReplicaLinkState.Connecting => "connects",
            _ => "waits to connect",
        });
        json.WriteNumber("waiting_bytes", link is { } status ? Math.Max(0, status.ReadOffset - status.AppliedOffset) : 0);
        json.WriteNumber("silent_milliseconds", link?.LastIoMs ?? -1);
        json.WriteNumber("down_milliseconds", link is null or { State: ReplicaLinkState.Connected } ? -1 : link.Value.DownMs);
        json.WriteNumber("received_bytes", link?.SyncReadBytes ?? 0);
        json.WriteNumber("total_bytes", Math.Max(0, link?.SyncTotalBytes ?? 0));
        json.WriteEndObject();
    }

    private static void WriteReplica(ReportContext report, ReplicaClient replica, long offset)
    {
        Utf8JsonWriter json = report.Json;
        bool isOnline = replica.State == ReplicaState.Online;
        json.WriteStartObject();
        json.WriteString("address", report.Shown(replica.Name));
        json.WriteNumber("client_id", replica.Session.Id);
        json.WriteString("state", replica.State switch
        {
            ReplicaState.Waiting => "waits for the data",
            ReplicaState.AwaitsChannel => "opens a second connection for the data",
            ReplicaState.Receiving => "receives the data",
            ReplicaState.Streaming => replica is { Channel.HasWholeData: true } ? "loads the data" : "receives the data and the stream",
            ReplicaState.Loading => "loads the data",
            ReplicaState.Online => "gets the stream",
            _ => "has got the data",
        });
        json.WriteNumber("offset", replica.AcknowledgedOffset);
        json.WriteNumber("lag_bytes", isOnline ? Math.Max(0, offset - replica.AcknowledgedOffset) : replica.Position is { } position ? offset - position.Offset : 0);
        json.WriteNumber("lag_seconds", isOnline ? Math.Max(0, report.Parts.Core.Clock.SteadyMs - replica.AcknowledgedMs) / 1000.0 : -1);
        json.WriteNumber("unsent_bytes", replica.UnsentBytes + (replica.Channel?.UnsentBytes ?? 0));
        json.WriteEndObject();
    }
}
