using System.Text;
using System.Text.Json;
using RedKite.Server.Metrics;
using RedKite.Store.Keyspace;
using RedKite.Store.Values;

namespace RedKite.Server.Diagnostics.Reports;

/// <summary>Reports on keys: those that are used most, and those that are large. In a package keys are hashed.</summary>
internal static class KeyReports
{
    private const int HotKeysShown = 50;

    internal static void HotKeys(ReportContext report)
    {
        Utf8JsonWriter json = report.Json;
        json.WriteStartArray();
        foreach (HotKey key in HotKeySketch.Hottest(report.Parts.Core.Metrics.Executors, HotKeysShown, report.Parts.Core.Clock.NowMs))
        {
            json.WriteStartObject();
            json.WriteString("key", report.Shown(Encoding.UTF8.GetString(key.Key)));
            json.WriteNumber("database", key.Database);
            json.WriteNumber("uses_per_second", Math.Round(key.UsesPerSecond, 1));
            json.WriteEndObject();
        }

        json.WriteEndArray();
    }

    internal static void BigKeys(ReportContext report)
    {
        Utf8JsonWriter json = report.Json;
        json.WriteStartObject();
        if (report.Parts.KeySurvey() is { } survey)
        {
            json.WriteNumber("started_unix_ms", survey.StartedUnixMs);
            json.WriteNumber("ended_unix_ms", survey.EndedUnixMs);
            json.WriteNumber("cpu_seconds", survey.CpuSeconds);
            json.WriteStartObject("types");
            foreach ((DataType type, TypeSurvey found) in survey.Types) WriteType(report, StoredTypes.Of(type).Noun.Replace(" ", "", StringComparison.Ordinal), found);
            json.WriteEndObject();
        }

        json.WriteEndObject();
    }

    private static void WriteType(ReportContext report, string name, TypeSurvey found)
    {
        Utf8JsonWriter json = report.Json;
        json.WriteStartObject(name);
        json.WriteNumber("keys", found.Keys);
        json.WriteNumber("bytes", found.Bytes);
        json.WriteNumber("without_expiry", found.Persistent);
        if (found.Facts.Count > 0)
        {
            json.WriteStartObject("facts");
            foreach ((string fact, long count) in found.Facts) json.WriteNumber(fact, count);
            json.WriteEndObject();
        }

        WriteHistogram(json, "sizes", found.Sizes);
        WriteHistogram(json, "memory_bytes", found.Memory);
        WriteHistogram(json, "ttl_seconds", found.TtlSeconds);
        json.WriteStartArray("largest");
        foreach (SurveyedKey key in found.Largest)
        {
            json.WriteStartObject();
            json.WriteString("key", report.Shown(Encoding.UTF8.GetString(key.Key)));
            json.WriteNumber("database", key.Database);
            json.WriteNumber("size", key.Size);
            json.WriteNumber("bytes", key.Bytes);
            json.WriteEndObject();
        }

        json.WriteEndArray();
        json.WriteEndObject();
    }

    // Pairs of a bin's smallest value and its count; empty bins are left out.
    private static void WriteHistogram(Utf8JsonWriter json, string name, long[] bins)
    {
        json.WriteStartArray(name);
        for (int bin = 0; bin < bins.Length; bin++)
        {
            if (bins[bin] == 0) continue;
            json.WriteStartArray();
            json.WriteNumberValue(bin == 0 ? 0 : 1UL << (bin - 1));
            json.WriteNumberValue(bins[bin]);
            json.WriteEndArray();
        }

        json.WriteEndArray();
    }
}
