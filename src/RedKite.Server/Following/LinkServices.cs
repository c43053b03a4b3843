using System.Net.Security;

namespace RedKite.Server.Following;

/// <summary>How the connection to the primary uses TLS; null: it does not. Not a Func, whose type would load the framework's TLS at the start.</summary>
internal delegate SslClientAuthenticationOptions? ClientTls();

/// <summary>What a link needs of the server around it.</summary>
/// <param name="WaitForLoops">Waits until every loop has ended the commands that it executes. From a thread that is no loop's.</param>
/// <param name="Tls">How the connection to the primary uses TLS.</param>
/// <param name="SyncedOffset">The offset up to which the append-only file has what the stream did, as far as it is known; null: there is no such file.</param>
internal sealed record LinkServices(Action<CancellationToken> WaitForLoops, ClientTls Tls, Func<long, long?> SyncedOffset)
{
    /// <summary>How long a link waits before its second attempt to connect; the pauses double.</summary>
    internal int RetryMsMin { get; set; } = 100;

    /// <summary>The longest pause.</summary>
    internal int RetryMsMax { get; set; } = 1000;
}

/// <summary>What outlives single links: whether the data is a state of a primary's history, from which a link can go on, and counts.</summary>
internal sealed class LinkHistory
{
    /// <summary>Whether a load was interrupted: what there is of the data must not be saved.</summary>
    internal bool IsIncomplete { get; set; }

    /// <summary>Whether the data is that of the current id at the stream's offset.</summary>
    internal bool IsKnown { get; set; }

    /// <summary>The database that the stream has selected at its offset.</summary>
    internal int Database { get; set; }
}
