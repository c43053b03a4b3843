using System.Globalization;
using System.Runtime.InteropServices;
using System.Text;
using RedKite.Protocol;
using RedKite.Server.Config;
using RedKite.Server.Diagnostics;
using RedKite.Server.Metrics;
using RedKite.Server.Model;
using RedKite.Store.Keyspace;

namespace RedKite.Server.Commands.Server;

/// <summary>
/// INFO's text: the sections and fields of Redis 8.0 in its order, with RedKite's own fields at the end of a section. A field
/// is measured, or it has the value of a Redis that does not use the feature (forks, replicas, modules).
/// </summary>
internal sealed class ServerInfo
{
    private static readonly string OperatingSystemName = ReadOperatingSystem();
    private static readonly string BuildId = typeof(ServerInfo).Module.ModuleVersionId.ToString("n")[..16];

    private readonly ServerParts _parts;
    private readonly Section[] _sections;

    internal ServerInfo(ServerParts parts)
    {
        _parts = parts;
        _sections =
        [
            new("server", Server),
            new("clients", Clients),
            new("memory", (scoped in CommandContext _, InfoText text) => MemoryInfo.Write(Metrics, parts.Core.Configuration, parts.Core.Script, parts.Durability.Log.Log?.Chain.MemoryBytes ?? 0, parts.ReplicaStream, parts.Core.Replication, text)),
            new("persistence", (scoped in CommandContext _, InfoText text) => PersistenceInfo.Write(parts, text)),
            new("threads", Threads),
            new("stats", (scoped in CommandContext _, InfoText text) => StatsInfo.Write(_parts, text)),
            new("replication", (scoped in CommandContext _, InfoText text) => new ReplicationInfo(parts.Core.Replication, parts.Replicas, parts.Core.Configuration, parts.Core.Clock).Write(text)),
            new("cpu", Cpu),
            new("modules", (scoped in CommandContext _, InfoText text) =>
            {
                text.Section("Modules"u8);
                foreach (ServerModule module in ServerModule.All) text.Line(module.InfoLine);
            }),
            new("commandstats", (scoped in CommandContext cmd, InfoText text) => CommandStatistics.WriteCalls(Metrics, cmd.Environment.Commands, text), ByDefault: false),
            new("errorstats", (scoped in CommandContext _, InfoText text) => CommandStatistics.WriteErrors(Metrics, text)),
            new("latencystats", (scoped in CommandContext cmd, InfoText text) => CommandStatistics.WriteLatencies(Metrics, cmd.Environment.Commands, Settings, text), ByDefault: false),
            new("cluster", Cluster),
            new("keyspace", Keyspace),
            new("keysizes", (scoped in CommandContext cmd, InfoText text) => KeySizes.Write(cmd, text)),
            new("limits", Limits, ByDefault: false, OnlyByName: true),
            new("metrics", MetricValues, ByDefault: false, OnlyByName: true),
            new("findings", Findings),
        ];
    }

    private MetricsRegistry Metrics => _parts.Core.Metrics;

    private Settings Settings => _parts.Core.Configuration.Settings;

    /// <summary>Writes the sections that the arguments name; the default ones without arguments.</summary>
    internal void Write(scoped in CommandContext cmd, InfoText text)
    {
        foreach (Section section in _sections)
        {
            if (IsRequested(cmd, section)) section.Write(cmd, text);
        }
    }

    private static bool IsRequested(scoped in CommandContext cmd, Section section)
    {
        if (cmd.Count == 1) return section.ByDefault;
        for (int i = 1; i < cmd.Count; i++)
        {
            if (!section.OnlyByName && (cmd.Is(i, "all"u8) || cmd.Is(i, "everything"u8))) return true;
            if (cmd.Is(i, "default"u8) && section.ByDefault) return true;
            if (AsciiText.EqualsIgnoreCase(cmd[i], section.Name)) return true;
        }

        return false;
    }

