namespace RedKite.Server.Diagnostics;

/// <summary>A server's listeners, as INFO shows them.</summary>
/// <param name="Port">The TCP port; 0 when there is none.</param>
/// <param name="Listeners">Each listener as one line.</param>
internal readonly record struct ListeningFigures(int Port, IReadOnlyList<string> Listeners);

/// <summary>The handshakes of the TLS port, and its certificate.</summary>
/// <param name="Completed">Handshakes that have succeeded.</param>
/// <param name="Failed">Handshakes that have failed.</param>
/// <param name="Refused">Connections that were closed because too many handshakes were in progress.</param>
/// <param name="InProgress">Handshakes in progress.</param>
/// <param name="CertificateSeconds">Seconds until the certificate expires; NaN: there is none.</param>
/// <param name="Certificate">The certificate of new connections; null: neither the data nor the dashboard uses TLS.</param>
internal readonly record struct TlsFigures(long Completed, long Failed, long Refused, int InProgress, double CertificateSeconds, TlsCertificate? Certificate);

/// <summary>A certificate as reports show it.</summary>
/// <param name="Subject">Whose it is.</param>
/// <param name="Issuer">The authority that signed it.</param>
/// <param name="NotBefore">Since when it is valid, UTC.</param>
/// <param name="NotAfter">Until when it is valid, UTC.</param>
/// <param name="Intermediates">Certificates of intermediate authorities that are sent with it.</param>
internal sealed record TlsCertificate(string Subject, string Issuer, DateTime NotBefore, DateTime NotAfter, int Intermediates);

/// <summary>Counts of blocked clients, as INFO shows them.</summary>
/// <param name="Clients">Blocked clients, and those that a pause holds.</param>
/// <param name="WithDeadline">Those of them that have a deadline.</param>
/// <param name="Keys">Keys that clients are blocked on.</param>
/// <param name="KeysWakingWhenGone">Keys with clients that are also woken when the key is gone.</param>
internal readonly record struct BlockedClientFigures(int Clients, int WithDeadline, int Keys, int KeysWakingWhenGone);
