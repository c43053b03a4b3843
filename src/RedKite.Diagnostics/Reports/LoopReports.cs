using System.Text.Json;
using RedKite.Server.Metrics;
using RedKite.Store.Keyspace;

namespace RedKite.Server.Diagnostics.Reports;

/// <summary>Reports on event loops and the keyspace's locks.</summary>
internal static class LoopReports
{
    internal static void Loops(ReportContext report)
    {
        Utf8JsonWriter json = report.Json;
        json.WriteStartArray();
        foreach (LoopMetrics loop in report.Parts.Core.Metrics.Loops)
        {
            json.WriteStartObject();
            json.WriteNumber("connections", loop.Connections);
            json.WriteNumber("utilization_percent", Math.Round(loop.UtilizationPercent, 1));
            json.WriteNumber("longest_turn_microseconds", Math.Round(loop.LongestIterationMicroseconds, 1));
            json.WriteNumber("messages_waiting", loop.MessagesWaiting);
            json.WriteNumber("turns", loop.Cycles);
            json.WriteNumber("work_microseconds", loop.WorkMicroseconds);
            json.WriteNumber("receives", loop.Reads);
            json.WriteNumber("sends", loop.Writes);
            json.WriteNumber("suspended_clients", loop.SuspendedClients);
            json.WriteNumber("buffer_bytes", loop.Buffers.Bytes);
            json.WriteNumber("output_bytes", loop.Buffers.OutputBytes);
            json.WriteEndObject();
        }

        json.WriteEndArray();
    }

    // Counters of a stripe are read without its lock: they may be a moment old.
    internal static void Stripes(ReportContext report)
    {
        Utf8JsonWriter json = report.Json;
        Stripe[] stripes = report.Parts.Core.Metrics.Keyspace.Stripes;
        double[] held = report.Diagnostics.Latest?.Stripes.HeldPercents ?? [];
        json.WriteStartArray();
        for (int i = 0; i < stripes.Length; i++)
        {
            Stripe stripe = stripes[i];
            json.WriteStartObject();
            json.WriteNumber("bytes", stripe.UsedBytes);
            report.Number("held_percent", i < held.Length ? held[i] : double.NaN);
            json.WriteNumber("lock_waits", stripe.LockWaits);
            json.WriteNumber("lock_parks", stripe.LockParks);
            json.WriteNumber("lock_waited_microseconds", (long)stripe.LockWaited.TotalMicroseconds);
            json.WriteEndObject();
        }

        json.WriteEndArray();
    }
}
