using RedKite.Server.Config;
using RedKite.Server.Metrics;
using RedKite.Server.Replication;
using RedKite.Server.Sessions;

namespace RedKite.Server.Commands.Server;

/// <summary>INFO's memory section.</summary>
internal static class MemoryInfo
{
    internal static void Write(MetricsRegistry registry, Configuration configuration, RunningScript script, long logBytes, ReplicationStream stream, ReplicationState replication, InfoText text)
    {
        MemoryFigures memory = MemoryFigures.Of(registry);
        text.Section("Memory"u8);
        text.Line("used_memory"u8, memory.Used);
        text.HumanLine("used_memory_human"u8, memory.Used);
        text.Line("used_memory_rss"u8, memory.Resident);
        text.HumanLine("used_memory_rss_human"u8, memory.Resident);
        text.Line("used_memory_peak"u8, memory.Peak);
        text.HumanLine("used_memory_peak_human"u8, memory.Peak);
        text.Line("used_memory_peak_time"u8, registry.Server.PeakSeconds);
        text.Line("used_memory_peak_perc"u8, memory.PeakPercent, 2, "%"u8);
        text.Line("used_memory_overhead"u8, memory.Overhead);
        text.Line("used_memory_startup"u8, memory.Startup);
        text.Line("used_memory_dataset"u8, memory.Dataset);
        text.Line("used_memory_dataset_perc"u8, memory.DatasetPercent, 2, "%"u8);
        text.Line("allocator_allocated"u8, memory.Allocated);
        text.Line("allocator_active"u8, memory.Active);
        text.Line("allocator_resident"u8, memory.AllocatorResident);
        text.Line("allocator_muzzy"u8, 0);
        text.Line("total_system_memory"u8, ProcessMemory.TotalSystemBytes);
        text.HumanLine("total_system_memory_human"u8, ProcessMemory.TotalSystemBytes);
        WriteScripts(text, script.Figures());
        text.Line("maxmemory"u8, (long)configuration.Settings.MaxMemoryBytes);
        text.HumanLine("maxmemory_human"u8, (long)configuration.Settings.MaxMemoryBytes);
        text.Line("maxmemory_policy"u8, configuration.Get("maxmemory-policy"));
        text.Line("allocator_frag_ratio"u8, memory.AllocatorFragmentationRatio, 2);
        text.Line("allocator_frag_bytes"u8, memory.Active - memory.Allocated);
        text.Line("allocator_rss_ratio"u8, memory.AllocatorResidentRatio, 2);
        text.Line("allocator_rss_bytes"u8, memory.AllocatorResident - memory.Active);
        text.Line("rss_overhead_ratio"u8, memory.ResidentOverheadRatio, 2);
        text.Line("rss_overhead_bytes"u8, memory.Resident - memory.AllocatorResident);
        text.Line("mem_fragmentation_ratio"u8, memory.FragmentationRatio, 2);
        text.Line("mem_fragmentation_bytes"u8, memory.Resident - memory.Used);
        text.Line("mem_not_counted_for_evict"u8, 0);
        text.Line("mem_replication_backlog"u8, stream.BacklogMemoryBytes);
        text.Line("mem_total_replication_buffers"u8, stream.MemoryBytes);
        text.Line("mem_replica_full_sync_buffer"u8, replication.LinkStatus?.BufferBytes ?? 0);
        text.Line("mem_clients_slaves"u8, Math.Max(0, stream.MemoryBytes - stream.BacklogMemoryBytes));
        text.Line("mem_clients_normal"u8, memory.Clients);
        text.Line("mem_cluster_slot_migration_output_buffer"u8, 0);
        text.Line("mem_cluster_slot_migration_input_buffer"u8, 0);
        text.Line("mem_cluster_slot_migration_input_buffer_peak"u8, 0);
        text.Line("mem_cluster_links"u8, 0);
        text.Line("mem_aof_buffer"u8, logBytes);
        text.Line("mem_allocator"u8, "redkite"u8);
        text.Line("mem_overhead_db_hashtable_rehashing"u8, 0);
        text.Line("active_defrag_running"u8, ServerTotals.Of(registry).DefragmentationCpuPercent);
        text.Line("lazyfree_pending_objects"u8, registry.Keyspace.ObjectsWaiting);
        text.Line("lazyfreed_objects"u8, registry.Keyspace.ObjectsFreedLater - registry.Server.ObjectsFreedLaterAtReset);
        text.Line("quiet_huge_pages"u8, registry.Keyspace.RegionsMadeHuge);
        text.Line("quiet_huge_pages_cpu_milliseconds"u8, registry.Keyspace.MakingHugeCpuNs / 1_000_000);
        text.Line("quiet_huge_pages_gain_nanoseconds"u8, registry.Keyspace.TranslationNs);
    }

    private static void WriteScripts(InfoText text, ScriptFigures figures)
    {
        text.Line("used_memory_lua"u8, figures.EvalBytes);
        text.Line("used_memory_vm_eval"u8, figures.EvalBytes);
        text.HumanLine("used_memory_lua_human"u8, figures.EvalBytes);
        text.Line("used_memory_scripts_eval"u8, figures.ScriptMemoryBytes);
        text.Line("number_of_cached_scripts"u8, figures.Scripts);
        text.Line("number_of_functions"u8, figures.Functions);
        text.Line("number_of_libraries"u8, figures.Libraries);
        text.Line("used_memory_vm_functions"u8, figures.FunctionBytes);
        text.Line("used_memory_vm_total"u8, figures.EvalBytes + figures.FunctionBytes);
        text.HumanLine("used_memory_vm_total_human"u8, figures.EvalBytes + figures.FunctionBytes);
        text.Line("used_memory_functions"u8, figures.LibraryMemoryBytes);
        text.Line("used_memory_scripts"u8, figures.ScriptMemoryBytes + figures.LibraryMemoryBytes);
        text.HumanLine("used_memory_scripts_human"u8, figures.ScriptMemoryBytes + figures.LibraryMemoryBytes);
    }
}
