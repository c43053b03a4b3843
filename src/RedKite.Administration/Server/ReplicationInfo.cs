using System.Globalization;
using RedKite.Server.Config;
using RedKite.Server.Model;
using RedKite.Server.Replication;

namespace RedKite.Server.Commands.Server;

/// <summary>INFO's section on replication, and ROLE, of a primary and of a replica, with Redis 8.0's fields in its order.</summary>
internal sealed class ReplicationInfo(ReplicationState state, ReplicaService replicas, Configuration configuration, ServerClock clock)
{
    /// <summary>Writes INFO's section.</summary>
    internal void Write(InfoText text)
    {
        text.Section("Replication"u8);
        if (state.Primary is { } primary) WriteLink(text, primary);
        else text.Line("role"u8, "master"u8);
        WriteReplicas(text);
        ReplicationStream stream = replicas.Stream;
        ReplicationIds ids = state.Ids;
        bool hasBacklog = stream.HasBacklog;
        long start = stream.BacklogStart, offset = stream.Offset;
        text.Line("master_failover_state"u8, replicas.Failover.State switch
        {
            FailoverState.WaitingForSync => "waiting-for-sync"u8,
            FailoverState.InProgress => "failover-in-progress"u8,
            _ => "no-failover"u8,
        });
        text.Line("master_replid"u8, ids.Id);
        text.Line("master_replid2"u8, ids.SecondId);
        text.Line("master_repl_offset"u8, offset);
        text.Line("second_repl_offset"u8, ids.SecondOffset);
        text.Line("repl_backlog_active"u8, hasBacklog ? 1 : 0);
        text.Line("repl_backlog_size"u8, configuration.Get("repl-backlog-size"));
        text.Line("repl_backlog_first_byte_offset"u8, hasBacklog ? start + 1 : 0);
        text.Line("repl_backlog_histlen"u8, hasBacklog ? Math.Max(0, offset - start) : 0);
    }

    /// <summary>Replies ROLE.</summary>
    internal void Role(scoped in CommandContext cmd)
    {
        if (state.Primary is { } primary)
        {
            cmd.Reply.Array(5);
            cmd.Reply.Bulk("slave"u8);
            cmd.Reply.Bulk(System.Text.Encoding.Latin1.GetBytes(primary.Host));
            cmd.Reply.Integer(primary.Port);
            ReplicaLinkStatus? link = state.LinkStatus;
            cmd.Reply.Bulk(StateName(link?.State ?? ReplicaLinkState.Connect));
            cmd.Reply.Integer(link is { State: ReplicaLinkState.Connected } ? link.Value.AppliedOffset : -1);
            return;
        }

        ReplicaClient[] online = [.. replicas.Replicas.Where(static replica => replica.State == ReplicaState.Online)];
        cmd.Reply.Array(3);
        cmd.Reply.Bulk("master"u8);
        cmd.Reply.Integer(replicas.Stream.Offset);
        cmd.Reply.Array(online.Length);
        foreach (ReplicaClient replica in online)
        {
            cmd.Reply.Array(3);
            cmd.Reply.Bulk(System.Text.Encoding.Latin1.GetBytes(replica.Host));
            cmd.Reply.Bulk(Digits(replica.Announced.ListeningPort));
            cmd.Reply.Bulk(Digits(replica.AcknowledgedOffset));
        }
    }

    private static byte[] Digits(long value) => System.Text.Encoding.ASCII.GetBytes(value.ToString(CultureInfo.InvariantCulture));

    private static ReadOnlySpan<byte> StateName(ReplicaLinkState link) => link switch
    {
        ReplicaLinkState.Connect => "connect"u8,
        ReplicaLinkState.Connecting => "connecting"u8,
        ReplicaLinkState.Handshake => "handshake"u8,
        ReplicaLinkState.Sync => "sync"u8,
        _ => "connected"u8,
    };

