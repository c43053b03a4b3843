using System.Text.Json;
using RedKite.Server.Metrics;

namespace RedKite.Server.Diagnostics.Reports;

/// <summary>The report on memory.</summary>
internal static class MemoryReports
{
    // Used is the sum of its parts. Resident is what the system counts: used, what the store keeps free, and the rest of the process.
    internal static void Memory(ReportContext report)
    {
        Utf8JsonWriter json = report.Json;
        MetricsRegistry registry = report.Parts.Core.Metrics;
        MemoryFigures memory = MemoryFigures.Of(registry);
        Observation? observation = report.Diagnostics.Latest;
        json.WriteStartObject();
        json.WriteNumber("used", memory.Used);
        json.WriteStartObject("used_by");
        long process = memory.Startup + memory.Growth;
        if (registry.Server.OwnsProcess)
        {
            // A host's heap is not the server's. What the runtime has committed may be larger than what is resident.
            long heap = Math.Min(GC.GetGCMemoryInfo().TotalCommittedBytes, process);
            json.WriteNumber("managed_heap", heap);
            process -= heap;
        }

        json.WriteNumber("process", process);
        json.WriteNumber("tables", memory.Tables);
        json.WriteNumber("keys_and_values", memory.Allocated - memory.Tables);
        json.WriteNumber("clients", memory.Clients);
        json.WriteNumber("channels_tracked_keys_and_logs", memory.Shared);
        json.WriteNumber("scripts", memory.Scripts);
        json.WriteEndObject();
        json.WriteNumber("peak", memory.Peak);
        json.WriteNumber("keys", memory.Keys);
        json.WriteNumber("resident", memory.Resident);
        json.WriteStartObject("store");
        json.WriteNumber("held", memory.Active);
        json.WriteNumber("allocated", memory.Allocated);
        json.WriteNumber("free_between_blocks", Math.Max(0, memory.Active - memory.Allocated));
        json.WriteNumber("prepared", memory.AllocatorResident - memory.Active);
        json.WriteNumber("waiting_to_be_freed", registry.Keyspace.FreeingBytes);
        json.WriteEndObject();
        report.Number("fragmentation_ratio", memory.AllocatorFragmentationRatio);
        report.Number("resident_ratio", memory.FragmentationRatio);
        if (observation is not null)
        {
            report.Number("managed_heap", observation.Runtime.HeapBytes);
            report.Number("managed_committed", observation.Runtime.CommittedBytes);
            report.Number("machine_total", observation.Machine.MemoryTotalBytes);
            report.Number("machine_available", observation.Machine.MemoryAvailableBytes);
            report.Number("container_limit", observation.Machine.CgroupMemoryLimitBytes);
            report.Number("container_used", observation.Machine.CgroupMemoryBytes);
            json.WriteNumber("maxmemory", observation.MaxMemoryBytes);
            report.Number("headroom", Headroom(memory, observation));
        }

        json.WriteEndObject();
    }

    // How much more memory the server can take before the first of its limits.
    private static double Headroom(in MemoryFigures memory, Observation observation)
    {
        double headroom = observation.Machine.MemoryAvailableBytes;
        if (observation.Machine.CgroupMemoryLimitBytes > 0) headroom = Math.Min(headroom, observation.Machine.CgroupMemoryLimitBytes - observation.Machine.CgroupMemoryBytes);
        if (observation.MaxMemoryBytes > 0) headroom = Math.Min(headroom, observation.MaxMemoryBytes - memory.Used);
        return headroom;
    }
}
