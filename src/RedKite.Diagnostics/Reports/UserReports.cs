using System.Text;
using System.Text.Json;
using RedKite.Server.Acl;
using RedKite.Server.Model;

namespace RedKite.Server.Diagnostics.Reports;

/// <summary>Reports on users and what they were denied. Passwords and their hashes are in none.</summary>
internal static class UserReports
{
    private const int AddressesMax = 20;
    private const int EntriesMax = 128;

    // Patterns of keys and channels may say what an application keeps, so a redacted report has only their number.
    internal static void Users(ReportContext report)
    {
        Utf8JsonWriter json = report.Json;
        Dictionary<string, int> connections = report.Parts.Core.Clients.All.GroupBy(session => session.User.Name).ToDictionary(group => group.Key, group => group.Count());
        json.WriteStartObject();
        json.WriteStartArray("users");
        foreach (UserRules rules in report.Parts.Core.Users.All)
        {
            json.WriteStartObject();
            json.WriteString("name", report.Shown(rules.Name));
            json.WriteBoolean("on", rules.IsOn);
            json.WriteBoolean("needs_password", !rules.NeedsNoPassword);
            json.WriteNumber("passwords", rules.Passwords.Count);
            json.WriteBoolean("may_do_everything", rules.Compile() is null);
            json.WriteNumber("connections", connections.GetValueOrDefault(rules.Name));
            json.WriteStartArray("selectors");
            foreach (SelectorRules selector in (IEnumerable<SelectorRules>)[rules.Own, .. rules.Selectors])
            {
                json.WriteStartObject();
                json.WriteString("commands", report.IsRedacted ? selector.Commands.Split('|')[0] : selector.Commands); // first arguments may be names
                json.WriteString("keys", Patterns(report, selector.Keys));
                json.WriteString("channels", Patterns(report, selector.Channels));
                json.WriteEndObject();
            }

            json.WriteEndArray();
            json.WriteEndObject();
        }

        json.WriteEndArray();
        json.WriteStartArray("failed_logins");
        foreach ((string address, int count) in report.Parts.Core.Users.FailedLogins.Recent(report.Parts.Core.Clock.SteadyMs, AddressesMax))
        {
            json.WriteStartObject();
            json.WriteString("address", report.Shown(address));
            json.WriteNumber("count", count);
            json.WriteEndObject();
        }

        json.WriteEndArray();
        json.WriteEndObject();
    }

    internal static void Log(ReportContext report)
    {
        Utf8JsonWriter json = report.Json;
        json.WriteStartArray();
        foreach (AclLogEntry entry in report.Parts.Core.Users.Log.Newest(EntriesMax))
        {
            json.WriteStartObject();
            json.WriteNumber("count", entry.Count);
            json.WriteString("reason", ServerReports.Word(entry.Reason));
            json.WriteString("context", ServerReports.Word(entry.Context));
            if (entry.Reason == DenialReason.Command || !report.IsRedacted) json.WriteString("object", Encoding.Latin1.GetString(entry.Object));
            json.WriteString("user", report.Shown(entry.UserName));
            json.WriteNumber("created_unix_ms", entry.CreatedMs);
            json.WriteNumber("updated_unix_ms", entry.UpdatedMs);
            json.WriteEndObject();
        }

        json.WriteEndArray();
    }

    private static string Patterns(ReportContext report, string patterns)
    {
        if (!report.IsRedacted || patterns is "~*" or "&*" or "") return patterns;
        return string.Create(System.Globalization.CultureInfo.InvariantCulture, $"{patterns.Split(' ').Length} patterns");
    }
}
