using System.Text;
using System.Text.RegularExpressions;

namespace RedKite.Server.Diagnostics.Package;

/// <summary>Parts of the package that are text of the server: INFO and the log.</summary>
internal static partial class ServerPackageParts
{
    // What a client may write into the log.
    private const string TextOfClients = "DEBUG LOG: ";

    internal static void Info(PackageContext context) => context.Add("info.txt", WithoutAddresses(context, context.Sources.Info()));

    // The last lines that the server wrote, after watching for the requested time.
    internal static void Log(PackageContext context)
    {
        context.Cancellation.WaitHandle.WaitOne(context.Options.Log);
        var text = new StringBuilder();
        foreach (string line in context.Sources.Parts.Log.Tail.Lines)
        {
            bool isOfClient = line.Contains(TextOfClients, StringComparison.Ordinal);
            text.Append(isOfClient ? line[..(line.IndexOf(TextOfClients, StringComparison.Ordinal) + TextOfClients.Length)] + "(redacted)" : WithoutAddresses(context, line)).Append('\n');
        }

        context.Add("log.txt", text.ToString());
    }

    /// <summary>Replaces IPv4 and IPv6 addresses, and names of hosts that INFO's listeners have, by hashes.</summary>
    internal static string WithoutAddresses(PackageContext context, string text)
    {
        text = Addresses().Replace(text, match => context.Shown(match.Value));
        return BoundNames().Replace(text, match => match.Value.Length == 5 ? match.Value : "bind=" + context.Shown(match.Value[5..]));
    }

    // Versions of software have fewer dots than addresses, and times fewer colons.
    [GeneratedRegex(@"(?<![\w.])\d{1,3}(\.\d{1,3}){3}(?![\w.])|(?<![\w:])([0-9A-Fa-f]{0,4}:){2,7}[0-9A-Fa-f]{0,4}(%\w+)?(?![\w:])(?<!(?<!\d)\d\d:\d\d:\d\d)", RegexOptions.CultureInvariant)]
    private static partial Regex Addresses();

    [GeneratedRegex(@"bind=[^,\r\n#]*", RegexOptions.CultureInvariant)]
    private static partial Regex BoundNames();
}
