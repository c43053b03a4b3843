using System.Net.Security;

namespace RedKite.Net.Tls;

/// <summary>
/// The server's side of a TLS connection, and what the check of the client's certificate has found. A refused client's handshake is completed nevertheless: .NET sends no
/// alert of its own on Linux, whose library has verified the client before it is asked, so the reason is sent behind the handshake, and nothing that the client sends is read.
/// </summary>
internal sealed class TlsServerStream(Stream wire) : SslStream(wire, leaveInnerStreamOpen: false)
{
    private bool _isVetted;

    /// <summary>Why the client is refused; null: it is not, or has not been looked at.</summary>
    internal TlsRefusal? Refusal { get; private set; }

    /// <summary>Notes the outcome of the check of the client's certificate.</summary>
    /// <returns>Whether the handshake goes on.</returns>
    internal bool Vet(TlsRefusal? refusal)
    {
        Refusal = refusal;
        _isVetted = true;
        return true;
    }

    /// <summary>Whether the check has taken place, if there must be one: without it no client is accepted.</summary>
    internal bool IsVettedAsIn(SslServerAuthenticationOptions options) => _isVetted || !options.ClientCertificateRequired;
}

/// <summary>Why a client's certificate is refused.</summary>
/// <param name="Reason">As the client is told and the log says.</param>
/// <param name="Subject">The certificate's subject, which the client chose; empty: there is none.</param>
internal sealed record TlsRefusal(string Reason, string Subject);

/// <summary>A TLS handshake that has failed.</summary>
/// <param name="Client">The client's address.</param>
/// <param name="Reason">What is wrong.</param>
internal sealed record TlsFailure(PeerAddress Client, string Reason)
{
    /// <summary>What it was refused for; null: for something else.</summary>
    internal TlsRefusal? Refusal { get; init; }

    /// <summary>Whether the client speaks no TLS.</summary>
    internal bool IsPlain { get; init; }
}
