using System.Globalization;
using System.Text.Json;

namespace RedKite.Server.Diagnostics.Package;

/// <summary>Facts about the .NET runtime that the process runs on.</summary>
internal static class RuntimePackageParts
{
    // Others may hold secrets.
    private static readonly string[] Variables =
    [
        "DOTNET_gcServer", "DOTNET_gcConcurrent", "DOTNET_GCHeapCount", "DOTNET_GCHeapHardLimit", "DOTNET_GCHeapHardLimitPercent", "DOTNET_GCConserveMemory",
        "DOTNET_TieredCompilation", "DOTNET_TieredPGO", "DOTNET_TC_QuickJitForLoops", "DOTNET_ReadyToRun", "DOTNET_EnableAVX2", "DOTNET_EnableDiagnostics",
        "DOTNET_PROCESSOR_COUNT", "DOTNET_RUNNING_IN_CONTAINER", "DOTNET_ThreadPool_ForceMinWorkerThreads", "DOTNET_ThreadPool_ForceMaxWorkerThreads", "TZ", "LANG", "LC_ALL",
    ];

    private static readonly string[] Switches =
    [
        "System.GC.Server", "System.GC.Concurrent", "System.GC.RetainVM", "System.Runtime.TieredCompilation", "System.Runtime.TieredPGO",
        "System.Globalization.Invariant", "System.Runtime.TieredCompilation.QuickJitForLoops",
    ];

    internal static void Write(PackageContext context)
    {
        var bytes = new MemoryStream();
        using (var json = new Utf8JsonWriter(bytes, new JsonWriterOptions { Indented = true }))
        {
            json.WriteStartObject();
            WriteProcess(json);
            json.WriteStartObject("collections");
            foreach (GCKind kind in new[] { GCKind.Any, GCKind.Ephemeral, GCKind.FullBlocking, GCKind.Background }) WriteCollection(json, kind);
            json.WriteEndObject();
            json.WriteStartObject("gc_settings");
            foreach ((string name, object value) in GC.GetConfigurationVariables()) json.WriteString(name, Convert.ToString(value, CultureInfo.InvariantCulture));
            json.WriteEndObject();
            json.WriteStartObject("switches");
            foreach (string name in Switches) json.WriteString(name, Convert.ToString(AppContext.GetData(name), CultureInfo.InvariantCulture));
            json.WriteEndObject();
            json.WriteStartObject("environment");
            foreach (string name in Variables) json.WriteString(name, Environment.GetEnvironmentVariable(name));
            json.WriteEndObject();
            json.WriteEndObject();
        }

        context.Add("runtime.json", bytes.ToArray());
    }

    private static void WriteProcess(Utf8JsonWriter json)
    {
        ThreadPool.GetMinThreads(out int minimum, out _);
        ThreadPool.GetMaxThreads(out int maximum, out _);
        json.WriteNumber("managed_heap_bytes", GC.GetTotalMemory(forceFullCollection: false));
        json.WriteNumber("managed_allocated_bytes", GC.GetTotalAllocatedBytes());
        json.WriteNumber("gc_pause_milliseconds", GC.GetTotalPauseDuration().TotalMilliseconds);
        json.WriteNumber("threadpool_threads", ThreadPool.ThreadCount);
        json.WriteNumber("threadpool_queue", ThreadPool.PendingWorkItemCount);
        json.WriteNumber("threadpool_completed", ThreadPool.CompletedWorkItemCount);
        json.WriteNumber("threadpool_threads_min", minimum);
        json.WriteNumber("threadpool_threads_max", maximum);
        json.WriteNumber("lock_contentions", Monitor.LockContentionCount);
        json.WriteNumber("timers", Timer.ActiveCount);
        json.WriteNumber("methods_compiled", System.Runtime.JitInfo.GetCompiledMethodCount());
        json.WriteNumber("compilation_milliseconds", System.Runtime.JitInfo.GetCompilationTime().TotalMilliseconds);
    }

    private static void WriteCollection(Utf8JsonWriter json, GCKind kind)
    {
        GCMemoryInfo last = GC.GetGCMemoryInfo(kind);
        json.WriteStartObject(kind.ToString());
        json.WriteNumber("index", last.Index);
        json.WriteNumber("generation", last.Generation);
        json.WriteBoolean("compacted", last.Compacted);
        json.WriteNumber("heap_bytes", last.HeapSizeBytes);
        json.WriteNumber("committed_bytes", last.TotalCommittedBytes);
        json.WriteNumber("fragmented_bytes", last.FragmentedBytes);
        json.WriteNumber("promoted_bytes", last.PromotedBytes);
        json.WriteNumber("pinned_objects", last.PinnedObjectsCount);
        json.WriteNumber("memory_load_bytes", last.MemoryLoadBytes);
        json.WriteNumber("high_memory_load_bytes", last.HighMemoryLoadThresholdBytes);
        json.WriteNumber("available_bytes", last.TotalAvailableMemoryBytes);
        json.WriteNumber("pause_percent", last.PauseTimePercentage);
        json.WriteStartArray("pauses_milliseconds");
        foreach (TimeSpan pause in last.PauseDurations) json.WriteNumberValue(pause.TotalMilliseconds);
        json.WriteEndArray();
        json.WriteEndObject();
    }
}
