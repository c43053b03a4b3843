using System.Text.Json;
using RedKite.Server.Diagnostics.Actions;

namespace RedKite.Server.Diagnostics.Reports;

/// <summary>The report on the actions that the server takes by itself.</summary>
internal static class ActionReports
{
    internal static void Actions(ReportContext report)
    {
        Utf8JsonWriter json = report.Json;
        ActionLog actions = report.Parts.Core.Actions;
        json.WriteStartObject();
        json.WriteStartArray("actions");
        foreach (ServerAction action in ActionTable.All)
        {
            json.WriteStartObject();
            json.WriteString("name", action.Name);
            json.WriteString("meaning", action.Meaning);
            json.WriteString("setting", action.Setting);
            json.WriteString("value", report.Parts.Core.Configuration.Get(action.Setting));
            json.WriteBoolean("touches_clients", action.TouchesClients);
            json.WriteNumber("count", actions.CountOf(action));
            json.WriteEndObject();
        }

        json.WriteEndArray();
        json.WriteStartArray("taken");
        foreach (TakenAction taken in actions.Taken)
        {
            json.WriteStartObject();
            json.WriteNumber("unix_ms", taken.UnixMs);
            json.WriteString("name", taken.Action.Name);
            json.WriteString("detail", taken.Detail);
            json.WriteNumber("before", taken.Unnoted);
            json.WriteNumber("client_id", taken.ClientId);
            json.WriteString("address", report.Shown(taken.Address));
            json.WriteString("client", report.Shown(taken.Name));
            json.WriteEndObject();
        }

        json.WriteEndArray();
        json.WriteEndObject();
    }
}
