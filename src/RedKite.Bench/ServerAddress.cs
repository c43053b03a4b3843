using System.Globalization;
using System.Net.Sockets;
using RedKite.Net;

namespace RedKite.Bench;

/// <summary>Where a server is and how to log in there, as the programs of the command line read it.</summary>
internal sealed record ServerAddress
{
    internal const int DefaultPort = 6379;

    /// <summary>The forms of an address, for manuals.</summary>
    internal const string Forms = "HOST[:PORT], or redis://[USER:PASSWORD@]HOST[:PORT][/DATABASE], or rediss:// for TLS";

    internal required string Host { get; init; }

    internal int Port { get; init; } = DefaultPort;

    internal string User { get; init; } = "default";

    /// <summary>Empty: no login.</summary>
    internal string Password { get; init; } = "";

    /// <summary>The database that the address names; -1: none.</summary>
    internal int Database { get; init; } = -1;

    /// <summary>How the server's certificate is verified: <c>system</c>, <c>none</c>, or a file with the trusted authorities; null: without TLS.</summary>
    internal string? Tls { get; init; }

    /// <summary>The client's certificate and its key.</summary>
    internal string? Certificate { get; init; }

    internal string? Key { get; init; }

    /// <summary>Host and port, for messages.</summary>
    public override string ToString() => string.Create(CultureInfo.InvariantCulture, $"{(Host.Contains(':', StringComparison.Ordinal) ? $"[{Host}]" : Host)}:{Port}");

    /// <summary>Why a connection failed, without an address: messages name it as the user gave it.</summary>
    internal static string ReasonOf(SocketException failure) => SocketFailure.ReasonOf(failure);

    /// <summary>Reads an address such as <c>host:6379</c> or <c>redis://user:password@host:6379/0</c>; <c>rediss://</c> means TLS.</summary>
    /// <exception cref="FormatException">It is none. The text is not repeated: it may have a password.</exception>
    internal static ServerAddress Parse(string text)
    {
        if (!text.Contains("://", StringComparison.Ordinal) && text.Count(static character => character == ':') > 1 && !text.StartsWith('[')) text = $"[{text}]"; // IPv6 without a port
        if (!Uri.TryCreate(text.Contains("://", StringComparison.Ordinal) ? text : "redis://" + text, UriKind.Absolute, out Uri? uri) || uri.Scheme is not ("redis" or "rediss") || uri.Host.Length == 0 || uri.Query.Length + uri.Fragment.Length > 0)
        {
            throw new FormatException($"an address has the form {Forms}; special characters of a password are written as %XX");
        }

        int database = -1;
        string path = uri.AbsolutePath.Trim('/');
        if (path.Length > 0 && !int.TryParse(path, NumberStyles.None, CultureInfo.InvariantCulture, out database)) throw new FormatException("the database of an address must be a number");
        string[] login = uri.UserInfo.Split(':', 2);
        return new ServerAddress
        {
            Host = uri.IdnHost.Trim('[', ']'),
            Port = uri.IsDefaultPort || uri.Port < 0 ? DefaultPort : uri.Port,
            User = login[0].Length > 0 ? Uri.UnescapeDataString(login[0]) : "default",
            Password = login.Length > 1 ? Uri.UnescapeDataString(login[1]) : "",
            Database = database,
            Tls = uri.Scheme == "rediss" ? "system" : null,
        };
    }
}
