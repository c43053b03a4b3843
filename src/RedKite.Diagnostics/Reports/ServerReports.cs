using System.Text.Json;
using RedKite.Server.Config;

namespace RedKite.Server.Diagnostics.Reports;

/// <summary>Reports on the server as a whole.</summary>
internal static class ServerReports
{
    // Settings with names or addresses of machines.
    private static readonly string[] AddressSettings = ["admin-bind", "bind", "bind-source-addr", "replicaof", "replica-announce-ip", "cluster-announce-ip", "cluster-announce-hostname", "cluster-announce-human-nodename"];

    // These address no machine in particular.
    private static readonly string[] CommonAddresses = ["*", "-::*", "::", "-::", "0.0.0.0", "127.0.0.1", "::1", "-::1", "localhost"];

    internal static void Server(ReportContext report)
    {
        Utf8JsonWriter json = report.Json;
        ServerParts parts = report.Parts;
        ListeningFigures listening = parts.Listening();
        json.WriteStartObject();
        json.WriteString("version", ServerVersion.Text);
        json.WriteString("redis_version", parts.Core.Settings.ReportedRedisVersion);
        json.WriteString("compared_redis_versions", ServerVersion.ComparedRedis);
        json.WriteString("run_id", parts.Core.Run.RunId);
        json.WriteNumber("process_id", Environment.ProcessId);
        json.WriteNumber("now_unix_ms", parts.Core.Clock.NowMs);
        json.WriteNumber("started_unix_ms", parts.Core.Run.StartedMs);
        json.WriteNumber("port", listening.Port);
        json.WriteNumber("loops", parts.Core.LoopCount);
        json.WriteString("transport", parts.Core.Transport);
        json.WriteStartArray("listeners");
        foreach (string listener in listening.Listeners) json.WriteStringValue(report.Shown(listener));
        json.WriteEndArray();
        json.WriteEndObject();
    }

    internal static void Findings(ReportContext report)
    {
        Utf8JsonWriter json = report.Json;
        json.WriteStartObject();
        json.WriteNumber("rules", FindingTable.Rules.Count);
        WriteFindings(report, "open", report.Diagnostics.Findings.Current);
        WriteFindings(report, "ended", report.Diagnostics.Findings.Ended);
        json.WriteEndObject();
    }

    internal static void Metrics(ReportContext report)
    {
        Utf8JsonWriter json = report.Json;
        Observation? observation = report.Diagnostics.Latest;
        json.WriteStartArray();
        foreach (Metric metric in MetricTable.All)
        {
            json.WriteStartObject();
            json.WriteString("name", metric.Name);
            json.WriteString("kind", Word(metric.Kind));
            json.WriteString("unit", Word(metric.Unit));
            json.WriteString("help", metric.Help);
            report.Number("value", observation is null ? double.NaN : metric.Read(observation));
            json.WriteEndObject();
        }

        json.WriteEndArray();
    }

    internal static void SystemFacts(ReportContext report)
    {
        report.Json.WriteStartObject();
        foreach ((string name, string value) in Diagnostics.SystemFacts.Current) report.Json.WriteString(name, value);
        report.Json.WriteEndObject();
    }

    // A package has the log as a part of its own, without addresses.
    internal static void Log(ReportContext report)
    {
        report.Json.WriteStartArray();
        foreach (string line in report.IsRedacted ? [] : report.Parts.Core.Log.Tail.Lines) report.Json.WriteStringValue(line);
        report.Json.WriteEndArray();
    }

    internal static void Settings(ReportContext report)
    {
        Utf8JsonWriter json = report.Json;
        json.WriteStartArray();
        foreach (Setting setting in SettingTable.Rows)
        {
            string value = report.Parts.Core.Configuration.Get(setting.Name);
            bool isSecret = setting.Has(SettingFlags.Sensitive);
            json.WriteStartObject();
            json.WriteString("name", setting.Name);
            json.WriteString("value", isSecret && value.Length > 0 ? "(redacted)" : AddressSettings.Contains(setting.Name) ? WithoutAddresses(report, value) : value);
            json.WriteString("default", setting.DefaultText);
            json.WriteBoolean("differs", value != setting.DefaultText);
            json.WriteNumber("changed_unix_ms", report.Parts.Core.Configuration.ChangedMs(setting));
            json.WriteBoolean("mutable", !setting.Has(SettingFlags.Immutable));
            json.WriteString("no_effect", setting.NoEffect);
            json.WriteString("remark", setting.Remark);
            json.WriteEndObject();
        }

        json.WriteEndArray();
    }

    private static string WithoutAddresses(ReportContext report, string value) =>
        string.Join(' ', value.Split(' ').Select(word => CommonAddresses.Contains(word) ? word : report.Shown(word)));

    /// <summary>A word of an enumeration as reports show it.</summary>
    internal static string Word<T>(T value)
        where T : struct, Enum
    {
#pragma warning disable CA1308 // Words in reports are in lower case.
        return value.ToString().ToLowerInvariant();
#pragma warning restore CA1308
    }

    private static void WriteFindings(ReportContext report, string name, IReadOnlyList<Finding> findings)
    {
        Utf8JsonWriter json = report.Json;
        json.WriteStartArray(name);
        foreach (Finding finding in findings)
        {
            json.WriteStartObject();
            json.WriteString("name", finding.Rule.Name);
            json.WriteString("severity", Word(finding.Diagnosis.Severity));
            json.WriteString("title", finding.Diagnosis.Title);
            json.WriteString("evidence", finding.Diagnosis.Evidence);
            json.WriteString("culprit", report.IsRedacted ? "" : finding.Diagnosis.Culprit);
            json.WriteString("remedy", finding.Rule.Remedy);
            json.WriteString("view", finding.Rule.View);
            json.WriteNumber("since_unix_ms", finding.SinceUnixMs);
            json.WriteNumber("ended_unix_ms", finding.EndedUnixMs);
            json.WriteEndObject();
        }

        json.WriteEndArray();
    }
}
