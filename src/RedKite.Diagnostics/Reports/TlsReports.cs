using System.Text.Json;
using RedKite.Server.Config;

namespace RedKite.Server.Diagnostics.Reports;

/// <summary>A report on TLS. Keys are in none.</summary>
internal static class TlsReports
{
    internal static void Tls(ReportContext report)
    {
        Utf8JsonWriter json = report.Json;
        Settings settings = report.Parts.Core.Configuration.Settings;
        TlsFigures figures = report.Parts.Tls();
        json.WriteStartObject();
        json.WriteNumber("port", settings.TlsPort);
        json.WriteBoolean("dashboard", settings.AdminTls);
        json.WriteString("client_certificates", settings.TlsAuthClients.ToString().ToLowerInvariant());
        json.WriteString("protocols", settings.TlsProtocols.Length == 0 ? "TLSv1.2 TLSv1.3" : settings.TlsProtocols);
        json.WriteString("cipher_suites", settings.TlsCipherSuites);
        json.WriteNumber("connections", report.Parts.Core.Clients.All.Count(session => session.Connection is { HasLayer: true }));
        json.WriteNumber("handshakes", figures.Completed);
        json.WriteNumber("handshakes_failed", figures.Failed);
        json.WriteNumber("handshakes_refused", figures.Refused);
        json.WriteNumber("handshakes_in_progress", figures.InProgress);
        if (figures.Certificate is { } certificate)
        {
            json.WriteStartObject("certificate");
            json.WriteString("subject", report.Shown(certificate.Subject));
            json.WriteString("issuer", report.Shown(certificate.Issuer));
            json.WriteNumber("not_before_unix_ms", new DateTimeOffset(certificate.NotBefore).ToUnixTimeMilliseconds());
            json.WriteNumber("not_after_unix_ms", new DateTimeOffset(certificate.NotAfter).ToUnixTimeMilliseconds());
            json.WriteNumber("intermediates", certificate.Intermediates);
            json.WriteEndObject();
        }

        json.WriteEndObject();
    }
}