    private void WriteLink(InfoText text, PrimaryAddress primary)
    {
        ReplicaLinkStatus link = state.LinkStatus ?? new ReplicaLinkStatus(ReplicaLinkState.Connect, -1, replicas.Stream.Offset, replicas.Stream.Offset, -1, 0, 0, 0, 0);
        bool isUp = link.State == ReplicaLinkState.Connected;
        bool isSyncing = link.State == ReplicaLinkState.Sync;
        text.Line("role"u8, "slave"u8);
        text.Line("master_host"u8, primary.Host);
        text.Line("master_port"u8, primary.Port);
        text.Line("master_link_status"u8, isUp ? "up"u8 : "down"u8);
        text.Line("master_last_io_seconds_ago"u8, isUp ? Seconds(link.LastIoMs) : -1);
        text.Line("master_sync_in_progress"u8, isSyncing ? 1 : 0);
        text.Line("slave_read_repl_offset"u8, link.ReadOffset);
        text.Line("slave_repl_offset"u8, link.AppliedOffset);
        text.Line("replica_full_sync_buffer_size"u8, link.BufferBytes);
        text.Line("replica_full_sync_buffer_peak"u8, link.BufferPeakBytes);
        if (isSyncing)
        {
            double percent = link.SyncTotalBytes != 0 ? 100.0 * link.SyncReadBytes / link.SyncTotalBytes : 0;
            text.Line("master_sync_total_bytes"u8, link.SyncTotalBytes);
            text.Line("master_sync_read_bytes"u8, link.SyncReadBytes);
            text.Line("master_sync_left_bytes"u8, link.SyncTotalBytes - link.SyncReadBytes);
            text.Line("master_sync_perc"u8, percent, 2);
            text.Line("master_sync_last_io_seconds_ago"u8, Seconds(link.SyncLastIoMs));
        }

        LinkCounts counts = state.LinkCounts;
        text.Line("master_current_sync_attempts"u8, counts.AttemptsSinceBreak);
        text.Line("master_total_sync_attempts"u8, counts.Attempts);
        if (isUp) text.Line("master_link_up_since_seconds"u8, Seconds(counts.UpMs(Environment.TickCount64)));
        if (!isUp) text.Line("master_link_down_since_seconds"u8, link.DownMs < 0 ? -1 : Seconds(link.DownMs));
        text.Line("total_disconnect_time_sec"u8, Seconds(counts.DisconnectedMs(Environment.TickCount64)));
        text.Line("slave_priority"u8, configuration.Settings.ReplicaPriority);
        text.Line("slave_read_only"u8, configuration.Settings.ReplicaReadOnly ? 1 : 0);
        text.Line("replica_announced"u8, configuration.Settings.ReplicaAnnounced ? 1 : 0);
    }

    private void WriteReplicas(InfoText text)
    {
        ReplicaClient[] all = [.. replicas.Replicas.Where(static replica => replica.Main is null)]; // without second connections, which belong to a replica that is already listed
        text.Line("connected_slaves"u8, all.Length);
        if (configuration.Settings is { ReplicasToWriteMin: > 0, ReplicaLagSecondsMax: > 0 }) text.Line("min_slaves_good_slaves"u8, replicas.GoodReplicas);
        long nowMs = clock.SteadyMs;
        if (configuration.Settings.ReplicaAcks > 0) WriteAcks(text, replicas.State.Acks.Figures(nowMs));
        int index = 0;
        foreach (ReplicaClient replica in all)
        {
            if (Name(replica) is not { } name) continue;
            long lag = replica.State == ReplicaState.Online ? Seconds(nowMs - replica.AcknowledgedMs) : 0;
            text.Line(string.Create(CultureInfo.InvariantCulture, $"slave{index++}:ip={replica.Host},port={replica.Announced.ListeningPort},state={name},offset={replica.AcknowledgedOffset},lag={lag}"));
        }
    }

    // RedKite's own, while the setting is in use.
    private void WriteAcks(InfoText text, in AckFigures acks)
    {
        text.Line("replica_acks"u8, configuration.Settings.ReplicaAcks);
        text.Line("replica_acks_offset"u8, acks.Position);
        text.Line("replica_acks_waiting_replies"u8, acks.Replies);
        text.Line("replica_acks_waiting_ms"u8, acks.OldestMs);
        text.Line("replica_acks_waits"u8, acks.Waits);
        text.Line("replica_acks_wait_usec"u8, acks.Microseconds);
        text.Line("replica_acks_errors"u8, acks.Failed);
    }

    private static string? Name(ReplicaClient replica) => replica.IsShownOnline ? "online" : replica.State switch
    {
        ReplicaState.AwaitsChannel or ReplicaState.Waiting or ReplicaState.Receiving => "wait_bgsave",
        ReplicaState.Streaming => "send_bulk_and_stream",
        ReplicaState.Served => "rdb_transmitted",
        _ => null,
    };

    private static long Seconds(long ms) => Math.Max(0, ms / 1000);
}
