using System.Globalization;
using System.Security.Cryptography;
using System.Text;

namespace RedKite.Server.Migration;

/// <summary>Where MIGRATE sends keys, and as which user.</summary>
/// <param name="Host">A name or an address.</param>
/// <param name="Port">The port; negative: there is no such port.</param>
/// <param name="User">The user of AUTH2; null: none is named.</param>
/// <param name="Password">The password; null: the target is sent no AUTH.</param>
/// <param name="Database">The database there.</param>
/// <param name="Timeout">How long the target may make no progress.</param>
internal sealed record MigrationTarget(string Host, int Port, byte[]? User, byte[]? Password, long Database, TimeSpan Timeout)
{
    /// <summary>
    /// Identifies connections that serve the same target. One that has logged in is for requests with the same user and password alone, of which it
    /// keeps a hash: a client without the password must not use it.
    /// </summary>
    internal string ConnectionKey { get; } = string.Create(CultureInfo.InvariantCulture, $"{Host}:{Port}:{Credentials(User, Password)}");

    // No text of any log or report has the secrets.
    private bool PrintMembers(StringBuilder text)
    {
        text.Append(CultureInfo.InvariantCulture, $"{Host}:{Port} {Database}");
        return true;
    }

    private static string Credentials(byte[]? user, byte[]? password) =>
        password is null ? "" : Convert.ToHexString(SHA256.HashData(user ?? [])) + Convert.ToHexString(SHA256.HashData(password));
}
