using System.Text;
using System.Text.RegularExpressions;
using RedKite.Server.Metrics;

namespace RedKite.Server.Diagnostics.Package;

/// <summary>Parts of the package that are text of the server: INFO and the log.</summary>
internal static partial class ServerPackageParts
{
    internal static void Info(PackageContext context)
    {
        string text = ErrorStatistics().Replace(context.Sources.Info(), match => ErrorWords.IsOwn(match.Value) ? match.Value : context.Shown(match.Value));
        text = CulpritsOfFindings().Replace(text, "(redacted)");
        context.Add("info.txt", WithoutAddresses(context, text));
    }

    // The last lines of the log, once the time for which the log is collected has passed.
    internal static void Log(PackageContext context)
    {
        TimeSpan rest = context.Options.Log - context.Elapsed;
        if (rest > TimeSpan.Zero) context.Cancellation.WaitHandle.WaitOne(rest);
        var text = new StringBuilder();
        foreach (string line in context.Sources.Parts.Core.Log.Tail.RedactedLines) text.Append(WithoutAddresses(context, line)).Append('\n');
        context.Add("log.txt", text.ToString());
    }

    /// <summary>Replaces IPv4 and IPv6 addresses, names of hosts that INFO's listeners have, and texts of the administrator by hashes.</summary>
    internal static string WithoutAddresses(PackageContext context, string text)
    {
        text = context.WithoutChosenTexts(text);
        text = OwnPaths().Replace(text, match => context.Shown(match.Value));
        text = Addresses().Replace(text, match => context.Shown(match.Value));
        return BoundNames().Replace(text, match => match.Value.Length == 5 ? match.Value : "bind=" + context.Shown(match.Value[5..]));
    }

    // Versions of software have fewer dots than addresses, and times fewer colons.
    [GeneratedRegex(@"(?<![\w.])\d{1,3}(\.\d{1,3}){3}(?![\w.])|(?<![\w:])([0-9A-Fa-f]{0,4}:){2,7}[0-9A-Fa-f]{0,4}(%\w+)?(?![\w:])(?<!(?<!\d)\d\d:\d\d:\d\d)", RegexOptions.CultureInvariant)]
    private static partial Regex Addresses();

    [GeneratedRegex(@"bind=[^,\r\n#]*", RegexOptions.CultureInvariant)]
    private static partial Regex BoundNames();

    // It ends a finding's line.
    [GeneratedRegex(@"(?<=^finding_.*,culprit=).*(?=\r?$)", RegexOptions.CultureInvariant | RegexOptions.Multiline)]
    private static partial Regex CulpritsOfFindings();

    // Where the program and its configuration are, in INFO.
    [GeneratedRegex(@"(?<=^(executable|config_file):)[^\r\n]+(?=\r?$)", RegexOptions.CultureInvariant | RegexOptions.Multiline)]
    private static partial Regex OwnPaths();

    // The first words of errors in INFO. A script's error may begin with any word.
    [GeneratedRegex(@"(?<=^errorstat_).*(?=:count=\d+\r?$)", RegexOptions.CultureInvariant | RegexOptions.Multiline)]
    private static partial Regex ErrorStatistics();
}
