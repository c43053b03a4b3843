using static RedKite.Server.Diagnostics.FindingSeverity;
using static RedKite.Server.Logging.QuantityText;

namespace RedKite.Server.Diagnostics.Rules;

/// <summary>Rules on the configuration.</summary>
internal static class SettingRules
{
    private static readonly string[] Loopback = ["127.0.0.1", "-127.0.0.1", "::1", "-::1", "localhost"];

    internal static FindingRule[] All =>
    [
        new("open-to-network", "The server listens on addresses of the network, without a password, and protected mode is off: anyone who can reach it can read and change everything.",
            "Set requirepass, bind to loopback, or turn protected-mode on.", "configuration", OpenToNetwork),
        new("users-without-password", "A user other than the default one needs no password, and the server listens on addresses of the network: anyone who can reach it can log in as that user.",
            "Give each user a password (ACL SETUSER name >password), or switch the user off (ACL SETUSER name off).", "configuration", OpenUser),
        new("certificate-expires", "The certificate of the TLS port expires within 14 days, or has expired. Clients refuse an expired one.",
            "Renew the certificate, and set tls-cert-file and tls-key-file again, even to the same paths: CONFIG SET rereads the files without dropping clients.", "configuration", CertificateExpires),
        new("handshakes-fail", "More than one TLS handshake a second failed or was refused over the last minute.",
            "At loglevel verbose the log has the reasons: clients without a certificate although tls-auth-clients requires one, clients that do not trust the server's certificate, or connections that send nothing.", "configuration",
            view => view.Mean(MetricTable.TlsHandshakesFailed, 60) + view.Mean(MetricTable.TlsHandshakesRefused, 60) is > 1 and var failed ? new("TLS handshakes fail", Text($"{failed:0.#} a second"), Warning) : null),
        new("debug-enabled", "DEBUG or MODULE may be used by clients of other machines. DEBUG can stop the server.",
            "Set enable-debug-command to `no` or `local`.", "configuration",
            DebugIsOpen),
        new("setting-without-effect", "A setting has a value other than its default, but no effect in RedKite. docs/reference/settings.md has the reasons.",
            "Remove the setting from the configuration, or read in docs/reference/settings.md what does its work in RedKite.", "configuration",
            view => view.SettingsWithoutEffect.Count is > 0 and var count ? new(count == 1 ? "A setting has no effect in RedKite" : Times(count, "setting") + " have no effect in RedKite", string.Join(", ", view.SettingsWithoutEffect), Notice) : null),
        new("slow-log-off", "The slow log is off, so slow commands leave no trace.",
            "Set slowlog-log-slower-than to 10000 (microseconds).", "configuration",
            view => view.Setting("slowlog-log-slower-than") == "-1" || view.Setting("slowlog-max-len") == "0" ? new("The slow log is off", Text($"slowlog-log-slower-than {view.Setting("slowlog-log-slower-than")}, slowlog-max-len {view.Setting("slowlog-max-len")}"), Notice) : null),
        new("slow-log-everything", "slowlog-log-slower-than is below 100 microseconds: each command is timed on its own and ordinary ones fill the log.",
            "Set slowlog-log-slower-than to 10000 (microseconds) again when done.", "configuration",
            view => int.TryParse(view.Setting("slowlog-log-slower-than"), out int microseconds) && microseconds is >= 0 and < 100 ? new("The slow log records ordinary commands", Text($"slowlog-log-slower-than {microseconds}"), Notice) : null),
        new("backlog-capped", "tcp-backlog is larger than the system's limit, so connections are dropped earlier in a connection storm.",
            "Raise net.core.somaxconn.", "configuration", BacklogCapped),
    ];

    private static Diagnosis? CertificateExpires(DiagnosticsView view)
    {
        double days = view[MetricTable.TlsCertificateTime] / 86_400;
        if (view.Setting("tls-port") == "0" || !(days < 14)) return null;
        return days > 0
            ? new("The TLS certificate expires soon", "in " + About(days * 86_400), Warning)
            : new("The TLS certificate has expired", About(-days * 86_400) + " ago", Critical);
    }

    private static Diagnosis? DebugIsOpen(DiagnosticsView view)
    {
        string[] open = [.. ((string[])["enable-debug-command", "enable-module-command"]).Where(name => view.Setting(name) == "yes")];
        string[] addresses = [.. view.Setting("bind").Split(' ', StringSplitOptions.RemoveEmptyEntries).Except(Loopback)];
        return open.Length > 0 && addresses.Length > 0
            ? new("DEBUG commands are open to the network", $"{string.Join(" and ", open)} {(open.Length > 1 ? "are" : "is")} yes, bind {string.Join(' ', addresses)}", Notice) : null;
    }

    private static Diagnosis? OpenToNetwork(DiagnosticsView view)
    {
        if (!NeedsNoPassword(view) || IsProtected(view)) return null;
        string[] open = [.. view.Setting("bind").Split(' ', StringSplitOptions.RemoveEmptyEntries).Except(Loopback)];
        return open.Length > 0 ? new("The server is open to the network without a password", $"bind {string.Join(' ', open)}", Critical) : null;
    }

    // Protected mode keeps clients of other machines out while the default user needs no password.
    private static bool IsProtected(DiagnosticsView view) => view.Setting("protected-mode") == "yes" && NeedsNoPassword(view);

    // Before the first observation, the setting decides.
    private static bool NeedsNoPassword(DiagnosticsView view)
    {
        double open = view[MetricTable.DefaultUserOpen];
        return double.IsNaN(open) ? view.Setting("requirepass").Length == 0 : open > 0;
    }

    private static Diagnosis? OpenUser(DiagnosticsView view)
    {
        double open = view[MetricTable.OpenUsers];
        if (!(open > 0) || IsProtected(view)) return null;
        string[] addresses = [.. view.Setting("bind").Split(' ', StringSplitOptions.RemoveEmptyEntries).Except(Loopback)];
        return addresses.Length > 0 ? new(open == 1 ? "A user needs no password" : "Users need no password", Text($"{Times(open, "user")}, bind {string.Join(' ', addresses)}"), Warning) : null;
    }

    private static Diagnosis? BacklogCapped(DiagnosticsView view) =>
        int.TryParse(view.Facts.GetValueOrDefault("somaxconn"), out int limit) && int.TryParse(view.Setting("tcp-backlog"), out int backlog) && limit < backlog
            ? new("The backlog of connections is smaller than configured", Text($"tcp-backlog {backlog}, net.core.somaxconn {limit}"), Notice)
            : null;
}
