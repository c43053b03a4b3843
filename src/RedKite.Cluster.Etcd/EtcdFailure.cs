using System.Security.Authentication;
using Grpc.Core;

namespace RedKite.Server.Cluster.Store;

/// <summary>Why a call of one member has failed, and so what the store does next.</summary>
/// <param name="Reason">One line.</param>
/// <param name="Kind">What follows from it.</param>
internal sealed record EtcdFailure(string Reason, EtcdFailureKind Kind)
{
    private const int ReasonLengthMax = 300;

    /// <summary>Texts of etcd about a token that it does not know any more, or that is older than a change of its users.</summary>
    private static readonly string[] TokenTexts = ["invalid auth token", "revision of auth store is old"];

    private static readonly string[] CredentialTexts = ["authentication failed, invalid user ID or password", "user name is empty", "permission denied"];

    internal static EtcdFailure Of(RpcException failure, TimeSpan attemptTime)
    {
        string detail = failure.Status.Detail;
        for (Exception? cause = failure.Status.DebugException ?? failure.InnerException; cause is not null; cause = cause.InnerException)
        {
            // A member that wants another certificate says so after the handshake of TLS, as one that ends does: nothing tells which it is.
            if (cause.Message.Contains("did not complete the HTTP/2 handshake", StringComparison.Ordinal)) return new EtcdFailure("the connection ended before the first call: look at http or https, and at the certificate that is shown to it", EtcdFailureKind.Unknown);
            if (cause is AuthenticationException) return new EtcdFailure(OneLine(Innermost(cause)), EtcdFailureKind.Certificate);
            if (cause is HttpRequestException { HttpRequestError: HttpRequestError.SecureConnectionError }) return new EtcdFailure(OneLine(Innermost(cause)), EtcdFailureKind.Certificate);
            if (cause is HttpRequestException { HttpRequestError: HttpRequestError.ConnectionError or HttpRequestError.NameResolutionError }) return new EtcdFailure(OneLine(Innermost(cause)), EtcdFailureKind.NotSent);
        }

        if (Array.Exists(TokenTexts, text => detail.Contains(text, StringComparison.Ordinal))) return new EtcdFailure(OneLine(detail), EtcdFailureKind.Token);
        if (Array.Exists(CredentialTexts, text => detail.Contains(text, StringComparison.Ordinal))) return new EtcdFailure(OneLine(detail), EtcdFailureKind.Credentials);
        return failure.StatusCode switch
        {
            StatusCode.DeadlineExceeded => new EtcdFailure($"no answer within {attemptTime.TotalMilliseconds:0} ms", EtcdFailureKind.Unknown),
            StatusCode.Unauthenticated => new EtcdFailure(OneLine(detail), EtcdFailureKind.Token),
            StatusCode.PermissionDenied => new EtcdFailure(OneLine(detail), EtcdFailureKind.Credentials),

            // Of a connection that broke, of a member without a leader or that stops.
            StatusCode.Unavailable or StatusCode.Internal or StatusCode.Cancelled => new EtcdFailure(OneLine(failure.Status.DebugException is { } cause ? Innermost(cause) : detail), EtcdFailureKind.Unknown),
            _ => new EtcdFailure(OneLine(detail), EtcdFailureKind.Refused),
        };
    }

    internal static string OneLine(string text)
    {
        string line = text.ReplaceLineEndings(" ").Trim();
        return line.Length <= ReasonLengthMax ? line : line[..ReasonLengthMax];
    }

    private static string Innermost(Exception failure) => failure.GetBaseException().Message;
}

internal enum EtcdFailureKind
{
    /// <summary>The member was not reached, so it has not executed the call: another one may be asked, whatever it is.</summary>
    NotSent,

    /// <summary>It may have executed it: another one may be asked for what may be repeated.</summary>
    Unknown,

    /// <summary>It has not executed it, since the token is not valid any more.</summary>
    Token,

    /// <summary>It refuses the user.</summary>
    Credentials,

    /// <summary>There is no connection that both sides trust.</summary>
    Certificate,

    /// <summary>It refuses the call, as every other member would.</summary>
    Refused,
}