    // RedKite's own, and shown by its name alone, like the findings.
    private void Limits(scoped in CommandContext cmd, InfoText text)
    {
        text.Section("Limits"u8);
        foreach (LimitRow row in LimitTable.Rows)
        {
            if (row.Counter is { } counter) text.Line(Encoding.ASCII.GetBytes(row.MetricName), Metrics.Server.Limits[counter]);
        }
    }

    // RedKite's own, and shown by its name alone: each metric as it was when the last second ended; nan: unknown.
    private void MetricValues(scoped in CommandContext cmd, InfoText text)
    {
        text.Section("Metrics"u8);
        if (_parts.Observation() is not { } observation) return;
        foreach (Metric metric in MetricTable.All)
        {
            double value = metric.Read(observation);
            text.Line(Encoding.ASCII.GetBytes(metric.Name), double.IsNaN(value) ? "nan" : value.ToString("0.######", CultureInfo.InvariantCulture));
        }
    }

    // RedKite's own, and shown by its name alone: tools that request all sections expect Redis's.
    private void Findings(scoped in CommandContext cmd, InfoText text)
    {
        IReadOnlyList<Finding> findings = _parts.Findings();
        text.Section("Findings"u8);
        text.Line("findings_open"u8, findings.Count);
        foreach (Finding finding in findings)
        {
            string severity = finding.Diagnosis.Severity switch
            {
                FindingSeverity.Critical => "critical",
                FindingSeverity.Warning => "warning",
                _ => "notice",
            };
            text.Line(string.Create(CultureInfo.InvariantCulture, $"finding_{finding.Rule.Name}:severity={severity},since={finding.SinceUnixMs / 1000},title={finding.Diagnosis.Title},evidence={finding.Diagnosis.Evidence}{(finding.Diagnosis.Culprit.Length > 0 ? ",culprit=" : "")}{finding.Diagnosis.Culprit},remedy={finding.Rule.Remedy}"));
        }
    }

    private void Server(scoped in CommandContext cmd, InfoText text)
    {
        long nowMicroseconds = _parts.Core.Clock.NowMicroseconds;
        ListeningFigures listening = _parts.Listening();
        long uptimeSeconds = ((nowMicroseconds / 1000) - _parts.Core.Run.StartedMs) / 1000;
        text.Section("Server"u8);
        text.Line("redis_version"u8, Settings.ReportedRedisVersion);
        text.Line("redis_git_sha1"u8, "00000000"u8);
        text.Line("redis_git_dirty"u8, 0);
        text.Line("redis_build_id"u8, BuildId);
        text.Line("redis_mode"u8, Settings.ClusterEnabled ? "cluster"u8 : "standalone"u8);
        text.Line("os"u8, OperatingSystemName);
        text.Line("arch_bits"u8, nint.Size * 8);
        text.Line("monotonic_clock"u8, OperatingSystem.IsWindows() ? "QueryPerformanceCounter"u8 : "POSIX clock_gettime"u8);
        text.Line("multiplexing_api"u8, _parts.Core.Transport);
        text.Line("atomicvar_api"u8, "dotnet-interlocked"u8);
        text.Line("gcc_version"u8, "0.0.0"u8);
        text.Line("process_id"u8, Environment.ProcessId);
        text.Line("process_supervised"u8, "no"u8);
        text.Line("run_id"u8, _parts.Core.Run.RunId);
        text.Line("tcp_port"u8, listening.Port);
        text.Line("server_time_usec"u8, nowMicroseconds);
        text.Line("uptime_in_seconds"u8, uptimeSeconds);
        text.Line("uptime_in_days"u8, uptimeSeconds / 86400);
        text.Line("hz"u8, Settings.Hz);
        text.Line("configured_hz"u8, Settings.Hz);
        text.Line("lru_clock"u8, AccessClock.Lru(nowMicroseconds / 1000));
        text.Line("executable"u8, SettingText.FromNative(Environment.ProcessPath ?? ""));
        text.Line("config_file"u8, SettingText.FromNative(_parts.Core.Configuration.FilePath ?? ""));
        text.Line("io_threads_active"u8, _parts.Core.LoopCount > 1 ? 1 : 0);
        if (_parts.Replicas.Shutdown.RemainingMs is { } remainingMs) text.Line("shutdown_in_milliseconds"u8, remainingMs);
        int listener = 0;
        foreach (string endpoint in listening.Listeners) text.Line(string.Create(CultureInfo.InvariantCulture, $"listener{listener++}:{SettingText.FromNative(endpoint)}"));
        text.Line("redkite_version"u8, ServerVersion.Text);
        text.Line("redis_versions_compared"u8, ServerVersion.ComparedRedis);
        text.Line("loops"u8, _parts.Core.LoopCount);
    }

