using RedKite.Server.Config;
using RedKite.Server.Diagnostics;
using RedKite.Server.Durability;
using RedKite.Server.Model;

namespace RedKite.Server.Commands.Server;

/// <summary>INFO persistence, in Redis's order. Nothing forks, so the fields about copied memory are 0.</summary>
internal static class PersistenceInfo
{
    internal static void Write(ServerParts parts, InfoText text)
    {
        DurabilityService durability = parts.Durability;
        Settings settings = parts.Core.Configuration.Settings;
        long nowMs = parts.Core.Clock.NowMs;
        bool isLoading = (parts.Core.Attention.Flags & ServerAttention.Loading) != 0; // as for those that get LOADING: also just before and behind the reading of files
        bool isBeside = (parts.Core.Attention.Flags & ServerAttention.LoadingBeside) != 0;
        LoadProgress loading = durability.Loading;
        SaveHistory saves = durability.Saves, rewrites = durability.Rewrites;
        AppendOnlyLog? log = durability.Log.Log;
        text.Section("Persistence"u8);
        text.Line("loading"u8, isLoading ? 1 : 0);
        text.Line("async_loading"u8, isBeside ? 1 : 0);
        text.Line("current_cow_peak"u8, 0);
        text.Line("current_cow_size"u8, 0);
        text.Line("current_cow_size_age"u8, 0);
        (long written, long all) = durability.Progress;
        text.Line("current_fork_perc"u8, all == 0 ? 0 : 100.0 * written / all, 2);
        text.Line("current_save_keys_processed"u8, written);
        text.Line("current_save_keys_total"u8, all);
        text.Line("rdb_changes_since_last_save"u8, durability.ChangesSinceSave);
        text.Line("rdb_bgsave_in_progress"u8, saves.BeganMs != 0 ? 1 : 0);
        text.Line("rdb_last_save_time"u8, saves.LastSavedMs / 1000);
        text.Line("rdb_last_bgsave_status"u8, saves.BackgroundFailure is null ? "ok"u8 : "err"u8);
        text.Line("rdb_last_bgsave_time_sec"u8, Seconds(saves.LastDurationMs));
        text.Line("rdb_current_bgsave_time_sec"u8, Since(saves.BeganMs, nowMs));
        text.Line("rdb_saves"u8, durability.SavesSinceReset);
        text.Line("rdb_saves_consecutive_failures"u8, saves.BackgroundFailuresInARow);
        text.Line("rdb_last_cow_size"u8, 0);
        text.Line("rdb_last_load_keys_expired"u8, loading.Expired);
        text.Line("rdb_last_load_keys_loaded"u8, loading.Keys);
        text.Line("aof_enabled"u8, settings.AppendOnly ? 1 : 0);
        text.Line("backup_in_progress"u8, parts.Backup.IsInProgress ? 1 : 0);
        text.Line("aof_rewrite_in_progress"u8, rewrites.BeganMs != 0 ? 1 : 0);
        text.Line("aof_rewrite_scheduled"u8, durability.RewriteIsScheduled ? 1 : 0);
        text.Line("aof_last_rewrite_time_sec"u8, Seconds(rewrites.LastDurationMs));
        text.Line("aof_current_rewrite_time_sec"u8, Since(rewrites.BeganMs, nowMs));
        text.Line("aof_last_bgrewrite_status"u8, rewrites.Failure is null ? "ok"u8 : "err"u8);
        text.Line("aof_rewrites"u8, rewrites.Count);
        text.Line("aof_rewrites_consecutive_failures"u8, rewrites.ConsecutiveFailures);
        text.Line("aof_last_write_status"u8, log?.Writer.Failure is null ? "ok"u8 : "err"u8);
        text.Line("aof_last_cow_size"u8, 0);
        text.Line("module_fork_in_progress"u8, 0);
        text.Line("module_fork_last_cow_size"u8, 0);
        if (log is not null)
        {
            text.Line("aof_current_size"u8, durability.Log.TotalBytes);
            text.Line("aof_base_size"u8, durability.Log.RewrittenBytes);
            text.Line("aof_pending_rewrite"u8, 0);
            text.Line("aof_buffer_length"u8, log.Writer.PendingBytes);
            text.Line("aof_pending_bio_fsync"u8, log.Writer.Syncs.Current > TimeSpan.Zero ? 1 : 0);
            text.Line("aof_delayed_fsync"u8, durability.Log.Totals.DelayedSyncs);
        }

        if (!isLoading && !isBeside) return;
        text.Line("loading_start_time"u8, loading.StartedMs / 1000);
        text.Line("loading_total_bytes"u8, loading.TotalBytes);
        text.Line("loading_rdb_used_mem"u8, 0);
        text.Line("loading_loaded_bytes"u8, loading.LoadedBytes);
        text.Line("loading_loaded_perc"u8, loading.TotalBytes == 0 ? 0 : 100.0 * loading.LoadedBytes / loading.TotalBytes, 2);
        text.Line("loading_eta_seconds"u8, (long)loading.SecondsLeft(nowMs));
    }

    private static long Seconds(long ms) => ms < 0 ? -1 : ms / 1000;

    private static long Since(long beganMs, long nowMs) => beganMs == 0 ? -1 : (nowMs - beganMs) / 1000;
}
