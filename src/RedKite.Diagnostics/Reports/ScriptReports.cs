using System.Text.Json;
using RedKite.Server.Sessions;

namespace RedKite.Server.Diagnostics.Reports;

/// <summary>The report on cached scripts and functions. It has no keys and no arguments.</summary>
internal static class ScriptReports
{
    private const int EntriesMax = 200;

    internal static void Scripts(ReportContext report)
    {
        Utf8JsonWriter json = report.Json;
        RunningScript script = report.Parts.Core.Script;
        ScriptFigures figures = script.Figures();
        json.WriteStartObject();
        json.WriteNumber("scripts", figures.Scripts);
        json.WriteNumber("script_text_bytes", figures.ScriptBytes);
        json.WriteNumber("script_interpreter_bytes", figures.EvalBytes);
        json.WriteNumber("evicted_scripts", figures.Evicted);
        json.WriteNumber("libraries", figures.Libraries);
        json.WriteNumber("functions", figures.Functions);
        json.WriteNumber("function_text_bytes", figures.LibraryBytes);
        json.WriteNumber("function_interpreter_bytes", figures.FunctionBytes);
        json.WriteNumber("executed", script.Executed);
        json.WriteNumber("killed", script.Killed);
        json.WriteStartArray("by_total_time");
        foreach (ScriptUse use in script.Uses.All.OrderByDescending(use => use.TotalNs).Take(EntriesMax))
        {
            report.Cancellation.ThrowIfCancellationRequested();
            Write(report, use);
        }

        json.WriteEndArray();
        json.WriteEndObject();
    }

    // A script's name is the SHA-1 of its text. Names of functions and libraries, and texts, are an application's own.
    private static void Write(ReportContext report, ScriptUse use)
    {
        Utf8JsonWriter json = report.Json;
        json.WriteStartObject();
        json.WriteString("kind", use.Library is null ? "script" : "function");
        json.WriteString("name", use.Library is null ? use.Name : report.Shown(use.Name));
        if (use.Library is not null) json.WriteString("library", report.Shown(use.Library));
        json.WriteNumber("calls", use.Calls);
        json.WriteNumber("failed", use.Failed);
        json.WriteNumber("total_microseconds", use.TotalNs / 1000);
        json.WriteNumber("max_microseconds", use.LongestNs / 1000);
        json.WriteNumber("last_use_unix_ms", use.LastUseMs);
        if (!report.IsRedacted) json.WriteString("text_start", use.Text);
        json.WriteEndObject();
    }
}
