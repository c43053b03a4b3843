using RedKite.Net.Interop;
using RedKite.Server.Acl;
using RedKite.Server.Config;
using RedKite.Server.Diagnostics.Actions;
using RedKite.Server.Diagnostics.Package;
using RedKite.Server.Logging;
using RedKite.Server.Metrics;
using RedKite.Server.Model;
using RedKite.Server.PubSub;
using RedKite.Server.Sessions;
using RedKite.Server.Tracking;

namespace RedKite.Server.Diagnostics;

/// <summary>
/// The parts of a server that its diagnostics and administrative commands report on and change. Each takes those that it needs;
/// commands on data take none.
/// </summary>
internal sealed record ServerParts
{
    internal required Configuration Configuration { get; init; }

    internal required ServerRun Run { get; init; }

    internal required ServerClock Clock { get; init; }

    internal required ServerLog Log { get; init; }

    internal required ClientRegistry Clients { get; init; }

    /// <summary>The users, and what each may do.</summary>
    internal required UserRegistry Users { get; init; }

    internal required ClientPause Pause { get; init; }

    internal required MonitorFeed Monitors { get; init; }

    internal required MessageHub Messages { get; init; }

    /// <summary>Keys that clients watch.</summary>
    internal required WatchedKeys Watched { get; init; }

    /// <summary>The script that is running, and counts.</summary>
    internal required RunningScript Script { get; init; }

    internal TransactionFigures Transactions { get; } = new();

    internal required KeyTracking Tracking { get; init; }

    internal required RequestLog SlowLog { get; init; }

    internal required RequestLog LargeRequests { get; init; }

    internal required RequestLog LargeReplies { get; init; }

    internal required Timeline Timeline { get; init; }

    /// <summary>The server's own actions.</summary>
    internal required ActionLog Actions { get; init; }

    internal required LatencyMonitor LatencyMonitor { get; init; }

    internal required BufferPool Buffers { get; init; }

    internal required Func<CommandTable> Commands { get; init; }

    /// <summary>Everything that counts. It exists once the commands are known.</summary>
    internal required Func<MetricsRegistry> Metrics { get; init; }

    /// <summary>The server's listeners.</summary>
    internal required Func<ListeningFigures> Listening { get; init; }

    internal required Func<TlsFigures> Tls { get; init; }

    internal required Func<BlockedClientFigures> Blocking { get; init; }

    /// <summary>The last survey of all keys; null: none has ended, or there is no survey.</summary>
    internal required Func<KeySurveyResult?> KeySurvey { get; init; }

    /// <summary>The latest observation; null: none yet, or the setting `diagnostics` is off.</summary>
    internal required Func<Observation?> Observation { get; init; }

    /// <summary>Open findings, the worst first.</summary>
    internal required Func<IReadOnlyList<Finding>> Findings { get; init; }

    /// <summary>Builds debug packages; null: the setting `diagnostics` is off.</summary>
    internal required Func<PackageService?> Packages { get; init; }

    /// <summary>
    /// Ends the wait of a client by a reply. The array that was its reply at the deadline identifies the wait: if the client does not
    /// wait for this any more, nothing happens. From any thread.
    /// </summary>
    internal required Action<Session, byte[], byte[]> ReplyLater { get; init; }

    /// <summary>Resumes the clients that a pause holds.</summary>
    internal required Action EndPause { get; init; }

    /// <summary>Begins to stop the server.</summary>
    internal required Action Shutdown { get; init; }

    internal required int LoopCount { get; init; }

    /// <summary>"epoll" or "sockets".</summary>
    internal required string Transport { get; init; }
}

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
