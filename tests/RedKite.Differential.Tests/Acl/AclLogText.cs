using System.Text.RegularExpressions;
using RedKite.TestSupport;

namespace RedKite.Differential.Tests.Acl;

/// <summary>ACL LOG as lines, without the parts that differ between runs: times, ages, and the client's sizes and addresses.</summary>
internal static class AclLogText
{
    private static readonly Regex ClientFields = new("(?:cmd|user|db|resp|multi)=[^ ]*");

    internal static string[] Of(RespConnection connection)
    {
        RespValue log = connection.Run("ACL LOG 1000");
        long first = log.Items.Count == 0 ? 0 : log.Items.Min(entry => entry["entry-id"]!.Number);
        return [.. log.Items.Select(entry => Line(entry, first))];
    }

    private static string Line(RespValue entry, long first)
    {
        Assert.InRange(double.Parse(entry["age-seconds"]!.Text, System.Globalization.CultureInfo.InvariantCulture), 0, 600);
        Assert.InRange(entry["timestamp-last-updated"]!.Number - entry["timestamp-created"]!.Number, 0, 600_000);
        string client = string.Join(' ', ClientFields.Matches(entry["client-info"]!.Text).Select(match => match.Value));
        string[] texts = [.. ((string[])["count", "reason", "context", "object", "username"]).Select(name => $"{name}={entry[name]!.Text}")];
        return $"{entry["entry-id"]!.Number - first}: {string.Join(' ', texts)} client: {client}; {string.Join(' ', entry.Items.Where((_, i) => i % 2 == 0).Select(name => name.Text))}";
    }
}