    private void Clients(scoped in CommandContext cmd, InfoText text)
    {
        ServerTotals totals = ServerTotals.Of(Metrics);
        BlockedClientFigures blocked = _parts.Blocking();
        text.Section("Clients"u8);
        text.Line("connected_clients"u8, _parts.Core.Clients.Count);
        text.Line("cluster_connections"u8, 0);
        text.Line("maxclients"u8, Settings.MaxClients);
        text.Line("client_recent_max_input_buffer"u8, totals.RecentInputBytesMax);
        text.Line("client_recent_max_output_buffer"u8, totals.RecentOutputBytesMax);
        text.Line("blocked_clients"u8, blocked.Clients);
        text.Line("tracking_clients"u8, _parts.Core.Tracking.Clients);
        text.Line("pubsub_clients"u8, _parts.Core.Messages.Clients);
        text.Line("watching_clients"u8, _parts.Core.Watched.Clients);
        text.Line("clients_in_timeout_table"u8, blocked.WithDeadline);
        text.Line("total_watched_keys"u8, _parts.Core.Watched.Count);
        text.Line("total_blocking_keys"u8, blocked.Keys);
        text.Line("total_blocking_keys_on_nokey"u8, blocked.KeysWakingWhenGone);
        text.Line("client_output_bytes"u8, totals.OutputBytes);
        text.Line("suspended_clients"u8, totals.SuspendedClients);
    }

    // Every event loop reads and writes its own connections, as an I/O thread of Redis does.
    private void Threads(scoped in CommandContext cmd, InfoText text)
    {
        text.Section("Threads"u8);
        LoopMetrics[] loops = Metrics.Loops;
        for (int i = 0; i < loops.Length; i++)
        {
            text.Line(string.Create(CultureInfo.InvariantCulture, $"io_thread_{i}:clients={loops[i].Connections},reads={loops[i].Reads},writes={loops[i].Writes}"));
        }
    }

    private static void Cpu(scoped in CommandContext cmd, InfoText text)
    {
        text.Section("CPU"u8);
        (TimeSpan user, TimeSpan system) = ProcessorTime();
        text.Line("used_cpu_sys"u8, system.TotalSeconds, 6);
        text.Line("used_cpu_user"u8, user.TotalSeconds, 6);
        text.Line("used_cpu_sys_children"u8, 0, 6);
        text.Line("used_cpu_user_children"u8, 0, 6);

        // Redis's main thread executes the commands; here, that is the thread of this command.
        if (!ThreadTime.TryRead(out double threadUser, out double threadSystem)) return;
        text.Line("used_cpu_sys_main_thread"u8, threadSystem, 6);
        text.Line("used_cpu_user_main_thread"u8, threadUser, 6);
    }

    private static (TimeSpan User, TimeSpan System) ProcessorTime()
    {
        if (OperatingSystem.IsIOS() || OperatingSystem.IsTvOS()) return default;
        Environment.ProcessCpuUsage usage = Environment.CpuUsage;
        return (usage.UserTime, usage.PrivilegedTime);
    }

