using System.Security.Cryptography;
using System.Text;
using System.Text.Json;
using RedKite.Server.Metrics;

namespace RedKite.Server.Diagnostics.Reports;

/// <summary>
/// One part of the server's report about itself, as JSON: a row of <see cref="ReportTable"/>. A view of the page shows it, and the
/// debug package has it as an entry.
/// </summary>
/// <param name="Name">Lower case with hyphens: the address on the page, and the entry's name.</param>
/// <param name="Meaning">What it holds: one sentence.</param>
/// <param name="Write">Writes one JSON value.</param>
internal sealed record Report(string Name, string Meaning, Action<ReportContext> Write)
{
    /// <summary>Whether it may be in a debug package. It then holds no keys, values or secrets when <see cref="ReportContext.IsRedacted"/>.</summary>
    internal bool IsInPackage { get; init; } = true;
}

/// <summary>The source and destination of a report.</summary>
internal sealed class ReportContext(ServerParts parts, DiagnosticsService diagnostics, Utf8JsonWriter json, byte[]? redactionKey, CancellationToken cancellation)
{
    internal ServerParts Parts => parts;

    internal DiagnosticsService Diagnostics => diagnostics;

    internal Utf8JsonWriter Json => json;

    /// <summary>Whether addresses are hashed, and keys, values and names chosen by clients are left out: in a debug package.</summary>
    internal bool IsRedacted => redactionKey is not null;

    /// <summary>Cancelled when the report's time has run out.</summary>
    internal CancellationToken Cancellation => cancellation;

    /// <summary>An address or name as it may be shown: in a package, a hash that is the same throughout the package.</summary>
    internal string Shown(string text)
    {
        if (redactionKey is null || text.Length == 0) return text;
        return "#" + Convert.ToHexStringLower(HMACSHA256.HashData(redactionKey, Encoding.UTF8.GetBytes(text)).AsSpan(0, 6));
    }

    /// <summary>An error's first word as it may be shown: a script's own one as a name.</summary>
    internal string ShownErrorWord(string word) => ErrorWords.IsOwn(word) ? word : Shown(word);

    /// <summary>A number; null where it is unknown.</summary>
    internal void Number(string name, double value)
    {
        if (double.IsFinite(value)) json.WriteNumber(name, value);
        else json.WriteNull(name);
    }
}