    private void Cluster(scoped in CommandContext cmd, InfoText text)
    {
        text.Section("Cluster"u8);
        text.Line("cluster_enabled"u8, cmd.Settings.ClusterEnabled ? 1 : 0);
        if (_parts.SlotMoves() is not { } moves) return;
        text.Line("cluster_slot_moves_active"u8, moves.Active);
        text.Line("cluster_slot_moves_completed"u8, moves.Completed);
        text.Line("cluster_slot_moves_failed"u8, moves.Failed);
        text.Line("cluster_slot_moves_waiting_bytes"u8, moves.WaitingBytes);
        text.Line("cluster_slot_moves_sent_bytes"u8, moves.SentBytes);
        if (_parts.Cluster()?.Figures() is not { } cluster) return;
        text.Line("cluster_topology_version"u8, (long)cluster.Version);
        text.Line("cluster_slots_owned"u8, (long)cluster.OwnedSlots);
        text.Line("cluster_slots_uncovered"u8, (long)cluster.UncoveredSlots);
        text.Line("cluster_slots_doubtful"u8, (long)cluster.DoubtfulSlots);
        text.Line("cluster_elections"u8, cluster.Elections);
        text.Line("cluster_takeovers"u8, cluster.Takeovers);
        text.Line("cluster_redirects_moved"u8, Metrics.ErrorsOf("MOVED"));
        text.Line("cluster_redirects_ask"u8, Metrics.ErrorsOf("ASK"));
        text.Line("cluster_redirects_tryagain"u8, Metrics.ErrorsOf("TRYAGAIN"));
        text.Line("cluster_refused_crossslot"u8, Metrics.ErrorsOf("CROSSSLOT"));
        text.Line("cluster_refused_down"u8, Metrics.ErrorsOf("CLUSTERDOWN"));
        if (double.IsNaN(cluster.StoreAwaySeconds)) return;
        text.Line("cluster_lease_seconds"u8, double.IsNaN(cluster.LeaseSeconds) ? 0 : cluster.LeaseSeconds, 3);
        text.Line("cluster_lease_renewals"u8, cluster.Renewals);
        text.Line("cluster_lease_renewal_microseconds"u8, cluster.RenewalMicroseconds);
        text.Line("cluster_store_requests"u8, cluster.StoreRequests);
        text.Line("cluster_store_errors"u8, cluster.StoreErrors);
        text.Line("cluster_store_away_seconds"u8, cluster.StoreAwaySeconds, 3);
        text.Line("cluster_topology_versions_behind"u8, (long)cluster.VersionsBehind);
        text.Line("cluster_deadline_disconnections"u8, cluster.LateDisconnections);
    }

    private void Keyspace(scoped in CommandContext cmd, InfoText text)
    {
        text.Section("Keyspace"u8);
        foreach (Database database in Metrics.Keyspace.Databases)
        {
            long keys = database.VisibleCount;
            if (keys > 0) text.Line(string.Create(CultureInfo.InvariantCulture, $"db{database.Index}:keys={keys},expires={Math.Min(keys, database.Expiring)},avg_ttl={database.AverageTtlMs},subexpiry={database.FieldsExpiring}"));
        }
    }

    private static string ReadOperatingSystem()
    {
        string machine = RuntimeInformation.OSArchitecture switch
        {
            Architecture.X64 => "x86_64",
            Architecture.Arm64 => "aarch64",
            Architecture other => other.ToString(),
        };
        const string ReleasePath = "/proc/sys/kernel/osrelease";
        string system = OperatingSystem.IsLinux() && File.Exists(ReleasePath)
            ? "Linux " + File.ReadAllText(ReleasePath).Trim()
            : RuntimeInformation.OSDescription;
        return $"{system} {machine}";
    }

    private delegate void SectionWriter(scoped in CommandContext cmd, InfoText text);

    private sealed record Section(string Name, SectionWriter Write, bool ByDefault = true, bool OnlyByName = false);
}
